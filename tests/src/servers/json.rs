//! The little JSON that it takes to talk with etcd's gateway.

/// The text that stands under a name in a JSON text, at its first place: of numbers, too, which
/// the gateway writes as texts.
pub fn json_text<'a>(json: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = json.split_once(&format!("\"{name}\":\""))?;
    rest.split('"').next()
}

/// Keys and values as the gateway takes and gives them.
pub fn base64(bytes: impl AsRef<[u8]>) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for part in bytes.as_ref().chunks(3) {
        let [a, b, c] = [0, 1, 2].map(|i| usize::from(part.get(i).copied().unwrap_or(0)));
        let number = a << 16 | b << 8 | c;
        for (place, shift) in [18, 12, 6, 0].into_iter().enumerate() {
            let digit = char::from(DIGITS[number >> shift & 63]);
            text.push(if place > part.len() { '=' } else { digit });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_and_bytes_written() {
        assert_eq!(json_text(r#"{"a":"1","b":"x","a":"2"}"#, "a"), Some("1"));
        assert_eq!(json_text("{}", "a"), None);
        for (bytes, text) in
            [("", ""), ("a", "YQ=="), ("ab", "YWI="), ("abc", "YWJj"), ("\u{ff}?", "w78/")]
        {
            assert_eq!(base64(bytes), text);
        }
    }
}
