//! The clock that members show over HTTP, and what stands in its place.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::SignedDuration;
use tidelock::{Acquisition, Clock, SystemClock};
use tidelock_tests::servers::EtcdServer;
use tokio::io::{AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::bench::{ask, at, begin, fresh, ms};

/// What `GET` is answered with; `None`: nothing, for ever. All else goes to the server.
type Page = Arc<Mutex<Option<String>>>;

async fn front(target: SocketAddr, page: Page, tasks: &mut JoinSet<()>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tasks.spawn(async move {
        let mut served = JoinSet::new();
        while let Ok((mut client, _)) = listener.accept().await {
            let page = page.clone();
            served.spawn(async move {
                let mut first = [0; 4];
                while client.peek(&mut first).await.unwrap_or(4) < 4 {}
                if &first != b"GET " {
                    let mut server = TcpStream::connect(target).await.unwrap();
                    let _ = copy_bidirectional(&mut client, &mut server).await;
                    return;
                }
                let page = page.lock().unwrap().clone();
                match page {
                    Some(page) => drop(client.write_all(page.as_bytes()).await),
                    None => sleep(Duration::from_secs(60)).await,
                }
            });
        }
    });
    format!("http://{address}")
}

/// An answer whose clock is that much later than the test's own.
fn page(later: SignedDuration) -> Option<String> {
    let date = SystemClock.now() + later;
    let date =
        jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&date).unwrap();
    Some(format!("HTTP/1.1 200 OK\r\nDate: {date}\r\nContent-Length: 0\r\n\r\n"))
}

/// The second of `ask` that is now, and so much later.
fn now(later: i64) -> i64 {
    let first = ask("job", 0).occurrence.unwrap().at();
    SystemClock.now().duration_since(first).as_secs() + later
}

fn is_granted(answer: &Acquisition) -> bool {
    matches!(answer, Acquisition::Granted(_))
}

#[tokio::test]
async fn a_clock_that_is_not_to_be_seen_holds_nothing_back_and_up() {
    let mut tasks = JoinSet::new();
    let date = page(SignedDuration::from_hours(-1)).unwrap();
    for shown in [
        None,
        Some(String::new()),
        Some("SSH-2.0-OpenSSH_9.2\r\n".into()),
        Some("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".into()),
        Some("HTTP/1.1 200 OK\r\nDate: soon\r\nContent-Length: 0\r\n\r\n".into()),
        Some(date.replace("200 OK", "404 Not Found")),
        Some(date.replace("Content-Length: 0", "Content-Length: 1000")),
    ] {
        let shared = Arc::new(Mutex::new(shown.clone()));
        let server = EtcdServer::shared_here();
        let front = front(server.address(), shared, &mut tasks).await;
        let backend = fresh().connect_timeout(ms(2_000)).connect_lazy(&front).unwrap();
        for late in 0..2 {
            let asked = Instant::now();
            let answer = begin(&backend, &ask(&format!("job-{late}"), now(late))).await.unwrap();
            assert!(is_granted(&answer), "{shown:?}: {answer:?}");
            // It is looked at once, and after that in the background.
            let most = if late == 0 { ms(4_000) } else { ms(1_700) };
            assert!(asked.elapsed() < most, "{shown:?}: {:?}", asked.elapsed());
        }
    }
}

#[tokio::test]
async fn a_node_that_is_far_ahead_is_held_back_while_a_clock_was_seen() {
    let mut tasks = JoinSet::new();
    let shown = Arc::new(Mutex::new(page(SignedDuration::from_mins(-10))));
    let server = EtcdServer::shared_here();
    let backend = at(&[front(server.address(), shown.clone(), &mut tasks).await]);
    for nonsense in [page(SignedDuration::from_mins(-10)), None, Some("nonsense".into())] {
        *shown.lock().unwrap() = nonsense;
        let answer = begin(&backend, &ask("job", now(0))).await.unwrap();
        let Acquisition::TooEarly { by } = answer else { panic!("{answer:?}") };
        assert!(by > Duration::from_secs(590) && by < Duration::from_secs(600), "{by:?}");
        let due = begin(&backend, &ask("due", now(-599))).await.unwrap();
        assert!(!matches!(due, Acquisition::TooEarly { .. }), "{due:?}");
        sleep(ms(1_100)).await; // a look that is younger is not taken again
    }
    // The operator sets the clock right, and the first tick is granted.
    *shown.lock().unwrap() = page(SignedDuration::ZERO);
    let answer = begin(&backend, &ask("job", now(0))).await.unwrap();
    assert!(is_granted(&answer), "{answer:?}");
}

#[tokio::test]
async fn a_clock_that_was_not_to_be_seen_at_start_is_looked_for_soon_again() {
    let mut tasks = JoinSet::new();
    let shown = Arc::new(Mutex::new(Some(String::new())));
    let server = EtcdServer::shared_here();
    let backend = at(&[front(server.address(), shown.clone(), &mut tasks).await]);
    let answer = begin(&backend, &ask("job", now(0))).await.unwrap();
    assert!(is_granted(&answer), "{answer:?}");
    *shown.lock().unwrap() = page(SignedDuration::from_mins(-10));
    sleep(ms(5_100)).await;
    let _ = begin(&backend, &ask("job", now(0))).await.unwrap();
    sleep(ms(500)).await;
    let answer = begin(&backend, &ask("job", now(0))).await.unwrap();
    assert!(matches!(answer, Acquisition::TooEarly { .. }), "{answer:?}");
}
