//! What the program is asked for.

use std::fmt::Write;
use std::ops::RangeInclusive;

use tidelock_tests::simulation::Size;

/// The options, with their defaults.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) seed: u64,
    pub(crate) seeds: u64,
    pub(crate) size: Size,
    pub(crate) threads: usize,
    /// After how many failures to stop.
    pub(crate) most: usize,
    /// Show the timeline of one seed.
    pub(crate) show: bool,
    /// Look for a shorter plan.
    pub(crate) shrink: bool,
    /// What of them says how large fleets are, as it was given.
    pub(crate) size_text: String,
}

pub(crate) const USAGE: &str = "\
simulate [--seeds N] [--seed N] [--nodes N] [--jobs N] [--minutes N] [--threads N] [--most N] [--show] [--as-is]

  --seeds N    how many seeds to play (1 or more, default 10000)
  --seed N     the first of them (default 0)
  --nodes N    how many nodes (1 to 100, default: 2 to 7, as the seed has it)
  --jobs N     how many jobs (1 to 100, default: 1 to 6, as the seed has it)
  --minutes N  how long each fleet lives (2 to 10000, default 5)
  --threads N  on how many threads (1 to 1024, default 1)
  --most N     after how many failures to stop (1 or more, default 1)
  --show       print the plan and the timeline of one seed: --seed N --show
  --as-is      look for no shorter reproduction";

impl Options {
    /// `None`: help is asked for. An error says what was wrong.
    pub(crate) fn read(words: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut options = Self {
            seed: 0,
            seeds: 10_000,
            size: Size::any(),
            threads: 1,
            most: 1,
            show: false,
            shrink: true,
            size_text: String::new(),
        };
        let (mut words, mut many) = (words, false);
        while let Some(name) = words.next() {
            match name.as_str() {
                "--help" | "-h" => return Ok(None),
                "--show" => options.show = true,
                "--as-is" => options.shrink = false,
                _ => {
                    let range = range(&name).ok_or(format!("{name}: no such option"))?;
                    let value = number(&name, words.next(), range)?;
                    many |= name == "--seeds" && value > 1;
                    options.set(&name, value);
                }
            }
        }
        if options.show && many {
            return Err("--show: it shows one seed, which --seed names; --seeds says more".into());
        }
        Ok(Some(options))
    }

    fn set(&mut self, name: &str, value: u64) {
        let count = usize::try_from(value).unwrap_or(usize::MAX);
        match name {
            "--seed" => self.seed = value,
            "--seeds" => self.seeds = value,
            "--threads" => self.threads = count,
            "--most" => self.most = count,
            "--nodes" => self.size = self.size.nodes(count),
            "--jobs" => self.size = self.size.jobs(count),
            _ => self.size = self.size.minutes(value),
        }
        if ["--nodes", "--jobs", "--minutes"].contains(&name) {
            let _ = write!(self.size_text, " {name} {value}");
        }
    }
}

/// What an option's number may be; `None`: there is no such option.
fn range(name: &str) -> Option<RangeInclusive<u64>> {
    Some(match name {
        "--seed" => 0..=u64::MAX,
        "--seeds" | "--most" => 1..=u64::MAX,
        "--nodes" | "--jobs" => 1..=100,
        "--minutes" => 2..=10_000,
        "--threads" => 1..=1_024,
        _ => return None,
    })
}

fn number(name: &str, word: Option<String>, range: RangeInclusive<u64>) -> Result<u64, String> {
    let expected = match (*range.start(), *range.end()) {
        (0, u64::MAX) => "a number".to_owned(),
        (least, u64::MAX) => format!("a number of {least} or more"),
        (least, most) => format!("a number from {least} to {most}"),
    };
    let Some(word) = word else {
        return Err(format!("{name}: expected {expected} after it"));
    };
    let value = word.parse().ok().filter(|value| range.contains(value));
    value.ok_or(format!("{name} {word}: expected {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str) -> Result<Option<Options>, String> {
        Options::read(words.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn a_wrong_word_is_answered_with_what_was_expected_in_its_place() {
        let error = |words| read(words).unwrap_err();
        assert_eq!(error("--bogus"), "--bogus: no such option");
        assert_eq!(error("--seed 1 7"), "7: no such option");
        assert_eq!(error("--seeds"), "--seeds: expected a number of 1 or more after it");
        assert_eq!(error("--seeds x"), "--seeds x: expected a number of 1 or more");
        assert_eq!(error("--seeds 0"), "--seeds 0: expected a number of 1 or more");
        assert_eq!(error("--nodes 101"), "--nodes 101: expected a number from 1 to 100");
        assert_eq!(error("--minutes 1"), "--minutes 1: expected a number from 2 to 10000");
        assert_eq!(error("--seed -1"), "--seed -1: expected a number");
        assert!(error("--show --seeds 300").starts_with("--show: it shows one seed"));
    }

    #[test]
    fn what_is_given_is_taken_and_help_is_no_error() {
        assert!(read("--seed 3 --help").unwrap().is_none());
        let options = read("--seed 3 --seeds 5 --nodes 4 --minutes 9 --as-is").unwrap().unwrap();
        assert_eq!((options.seed, options.seeds, options.shrink), (3, 5, false));
        assert_eq!(options.size, Size::any().nodes(4).minutes(9));
        assert_eq!(options.size_text, " --nodes 4 --minutes 9");
        assert!(read("--show --seed 3 --seeds 1").unwrap().unwrap().show);
    }
}
