//! Expressions: ours, `cron` and `croner`.

mod next;
mod parse;
mod peers;
mod worst;

use crate::bench::Bench;

pub(crate) const NEXT: Bench = Bench {
    name: "next",
    about: "the next tick of an expression, in UTC and in a zone",
    run: next::run,
    child: None,
};

pub(crate) const PARSE: Bench = Bench {
    name: "parse",
    about: "reading an expression, and refusing an impossible one",
    run: parse::run,
    child: None,
};

pub(crate) const WORST: Bench = Bench {
    name: "worst-next",
    about: "the longest that the next tick of any accepted expression takes, at any instant",
    run: worst::run,
    child: None,
};
