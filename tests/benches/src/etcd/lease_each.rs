//! A peer: the floor's transactions with a lease for each run, granted before and revoked behind, as
//! common lock crates of etcd have it.

use etcd_client::{Client, KvClient};

use super::Etcd;
use super::floor::Job;
use crate::load::{Runs, Ticks};

pub(crate) struct LeaseEach {
    client: Client,
    kv: KvClient,
    jobs: Vec<Job>,
    ticks: Ticks,
}

impl LeaseEach {
    pub(crate) async fn new(etcd: &Etcd, namespace: &str, jobs: usize) -> Self {
        let jobs = (0..jobs).map(|job| Job::new(namespace, job)).collect();
        let client = etcd.client().await;
        Self { kv: client.kv_client(), client, jobs, ticks: Ticks::new() }
    }
}

impl Runs for LeaseEach {
    async fn run(&self, job: usize) {
        let mut client = self.client.clone();
        let lease = client.lease_grant(30, None).await.expect("a lease").id();
        self.jobs[job].run(&self.kv, lease, &self.ticks).await;
        client.lease_revoke(lease).await.expect("the lease goes");
    }
}
