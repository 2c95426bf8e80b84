//! Users, passwords and tokens that expire.

use std::time::Duration;

use tidelock::{Acquisition, ErrorKind, LockBackend, Release, Renewal, RunState};
use tidelock_etcd::EtcdBackend;
use tidelock_tests::live::words;
use tidelock_tests::servers::{
    Certificates, EtcdServer, EtcdSettings, base64, json_text, namespace,
};
use tokio::time::{Instant, sleep};

use crate::bench::{
    PATIENCE, Seen, TTL, ask, begin, finish, fresh, granted, history, ms, node, shut_down,
};

/// A server that asks for passwords.
fn guarded(settings: EtcdSettings) -> EtcdServer {
    let server = EtcdServer::start(settings);
    server.enable_auth("right");
    server
}

/// Tokens that live that long when they are not used.
fn brief_tokens(seconds: &str) -> EtcdSettings {
    EtcdSettings::new().with("auth-token", "simple").with("auth-token-ttl", seconds)
}

fn as_root(name: &str, server: &EtcdServer) -> EtcdBackend {
    let builder = EtcdBackend::builder(name).user("root", "right");
    builder.connect_lazy(&server.endpoints().join(",")).unwrap()
}

/// Something that changes the store of users, and with it the worth of tokens.
fn add_user(server: &EtcdServer, name: &str) {
    let token = server.post("auth/authenticate", r#"{"name":"root","password":"right"}"#);
    let token = json_text(&token, "token").unwrap();
    let user = format!(r#"{{"name":"{name}","password":"x"}}"#);
    server.post_as(token, "auth/user/add", &user);
}

/// Field report BR-057: the connection is idle for longer than its token lives.
#[tokio::test]
async fn ticks_run_after_the_token_has_expired() {
    let server = guarded(brief_tokens("1"));
    let (name, seen) = (namespace(), Seen::default());
    let jobs = [
        seen.job("job", "*/3 * * * * *", Duration::from_secs(60), ms(50)),
        // One whose renewals, and whose end, come after it.
        seen.job("long", "*/3 * * * * *", Duration::from_secs(12), ms(2_500)),
    ];
    let node = node(as_root(&name, &server), jobs).await;
    seen.next("job", 2, PATIENCE).await;
    sleep(ms(2_700)).await;
    shut_down([node]).await;
    seen.assert_once_and_apart();
    for name_of_job in ["job", "long"] {
        let states = seen.states(&as_root(&name, &server), name_of_job).await;
        assert!(states.len() >= 2, "{states:?}");
        assert!(states.iter().all(|state| *state == RunState::Succeeded), "{states:?}");
    }
}

#[tokio::test]
async fn each_operation_is_answered_though_its_token_has_expired() {
    let server = guarded(brief_tokens("1"));
    let backend = as_root(&namespace(), &server);
    let expire = || sleep(ms(2_300));
    let request = ask("job", 1);
    let grant = granted(&backend, &request).await;
    expire().await;
    assert_eq!(backend.renew(&grant.lease, TTL).await.unwrap().value, Renewal::Renewed);
    expire().await;
    let finished = finish(&backend, &request, &grant.lease).await.unwrap();
    assert_eq!(finished.release, Release::Released);
    assert!(finished.unsaved.is_none(), "{:?}", finished.unsaved);
    expire().await;
    granted(&backend, &ask("job", 2)).await;
    assert_eq!(history(&backend).await.len(), 2);
}

async fn operations_outlive_changes(server: &EtcdServer) {
    let backend = as_root(&namespace(), server);
    let mut users = (0..).map(|number| format!("user-{number}"));
    let mut change = || add_user(server, &users.next().unwrap());
    for second in 1..=3 {
        let request = ask("job", second);
        change();
        let grant = granted(&backend, &request).await;
        change();
        assert_eq!(backend.renew(&grant.lease, TTL).await.unwrap().value, Renewal::Renewed);
        change();
        let finished = finish(&backend, &request, &grant.lease).await.unwrap();
        assert_eq!(finished.release, Release::Released);
        assert!(finished.unsaved.is_none(), "{:?}", finished.unsaved);
        change();
        assert_eq!(history(&backend).await.len(), usize::try_from(second).unwrap());
    }
}

/// Field report BR-057: "revision of auth store is old".
#[tokio::test]
async fn a_store_of_users_that_changes_costs_no_operation() {
    operations_outlive_changes(&guarded(EtcdSettings::new())).await;
}

/// The same where tokens are signed and name the revision of the store.
#[tokio::test]
async fn a_store_of_users_that_changes_costs_no_operation_with_signed_tokens() {
    let made = Certificates::new();
    let (public, private) = (made.path("server.crt"), made.path("server.key"));
    let (public, private) = (public.display(), private.display());
    let token = format!("jwt,pub-key={public},priv-key={private},sign-method=RS256,ttl=10m");
    operations_outlive_changes(&guarded(EtcdSettings::new().with("auth-token", &token))).await;
}

#[tokio::test]
async fn a_wrong_password_is_denied_at_once_and_never_shown() {
    let server = guarded(EtcdSettings::new());
    let endpoints = server.endpoints().join(",");
    let asked = Instant::now();
    let error = fresh().user("root", "s3cret").connect(&endpoints).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Denied, "{error:?}");
    assert!(!error.is_retryable() && asked.elapsed() < ms(2_000), "{:?}", asked.elapsed());
    assert!(!words(&error).contains("s3cret"), "{}", words(&error));
    let lazy = fresh().user("root", "s3cret").connect_lazy(&endpoints).unwrap();
    assert!(!format!("{lazy:?}").contains("s3cret"), "{lazy:?}");
    let error = begin(&lazy, &ask("job", 1)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Denied, "{error:?}");
    let nobody = fresh().connect_lazy(&endpoints).unwrap();
    let error = begin(&nobody, &ask("job", 1)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Denied, "{error:?}");
    // And it does not try for ever: nothing is asked while nothing is due.
    let seen = Seen::default();
    let job = seen.job("job", "* * * * * *", TTL, ms(10));
    let before = server.received("Authenticate");
    let node = node(lazy, [job]).await;
    sleep(ms(2_500)).await;
    let _ = node.shutdown(ms(100)).await;
    let tried = server.received("Authenticate") - before;
    assert!((1..60).contains(&tried), "{tried} times");
    assert!(seen.of("job").is_empty());
}

#[tokio::test]
async fn a_user_needs_no_more_than_the_keys_of_the_namespace() {
    let server = EtcdServer::start(EtcdSettings::new());
    let name = namespace();
    for (user, prefix) in [("node", format!("tidelock/{name}/")), ("other", "elsewhere/".into())] {
        let mut end = prefix.clone().into_bytes();
        *end.last_mut().unwrap() += 1;
        let (from, to) = (base64(prefix), base64(end));
        server.post("auth/role/add", &format!(r#"{{"name":"{user}"}}"#));
        let range = format!(r#"{{"permType":"READWRITE","key":"{from}","range_end":"{to}"}}"#);
        server.post("auth/role/grant", &format!(r#"{{"name":"{user}","perm":{range}}}"#));
        server.post("auth/user/add", &format!(r#"{{"name":"{user}","password":"pw"}}"#));
        server.post("auth/user/grant", &format!(r#"{{"user":"{user}","role":"{user}"}}"#));
    }
    server.enable_auth("right");
    let endpoints = server.endpoints().join(",");
    let weak = EtcdBackend::builder(&name).user("other", "pw").connect_lazy(&endpoints).unwrap();
    let error = begin(&weak, &ask("job", 1)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Denied, "{error:?}");
    let told = weak.preflight().await.unwrap_err().to_string();
    assert!(told.contains("needs readwrite on the prefix tidelock/"), "{told}");
    let enough = EtcdBackend::builder(&name).user("node", "pw").connect(&endpoints).await.unwrap();
    let request = ask("job", 1);
    let Acquisition::Granted(grant) = begin(&enough, &request).await.unwrap() else {
        panic!("not granted");
    };
    assert_eq!(enough.renew(&grant.lease, TTL).await.unwrap().value, Renewal::Renewed);
    let finished = finish(&enough, &request, &grant.lease).await.unwrap();
    assert!(finished.unsaved.is_none(), "{:?}", finished.unsaved);
    assert_eq!(history(&enough).await.len(), 1);
}
