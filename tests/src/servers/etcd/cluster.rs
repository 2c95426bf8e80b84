//! Three servers that are one.

use std::time::Duration;

use super::member::{Member, has_binary};
use super::{EtcdServer, EtcdSettings, HELP, Origin};
use crate::servers::json::json_text;
use crate::servers::place::wait_until;

/// A cluster of three members, of the test's own. It ends with this process.
#[derive(Debug)]
pub struct EtcdCluster {
    members: Vec<EtcdServer>,
}

impl EtcdCluster {
    /// Starts three members and waits until each of them answers.
    ///
    /// # Panics
    ///
    /// When there is no program etcd; the message says how to get one.
    #[expect(clippy::needless_pass_by_value, reason = "as all fixtures are started")]
    pub fn start(settings: EtcdSettings) -> Self {
        assert!(has_binary(), "{HELP}");
        for _ in 0..3 {
            let mut members: Vec<_> = (0..3).map(|number| Member::new(number, &settings)).collect();
            let peers = members.iter().map(Member::peer).collect::<Vec<_>>().join(",");
            for member in &mut members {
                member.join(&peers);
                member.launch();
            }
            // Another process may have taken a port in between.
            if members.iter().all(Member::wait) {
                let members = members.into_iter().map(|m| EtcdServer(Origin::Own(m))).collect();
                return Self { members };
            }
        }
        panic!("etcd does not start")
    }

    /// The addresses of its members, for clients.
    pub fn endpoints(&self) -> Vec<String> {
        self.members.iter().flat_map(EtcdServer::endpoints).collect()
    }

    /// One of its members, to be killed, stopped or started again.
    pub fn member(&self, number: usize) -> &EtcdServer {
        &self.members[number]
    }

    /// Starts again those that were killed and waits until they answer.
    ///
    /// # Panics
    ///
    /// When they do not.
    pub fn restart(&self) {
        let down: Vec<_> = self.running(false).map(|number| self.member(number)).collect();
        for server in &down {
            server.member().launch();
        }
        assert!(down.iter().all(|server| server.member().wait()), "the members start again");
    }

    /// The number of its leader, once there is one.
    ///
    /// # Panics
    ///
    /// When there is none for long.
    pub fn leader(&self) -> usize {
        let found = std::cell::Cell::new(None);
        wait_until(Duration::from_secs(15), || {
            found.set(self.running(true).find(|&number| {
                let status = self.status(number);
                let status = status.as_deref().unwrap_or_default();
                json_text(status, "leader")
                    .is_some_and(|id| Some(id) == json_text(status, "member_id"))
            }));
            found.get().is_some()
        });
        found.get().expect("a leader")
    }

    /// Makes another member the leader.
    ///
    /// # Panics
    ///
    /// When one of the two does not answer.
    pub fn move_leader(&self, to: usize) {
        let status = self.status(to).expect("a member that answers");
        let id = json_text(&status, "member_id").expect("its id");
        let leader = self.member(self.leader());
        leader.post("maintenance/transfer-leadership", &format!(r#"{{"targetID":"{id}"}}"#));
    }

    fn status(&self, number: usize) -> Option<String> {
        let port = self.member(number).address().port();
        crate::servers::http::post(port, "/v3/maintenance/status", "", "{}").ok()
    }

    fn running(&self, is_running: bool) -> impl Iterator<Item = usize> {
        let of =
            move |&number: &usize| self.member(number).member().place.is_running() == is_running;
        (0..self.members.len()).filter(of)
    }
}

impl crate::servers::Servers for EtcdCluster {
    fn addresses(&self) -> Vec<std::net::SocketAddr> {
        self.members.iter().map(EtcdServer::address).collect()
    }

    fn freeze(&self, member: usize) {
        self.member(member).freeze();
    }

    fn thaw(&self, member: usize) {
        self.member(member).thaw();
    }

    fn kill(&self, member: usize) {
        self.member(member).kill();
    }

    fn restart(&self, member: usize) {
        self.member(member).restart();
    }
}
