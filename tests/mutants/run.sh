#!/usr/bin/env bash
# Applies each patch to a copy of the tree, and plays seeds until the oracle finds what it breaks.
#
#   tests/mutants/run.sh              all of them
#   tests/mutants/run.sh no-mark ...  these
#
# Fails when a patch no longer applies, no longer builds, or is not caught within SEEDS seeds
# (default: 2000, from FIRST, default: 0). WORK is the folder for the copy and what is built of it.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
seeds=${SEEDS:-2000}
first=${FIRST:-0}
work=${WORK:-$(mktemp -d)}
[ -n "${WORK:-}" ] || trap 'rm -rf "$work"' EXIT
# One folder for what is built: the dependencies are built once.
export CARGO_TARGET_DIR="$work/target" CARGO_INCREMENTAL=1

names=("$@")
if [ ${#names[@]} -eq 0 ]; then
    for patch in "$here"/*.patch; do
        names+=("$(basename "$patch" .patch)")
    done
fi

rm -rf "$work/tree"
mkdir -p "$work/tree"
(cd "$root" && git ls-files -z --cached --others --exclude-standard |
    tar -c --null -T - --ignore-failed-read 2>/dev/null) | tar -x -C "$work/tree"

apply() { # forwards or, with -R, back: a file that is put back is newer than what was built of it
    patch -d "$work/tree" -p1 -F0 -s --no-backup-if-mismatch "$@"
}

failed=0
for name in "${names[@]}"; do
    if ! apply <"$here/$name.patch"; then
        echo "$name: does not apply"
        exit 1
    fi
    if ! (cd "$work/tree" && cargo build -q --release -p tidelock-tests --bin simulate) 2>"$work/log"; then
        echo "$name: does not build"
        cat "$work/log"
        exit 1
    fi
    # A mutant may stand still for ever.
    found=$(timeout 900 "$CARGO_TARGET_DIR/release/simulate" \
        --seed "$first" --seeds "$seeds" --as-is 2>/dev/null | grep -m1 -E '^seed [0-9]+: ' || true)
    if [ -z "$found" ]; then
        echo "$name: NOT CAUGHT in $seeds seeds"
        failed=1
    else
        echo "$name: ${found:0:160}"
    fi
    apply -R <"$here/$name.patch"
done
exit "$failed"
