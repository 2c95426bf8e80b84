//! The members of the cluster, and the connections to them.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use etcd_client::{Client, ConnectOptions, Error as Driver};

/// How long a connection may take to come up, and an answer to come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    pub(crate) connect: Duration,
    pub(crate) operation: Duration,
}

/// All members, one connection each. Calls go to one of them until it fails: a balancer would go
/// on to send a share of the calls to a member that is down or hangs.
pub(crate) struct Wire {
    members: Vec<Member>,
    current: AtomicUsize,
    options: ConnectOptions,
    pub(crate) timeouts: Timeouts,
}

/// One member.
struct Member {
    /// Its address; `None` where the application has given a client.
    endpoint: Option<String>,
    link: Mutex<Link>,
}

#[derive(Default)]
struct Link {
    client: Option<Client>,
    /// Which one it is, so that it is replaced once and not by each call that met it.
    number: u64,
    /// How many calls in a row had no answer on it.
    silent: u32,
}

/// After so many calls in a row without an answer a connection counts as dead.
const SILENT_CALLS: u32 = 3;

/// A client, and what it takes to tell how it did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    member: usize,
    number: u64,
}

impl Wire {
    /// `first` is the member that is asked first: nodes differ in it, so that a cluster's members
    /// have their share.
    pub(crate) fn new(
        endpoints: Vec<String>,
        first: usize,
        options: ConnectOptions,
        timeouts: Timeouts,
    ) -> Self {
        let member = |endpoint| Member { endpoint: Some(endpoint), link: Mutex::default() };
        let members: Vec<_> = endpoints.into_iter().map(member).collect();
        let current = AtomicUsize::new(first % members.len().max(1));
        Self { members, current, options, timeouts }
    }

    pub(crate) fn over(client: Client, timeouts: Timeouts) -> Self {
        let link = Link { client: Some(client), number: 0, silent: 0 };
        let member = Member { endpoint: None, link: Mutex::new(link) };
        let options = ConnectOptions::new();
        Self { members: vec![member], current: AtomicUsize::new(0), options, timeouts }
    }

    /// How many members are known.
    pub(crate) fn count(&self) -> usize {
        self.members.len()
    }

    /// A client of the current member. Without a user and password it comes up with its first call.
    pub(crate) async fn client(&self) -> Result<(Client, Place), (Driver, Place)> {
        let index = self.current.load(Ordering::Relaxed);
        self.client_of(index).await
    }

    /// A client of that member.
    pub(crate) async fn client_of(
        &self,
        member: usize,
    ) -> Result<(Client, Place), (Driver, Place)> {
        let nowhere = Place { member, number: 0 };
        let Some(known) = self.members.get(member) else {
            return Err((Driver::EndpointsNotManaged, nowhere));
        };
        let (number, client) = {
            let link = known.link();
            (link.number, link.client.clone())
        };
        let place = Place { member, number };
        if let Some(client) = client {
            return Ok((client, place));
        }
        let Some(endpoint) = &known.endpoint else {
            return Err((Driver::EndpointsNotManaged, place));
        };
        let opened = Client::connect([endpoint], Some(self.options.clone())).await;
        let opened = opened.map_err(|error| (error, place))?;
        // Another call may have been quicker.
        let mut link = known.link();
        let client = link.client.get_or_insert(opened).clone();
        Ok((client, Place { member, number: link.number }))
    }

    /// The current member's address.
    pub(crate) fn endpoint(&self) -> Option<&str> {
        self.endpoint_of(self.current.load(Ordering::Relaxed))
    }

    /// That member's address.
    pub(crate) fn endpoint_of(&self, member: usize) -> Option<&str> {
        self.members.get(member)?.endpoint.as_deref()
    }

    /// From now on, calls go to the next member.
    pub(crate) fn leave(&self, place: Place) {
        let next = (place.member + 1) % self.members.len().max(1);
        // Not when another call has left it already.
        let order = Ordering::Relaxed;
        if self.current.compare_exchange(place.member, next, order, order).is_ok()
            && next != place.member
        {
            tracing::debug!(member = ?self.endpoint_of(place.member), "etcd member left");
        }
    }

    /// Notes that a call had an answer there, of whatever kind.
    pub(crate) fn answered(&self, place: Place) {
        if let Some(member) = self.members.get(place.member) {
            let mut link = member.link();
            if link.number == place.number {
                link.silent = 0;
            }
        }
    }

    /// Notes that a call had none in time.
    pub(crate) fn silent(&self, place: Place) {
        let Some(member) = self.members.get(place.member) else {
            return;
        };
        let mut link = member.link();
        if link.number != place.number {
            return;
        }
        link.silent += 1;
        // A client of the application stays: there is no other.
        if link.silent >= SILENT_CALLS && member.endpoint.is_some() {
            *link = Link { client: None, number: place.number + 1, silent: 0 };
        }
    }
}

impl Member {
    fn link(&self) -> MutexGuard<'_, Link> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The addresses alone: the options have the password.
        let endpoints = self.members.iter().map(|m| m.endpoint.as_deref().unwrap_or("given"));
        f.debug_struct("Wire")
            .field("endpoints", &endpoints.collect::<Vec<_>>())
            .field("timeouts", &self.timeouts)
            .finish_non_exhaustive()
    }
}
