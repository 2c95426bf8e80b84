//! The commands in what a client of Redis sends.

/// Takes whole commands off the front of what a client sent, and gives their names.
pub(super) fn take(pending: &mut Vec<u8>) -> Vec<String> {
    let mut names = Vec::new();
    while let Some((name, length)) = command(pending) {
        pending.drain(..length);
        if !matches!(name.as_str(), "HELLO" | "CLIENT" | "AUTH" | "SELECT") {
            names.push(name);
        }
    }
    names
}

/// The name of the first command, and its length in bytes.
fn command(bytes: &[u8]) -> Option<(String, usize)> {
    let (count, mut at) = number(bytes, 0, b'*')?;
    let mut name = None;
    for _ in 0..count {
        let (length, start) = number(bytes, at, b'$')?;
        let argument = bytes.get(start..start + length)?;
        bytes.get(start + length..start + length + 2)?;
        name.get_or_insert_with(|| String::from_utf8_lossy(argument).to_uppercase());
        at = start + length + 2;
    }
    Some((name.unwrap_or_default(), at))
}

/// A number behind a sign and before a line's end, and where the next line begins.
fn number(bytes: &[u8], at: usize, sign: u8) -> Option<(usize, usize)> {
    let rest = bytes.get(at..)?;
    let end = rest.windows(2).position(|two| two == b"\r\n")?;
    let line = rest.get(..end)?.strip_prefix(&[sign])?;
    let number = std::str::from_utf8(line).ok()?.parse().ok()?;
    Some((number, at + end + 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_counted_whole_and_handshakes_are_not() {
        let mut pending = Vec::new();
        let sent = b"*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n*1\r\n$4\r\nping\r\n*2\r\n$3\r\nGET\r\n$2\r\n";
        pending.extend_from_slice(sent);
        assert_eq!(take(&mut pending), ["PING"]);
        pending.extend_from_slice(b"\r\n\r\n");
        assert_eq!(take(&mut pending), ["GET"]);
        assert!(pending.is_empty());
    }
}
