//! Addresses, and connects that do not get to their end.

use std::time::Duration;

use tidelock::Acquisition;
use tidelock_tests::servers::{RedisServer, RedisSettings, namespace};

use crate::bench::{admin, ask, begin, fresh, granted};

#[tokio::test]
async fn urls_with_odd_characters_and_sockets_lead_to_the_server() {
    let socket = std::env::temp_dir().join(format!("{}.sock", namespace()));
    let socket = socket.to_str().unwrap();
    let server = RedisServer::start(RedisSettings::new().with("unixsocket", socket));
    let mut admin = admin(&server.url()).await;
    let password = "p@ss:w/rd#?%&+ é😀[]";
    let mut user = redis::cmd("ACL");
    user.arg("SETUSER").arg("us:er@x").arg("on").arg(format!(">{password}")).arg("~*").arg("+@all");
    let _: () = user.query_async(&mut admin).await.unwrap();
    let encoded: String = password.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let url = server.url().replace("redis://", &format!("redis://us%3Aer%40x:{encoded}@"));
    for url in [
        format!("{url}/7"),
        server.url().replace("127.0.0.1", "localhost"),
        format!("{}?protocol=resp2", server.url()),
        format!("redis+unix://{socket}?db=3"),
        format!("unix://{socket}"),
    ] {
        let backend = fresh().connect(&url).await.unwrap();
        granted(&backend, &ask("job", 1)).await;
        assert!(!format!("{backend:?}").contains("rd#"), "{backend:?}");
    }
}

/// The connection comes up whether or not the call that began it is there to see it.
#[tokio::test]
async fn a_connect_that_is_cancelled_in_the_middle_leaves_a_backend_that_works() {
    let server = RedisServer::start(RedisSettings::new());
    for micros in (0..3_000).step_by(50) {
        let url = server.url();
        let connecting = fresh().connect(&url);
        let _ = tokio::time::timeout(Duration::from_micros(micros), connecting).await;
        let lazy = fresh().connect_lazy(&server.url()).unwrap();
        let request = ask("job", 1);
        let _ = tokio::time::timeout(Duration::from_micros(micros), begin(&lazy, &request)).await;
        let answer = begin(&lazy, &request).await.unwrap();
        assert!(matches!(answer, Acquisition::Granted(_)), "{answer:?}");
    }
}
