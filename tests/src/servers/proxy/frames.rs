//! The frames in what a server of HTTP/2 sends.

/// Whether a client begins to speak HTTP/2 with this.
pub(super) fn is_preface(sent: &[u8]) -> bool {
    sent.starts_with(b"PRI * HTTP/2.0\r\n")
}

/// Reads the heads of frames, in whatever pieces they come.
#[derive(Debug, Default)]
pub(super) struct Frames {
    head: Vec<u8>,
    /// How much of the frame's content is still to come.
    content: usize,
}

impl Frames {
    const HEAD: usize = 9;
    const DATA: u8 = 0;
    const HEADERS: u8 = 1;

    /// Whether an answer, or more of one, begins in what comes next.
    pub(super) fn begin_an_answer(&mut self, mut bytes: &[u8]) -> bool {
        let mut answers = false;
        loop {
            let (_, rest) = bytes.split_at(self.content.min(bytes.len()));
            self.content -= bytes.len() - rest.len();
            let (head, rest) = rest.split_at((Self::HEAD - self.head.len()).min(rest.len()));
            self.head.extend_from_slice(head);
            let [a, b, c, kind, ..] = self.head[..] else {
                return answers;
            };
            if self.head.len() < Self::HEAD {
                return answers;
            }
            answers |= matches!(kind, Self::DATA | Self::HEADERS);
            self.content = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
            self.head.clear();
            bytes = rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_and_pings_are_no_answers_however_they_come() {
        let settings = [&[0, 0, 6, 4, 0, 0, 0, 0, 0][..], &[1; 6]].concat();
        let ping = [&[0, 0, 8, 6, 1, 0, 0, 0, 0][..], &[1; 8]].concat();
        let headers = [&[0, 0, 2, 1, 4, 0, 0, 0, 1][..], &[0; 2]].concat();
        let sent = [settings.clone(), ping, settings, headers].concat();
        for size in 1..sent.len() {
            let mut frames = Frames::default();
            let answers: Vec<_> =
                sent.chunks(size).map(|part| frames.begin_an_answer(part)).collect();
            assert_eq!(answers.iter().filter(|answer| **answer).count(), 1, "{size}");
        }
    }
}
