//! The little HTTP that it takes to ask a server how it is.

use std::io::{Error, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(2);

/// The body of what is found under `path` on this machine.
pub(super) fn read(port: u16, path: &str) -> Result<String, Error> {
    ask(port, &format!("GET {path} HTTP/1.0\r\n\r\n"))
}

/// The body of the answer to a JSON text, sent with more lines in its head.
pub(super) fn post(port: u16, path: &str, head: &str, json: &str) -> Result<String, Error> {
    let length = json.len();
    ask(port, &format!("POST {path} HTTP/1.0\r\n{head}Content-Length: {length}\r\n\r\n{json}"))
}

// Of version 1.0: its answers end with the connection and come in one piece.
fn ask(port: u16, request: &str) -> Result<String, Error> {
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    if head.lines().next().is_some_and(|line| line.contains(" 200 ")) {
        return Ok(body.to_owned());
    }
    Err(Error::other(answer))
}
