//! The next ticks of a schedule: `cargo run --example next -- '30 2 * * *' --zone Europe/Berlin`.

use std::io::Write;
use std::process::ExitCode;

use jiff::Timestamp;
use tidelock::Schedule;

const USAGE: &str =
    "usage: next '<expression>' [--zone ZONE] [--from RFC3339] [--count N] [--explain]";

struct Options {
    schedule: Schedule,
    from: Timestamp,
    count: usize,
    explain: bool,
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(message) => {
            // Nobody to tell where standard error is closed.
            let _ = writeln!(std::io::stderr(), "{message}");
            return ExitCode::from(2);
        }
    };
    // Who reads may stop reading, as `head` does.
    let _ = print(&options);
    ExitCode::SUCCESS
}

fn options() -> Result<Options, String> {
    // Text that is not Unicode is no expression, and its replacement says so.
    let mut arguments = std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned());
    let (mut expression, mut zone, mut from) = (None, None, None);
    let (mut count, mut explain) = (5, false);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value\n{USAGE}"));
        match argument.as_str() {
            "--zone" => zone = Some(value()?),
            "--from" => {
                let text = value()?;
                let parsed = text.parse().map_err(|e| format!("--from {text:?}: {e}"))?;
                from = Some(parsed);
            }
            "--count" => {
                let text = value()?;
                count = text.parse().map_err(|e| format!("--count {text:?}: {e}"))?;
            }
            "--explain" => explain = true,
            _ if expression.is_none() && !argument.starts_with("--") => expression = Some(argument),
            _ => return Err(format!("not understood: {argument:?}\n{USAGE}")),
        }
    }
    let expression = expression.ok_or(USAGE)?;
    let mut schedule = Schedule::cron(&expression).map_err(|e| e.to_string())?;
    if let Some(zone) = zone {
        schedule = schedule.time_zone(&zone).map_err(|e| e.to_string())?;
    }
    Ok(Options { schedule, from: from.unwrap_or_else(now), count, explain })
}

#[allow(clippy::disallowed_methods)] // a program of its own, with no scheduler whose clock to share
fn now() -> Timestamp {
    Timestamp::now()
}

fn print(options: &Options) -> std::io::Result<()> {
    let Options { schedule, from, count, explain } = options;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    if *explain {
        writeln!(out, "{}", schedule.describe())?;
        for tick in schedule.explain(*from, *count) {
            writeln!(out, "{tick}")?;
        }
        return out.flush();
    }
    let ticks =
        std::iter::successors(schedule.next_after(*from), |&tick| schedule.next_after(tick));
    for tick in ticks.take(*count) {
        writeln!(out, "{tick}")?;
    }
    out.flush()
}
