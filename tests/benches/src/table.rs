//! Tables as they are printed.

/// A table: the first column are names, the others are figures.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(columns: &[&str]) -> Self {
        Self { rows: vec![columns.iter().map(|&column| column.to_owned()).collect()] }
    }

    pub(crate) fn row(&mut self, name: &str, cells: impl IntoIterator<Item = String>) {
        self.rows.push(std::iter::once(name.to_owned()).chain(cells).collect());
    }

    /// Prints it as Markdown, aligned, so that it can be copied as it is.
    pub(crate) fn print(&self) {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0).max(3)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for (number, row) in self.rows.iter().enumerate() {
            let mut line = String::from("|");
            for (column, &width) in widths.iter().enumerate() {
                let cell = row.get(column).map_or("", String::as_str);
                line += &match column {
                    0 => format!(" {cell:<width$} |"),
                    _ => format!(" {cell:>width$} |"),
                };
            }
            println!("{line}");
            if number == 0 {
                let rule = |(column, width): (usize, &usize)| match column {
                    0 => format!("{}|", "-".repeat(width + 2)),
                    _ => format!("{}:|", "-".repeat(width + 1)),
                };
                println!("|{}", widths.iter().enumerate().map(rule).collect::<String>());
            }
        }
        println!();
    }
}

/// A figure with about three digits.
pub(crate) fn show(figure: f64) -> String {
    let size = figure.abs();
    match size {
        _ if figure.is_nan() => "-".to_owned(),
        _ if size >= 10_000.0 => grouped(figure),
        _ if size >= 100.0 => format!("{figure:.0}"),
        _ if size >= 10.0 => format!("{figure:.1}"),
        _ if size >= 1.0 || figure == 0.0 => format!("{figure:.2}"),
        _ => format!("{figure:.4}"),
    }
}

/// How many times `floor` it is.
pub(crate) fn ratio(figure: f64, floor: f64) -> String {
    format!("{} x", show(figure / floor))
}

fn grouped(figure: f64) -> String {
    let digits = format!("{:.0}", figure.abs());
    let mut text = String::from(if figure < 0.0 { "-" } else { "" });
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_about_three_digits() {
        let shown = [1_234_567.0, 123.4, 12.34, 1.234, 0.01234, 0.0, f64::NAN].map(show);
        assert_eq!(shown, ["1,234,567", "123", "12.3", "1.23", "0.0123", "0.00", "-"]);
        assert_eq!(ratio(3.0, 2.0), "1.50 x");
    }
}
