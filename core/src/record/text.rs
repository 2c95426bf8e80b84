//! Cutting texts to a size, on a character's boundary.

/// What stands at the end of a text that was cut.
const CUT: &str = "… [cut]";

/// The text, cut to at most `max` bytes with a mark at the end when it was longer.
pub(crate) fn cut(mut text: String, max: usize) -> String {
    if text.len() > max {
        let mut end = max.saturating_sub(CUT.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str(CUT);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters_and_says_so() {
        let long = cut("é".repeat(1 << 20), 16 * 1024);
        assert!(long.len() <= 16 * 1024 && long.ends_with("[cut]"));
        assert_eq!(cut("short".into(), 5), "short");
    }
}
