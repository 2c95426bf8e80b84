//! The members of the cluster, and the connections to them.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
    /// One call at a time makes a client, for all: with a user and password it costs the server a
    /// slow hash.
    opening: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Link {
    /// Shared: a clone of it is one of each of its parts.
    client: Option<Arc<Client>>,
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
        let member = |endpoint| Member {
            endpoint: Some(endpoint),
            link: Mutex::default(),
            opening: tokio::sync::Mutex::default(),
        };
        let members: Vec<_> = endpoints.into_iter().map(member).collect();
        let current = AtomicUsize::new(first % members.len().max(1));
        Self { members, current, options, timeouts }
    }

    pub(crate) fn over(client: Client, timeouts: Timeouts) -> Self {
        let link = Link { client: Some(Arc::new(client)), number: 0, silent: 0 };
        let member = Member {
            endpoint: None,
            link: Mutex::new(link),
            opening: tokio::sync::Mutex::default(),
        };
        let options = ConnectOptions::new();
        Self { members: vec![member], current: AtomicUsize::new(0), options, timeouts }
    }

    /// How many members are known.
    pub(crate) fn count(&self) -> usize {
        self.members.len()
    }

    /// The member that calls go to.
    pub(crate) fn current(&self) -> usize {
        self.current.load(Ordering::Relaxed)
    }

    /// A client of that member. Without a user and password it comes up with its first call.
    pub(crate) async fn client_of(
        &self,
        member: usize,
    ) -> Result<(Arc<Client>, Place), (Driver, Place)> {
        let nowhere = Place::of(member);
        let Some(known) = self.members.get(member) else {
            return Err((Driver::EndpointsNotManaged, nowhere));
        };
        if let (Some(client), place) = known.client(member) {
            return Ok((client, place));
        }
        let _opening = known.opening.lock().await;
        // Another call may have been quicker.
        let place = match known.client(member) {
            (Some(client), place) => return Ok((client, place)),
            (None, place) => place,
        };
        let Some(endpoint) = &known.endpoint else {
            return Err((Driver::EndpointsNotManaged, place));
        };
        let opened = Client::connect([endpoint], Some(self.options.clone())).await;
        let opened = Arc::new(opened.map_err(|error| (error, place))?);
        known.link().client = Some(opened.clone());
        Ok((opened, place))
    }

    /// The current member's address.
    pub(crate) fn endpoint(&self) -> Option<&str> {
        self.endpoint_of(self.current())
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
        if link.silent >= SILENT_CALLS {
            member.renew(&mut link);
        }
    }

    /// Makes another client for the next call there.
    pub(crate) fn forget(&self, place: Place) {
        if let Some(member) = self.members.get(place.member) {
            let mut link = member.link();
            if link.number == place.number {
                member.renew(&mut link);
            }
        }
    }
}

impl Place {
    /// A member that no client was made of.
    pub(crate) const fn of(member: usize) -> Self {
        Self { member, number: 0 }
    }
}

impl Member {
    fn client(&self, member: usize) -> (Option<Arc<Client>>, Place) {
        let link = self.link();
        (link.client.clone(), Place { member, number: link.number })
    }

    /// A client of the application stays: there is no other.
    fn renew(&self, link: &mut Link) {
        if self.endpoint.is_some() {
            *link = Link { client: None, number: link.number + 1, silent: 0 };
        }
    }

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
