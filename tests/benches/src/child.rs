//! Measuring in a process of its own: its CPU time and memory are nobody else's.
//!
//! The same program is started again with `--child` and words of the benchmark's own; it prints
//! its figures in one line.

use std::process::{Command, Stdio};

use crate::table::show;

/// The word that makes a process a child.
pub(crate) const WORD: &str = "--child";

/// Measures in a new process. No figures where it failed, which is told.
pub(crate) fn measure(words: &[&str]) -> Vec<f64> {
    let output = std::env::current_exe().and_then(|program| {
        Command::new(program).arg(WORD).args(words).stderr(Stdio::inherit()).output()
    });
    match output {
        Ok(output) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout);
            text.split_whitespace().map(|word| word.parse().unwrap_or(f64::NAN)).collect()
        }
        Ok(output) => {
            println!("{}: {}", words.join(" "), output.status);
            Vec::new()
        }
        Err(error) => {
            println!("{}: {error}", words.join(" "));
            Vec::new()
        }
    }
}

/// Prints a child's figures, for who started it.
pub(crate) fn tell(figures: &[f64]) {
    let words: Vec<String> = figures.iter().map(ToString::to_string).collect();
    println!("{}", words.join(" "));
}

/// A figure by its place; NaN where the contender failed.
pub(crate) fn figure(figures: &[f64], at: usize) -> f64 {
    figures.get(at).copied().unwrap_or(f64::NAN)
}

/// The same as text.
pub(crate) fn cell(figures: &[f64], at: usize) -> String {
    show(figure(figures, at))
}
