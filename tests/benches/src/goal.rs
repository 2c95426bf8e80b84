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
    /// What the floor comes to: whoever does the same and nothing else.
    floor: Option<f64>,
}

/// All that was looked at so far, for the summary.
static SEEN: Mutex<Vec<Goal>> = Mutex::new(Vec::new());

impl Goal {
    /// A figure that is to be at most that.
    pub(crate) fn at_most(what: impl Into<String>, measured: f64, limit: f64) -> Self {
        Self { what: what.into(), measured, limit, at_least: false, floor: None }
    }

    /// A figure that is to be at least that.
    pub(crate) fn at_least(what: impl Into<String>, measured: f64, limit: f64) -> Self {
        Self { what: what.into(), measured, limit, at_least: true, floor: None }
    }

    /// The same figure of the floor, which does what has to be done and nothing else: a goal that it
    /// does not reach is out of reach.
    pub(crate) fn floor(self, measured: f64) -> Self {
        Self { floor: Some(measured), ..self }
    }

    pub(crate) fn is_reached(&self) -> bool {
        self.is_reached_by(self.measured)
    }

    /// NaN reaches nothing.
    fn is_reached_by(&self, measured: f64) -> bool {
        if self.at_least { measured >= self.limit } else { measured <= self.limit }
    }

    fn is_out_of_reach(&self) -> bool {
        self.floor.is_some_and(|floor| !self.is_reached_by(floor))
    }

    /// Prints it, and keeps it for the summary.
    pub(crate) fn tell(self) {
        println!("{}", self.line());
        SEEN.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(self);
    }

    fn line(&self) -> String {
        let verdict = match (self.is_reached(), self.is_out_of_reach()) {
            (true, _) => "reached",
            (false, true) => "OUT OF REACH",
            (false, false) => "NOT REACHED",
        };
        let side = if self.at_least { "least" } else { "most" };
        let floor = self.floor.map(|floor| format!("; the floor itself {}", show(floor)));
        format!(
            "- {verdict}: {} {} (goal: at {side} {}{})",
            self.what,
            show(self.measured),
            show(self.limit),
            floor.unwrap_or_default()
        )
    }
}

/// Prints how many goals were reached, and which were not.
pub(crate) fn summary() {
    let seen = SEEN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let missed: Vec<&Goal> = seen.iter().filter(|goal| !goal.is_reached()).collect();
    let out_of_reach = missed.iter().filter(|goal| goal.is_out_of_reach()).count();
    let reached = seen.len() - missed.len();
    println!(
        "\n{reached} of {} goals reached, {out_of_reach} out of the floor's reach",
        seen.len()
    );
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

    #[test]
    fn what_the_floor_does_not_reach_is_out_of_reach() {
        let goal = |floor| Goal::at_least("x", 0.4, 1.2).floor(floor).line();
        assert_eq!(
            goal(0.5),
            "- OUT OF REACH: x 0.4000 (goal: at least 1.20; the floor itself 0.5000)"
        );
        assert!(goal(1.2).starts_with("- NOT REACHED: x 0.4000"), "{}", goal(1.2));
    }
}
