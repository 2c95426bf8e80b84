//! One benchmark: what it is called, what it shows, and how it runs.

/// What a process of its own measures, told by words.
pub(crate) type Child = fn(&[&str]) -> Vec<f64>;

/// A benchmark that prints its own table.
pub(crate) struct Bench {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) run: fn(),
    /// Measures one contender in a process of its own, where it needs one: words in, figures out.
    pub(crate) child: Option<Child>,
}

impl Bench {
    /// Whether it is among those asked for; all are where none is named.
    pub(crate) fn is_asked(&self, names: &[String]) -> bool {
        names.is_empty() || names.iter().any(|name| self.name.starts_with(name.as_str()))
    }
}
