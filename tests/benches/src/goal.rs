//! What is to be reached, and whether it was.

use std::sync::Mutex;

use crate::table::show;

/// One goal, with what was measured.
#[derive(Clone, Debug)]
pub(crate) struct Goal {
    what: String,
    measured: f64,
    limit: f64,
    at_least: bool,
}

/// All that was looked at so far, for the summary.
static SEEN: Mutex<Vec<Goal>> = Mutex::new(Vec::new());

impl Goal {
    /// A figure that is to be at most that.
    pub(crate) fn at_most(what: impl Into<String>, measured: f64, limit: f64) -> Self {
        Self { what: what.into(), measured, limit, at_least: false }
    }

    /// A figure that is to be at least that.
    pub(crate) fn at_least(what: impl Into<String>, measured: f64, limit: f64) -> Self {
        Self { what: what.into(), measured, limit, at_least: true }
    }

    /// NaN reaches nothing.
    pub(crate) fn is_reached(&self) -> bool {
        if self.at_least { self.measured >= self.limit } else { self.measured <= self.limit }
    }

    /// Prints it, and keeps it for the summary.
    pub(crate) fn tell(self) {
        println!("{}", self.line());
        SEEN.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(self);
    }

    fn line(&self) -> String {
        format!(
            "- {}: {} {} (goal: at {} {})",
            if self.is_reached() { "reached" } else { "NOT REACHED" },
            self.what,
            show(self.measured),
            if self.at_least { "least" } else { "most" },
            show(self.limit),
        )
    }
}

/// Prints how many goals were reached, and which were not.
pub(crate) fn summary() {
    let seen = SEEN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let missed: Vec<&Goal> = seen.iter().filter(|goal| !goal.is_reached()).collect();
    println!("\n{} of {} goals reached", seen.len() - missed.len(), seen.len());
    for goal in missed {
        println!("{}", goal.line());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_is_not_reached() {
        assert!(Goal::at_most("x", 1.0, 1.0).is_reached());
        assert!(!Goal::at_most("x", 1.1, 1.0).is_reached());
        assert!(Goal::at_least("x", 1.0, 1.0).is_reached());
        assert!(!Goal::at_most("x", f64::NAN, 1.0).is_reached());
        assert!(!Goal::at_least("x", f64::NAN, 1.0).is_reached());
    }
}
