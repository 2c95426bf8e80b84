//! A random fleet in real time over members that are stopped, killed and cut off: a minute, or as
//! long as `TIDELOCK_FLEET_SECONDS` says.

use std::time::Duration;

use tidelock_etcd::EtcdBackend;
use tidelock_tests::servers::{EtcdCluster, EtcdSettings, Served, namespace};
use tidelock_tests::simulation::{Real, endure};

#[tokio::test]
async fn a_random_fleet_over_members_that_fail_keeps_the_promise() {
    // What is further ahead of the members' clocks than a second and two is held back.
    let real = Real::new(&[2_000, 3_000]).members(3).clockless(Duration::from_millis(4_000));
    endure("tidelock-etcd --test long fleet", real, async || {
        let name = namespace();
        Served::new(EtcdCluster::start(EtcdSettings::new()), move |addresses| {
            let endpoints: Vec<_> =
                addresses.iter().map(|address| format!("http://{address}")).collect();
            let builder = EtcdBackend::builder(&name).keep(10_000);
            builder.connect_lazy(&endpoints.join(",")).unwrap()
        })
    })
    .await;
}
