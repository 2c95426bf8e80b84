//! What the program is asked for.

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
}

const USAGE: &str = "\
simulate [--seeds N] [--seed N] [--nodes N] [--jobs N] [--minutes N] [--threads N] [--most N] [--show] [--as-is]

  --seeds N    how many seeds to play (default 10000)
  --seed N     the first of them (default 0)
  --nodes N    how many nodes (default: 2 to 7, as the seed has it)
  --jobs N     how many jobs (default: 1 to 6, as the seed has it)
  --minutes N  how long each fleet lives (default 5)
  --threads N  on how many threads (default 1)
  --most N     after how many failures to stop (default 1)
  --show       print the plan and the timeline of the one seed
  --as-is      look for no shorter reproduction";

impl Options {
    pub(crate) fn read(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            seed: 0,
            seeds: 10_000,
            size: Size::any(),
            threads: 1,
            most: 1,
            show: false,
            shrink: true,
        };
        let mut arguments = arguments;
        while let Some(name) = arguments.next() {
            if name == "--show" {
                options.show = true;
                continue;
            }
            if name == "--as-is" {
                options.shrink = false;
                continue;
            }
            if name == "--help" || name == "-h" {
                return Err(USAGE.to_owned());
            }
            let value = arguments.next().and_then(|text| text.parse::<u64>().ok());
            let Some(value) = value else {
                return Err(format!("{name}: expected a number after it\n\n{USAGE}"));
            };
            let count = usize::try_from(value).unwrap_or(usize::MAX);
            match name.as_str() {
                "--seed" => options.seed = value,
                "--seeds" => options.seeds = value,
                "--nodes" => options.size = options.size.nodes(count),
                "--jobs" => options.size = options.size.jobs(count),
                "--minutes" => options.size = options.size.minutes(value),
                "--threads" => options.threads = count,
                "--most" => options.most = count,
                _ => return Err(format!("{name}: no such option\n\n{USAGE}")),
            }
        }
        Ok(options)
    }
}
