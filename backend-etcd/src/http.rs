//! The little HTTP that etcd answers beside its calls.

use std::pin::pin;
use std::time::Duration;

use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{DATE, HOST};
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::select;
use tokio::time::timeout;

use crate::error::Odd;
use crate::tls::Tls;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// What was answered.
#[derive(Debug)]
pub(crate) struct Page {
    /// The server's clock, in whole seconds.
    pub(crate) date: Option<Timestamp>,
    pub(crate) body: String,
}

/// Asks the member at that address.
pub(crate) async fn get(
    endpoint: &str,
    path: &str,
    tls: &Tls,
    within: Duration,
) -> Result<Page, Error> {
    timeout(within, ask(endpoint, path, tls)).await?
}

async fn ask(endpoint: &str, path: &str, tls: &Tls) -> Result<Page, Error> {
    let uri: Uri = endpoint.parse()?;
    let host = uri.host().ok_or(Odd("the address has no host"))?;
    let https = uri.scheme_str() == Some("https");
    let port = uri.port_u16().unwrap_or(if https { 443 } else { 80 });
    // An address of version 6 stands in brackets.
    let name = host.trim_start_matches('[').trim_end_matches(']');
    let stream = TcpStream::connect((name, port)).await?;
    let request = Request::get(path)
        .header(HOST, uri.authority().map_or(host, |authority| authority.as_str()))
        .body(Empty::<Bytes>::new())?;
    if https {
        return exchange(tls.connect(name, stream).await?, request).await;
    }
    exchange(stream, request).await
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Empty<Bytes>>,
) -> Result<Page, Error> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let mut connection = pin!(connection);
    let mut asking = pin!(async move {
        let response = sender.send_request(request).await?;
        if !response.status().is_success() {
            return Err(Error::from(Odd("the answer is an error")));
        }
        let date = response.headers().get(DATE).and_then(|date| read_date(date.as_bytes()));
        let body = response.into_body().collect().await?.to_bytes();
        Ok(Page { date, body: String::from_utf8_lossy(&body).into_owned() })
    });
    select! {
        biased;
        answer = &mut asking => answer,
        _ = &mut connection => asking.await,
    }
}

/// A date as HTTP has it: `Sun, 06 Nov 1994 08:49:37 GMT`.
fn read_date(text: &[u8]) -> Option<Timestamp> {
    jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read() {
        let date = read_date(b"Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        assert_eq!(date.to_string(), "1994-11-06T08:49:37Z");
        assert_eq!(read_date(b"soon"), None);
    }
}
