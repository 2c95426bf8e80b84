use std::sync::atomic::{AtomicU64, Ordering};

use tokio::time::sleep;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// A task that counts the seconds.
fn counting(node: &NodeSpawner) -> Arc<AtomicU64> {
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    node.spawn(Box::pin(async move {
        loop {
            sleep(SECOND).await;
            counted.fetch_add(1, Ordering::Relaxed);
        }
    }));
    count
}

/// Does something when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[tokio::test(start_paused = true)]
async fn a_frozen_node_stands_still_while_time_goes_by_and_goes_on_when_thawed() {
    let node = NodeSpawner::new();
    let count = counting(&node);
    sleep(SECOND * 5 / 2).await;
    node.freeze();
    sleep(SECOND * 60).await;
    assert_eq!(count.load(Ordering::Relaxed), 2);
    node.thaw();
    sleep(SECOND * 5 / 4).await;
    assert_eq!(count.load(Ordering::Relaxed), 4);
}

#[tokio::test(start_paused = true)]
async fn a_task_spawned_on_a_frozen_node_starts_when_it_is_thawed() {
    let node = NodeSpawner::new();
    node.freeze();
    let count = counting(&node);
    sleep(SECOND * 10).await;
    assert_eq!((count.load(Ordering::Relaxed), node.tasks()), (0, 1));
    node.thaw();
    sleep(SECOND * 3 / 2).await;
    assert_eq!(count.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_killed_node_drops_its_tasks_at_once_and_all_later_ones() {
    let node = NodeSpawner::new();
    let count = counting(&node);
    sleep(SECOND * 3 / 2).await;
    node.kill();
    assert_eq!((Arc::strong_count(&count), node.tasks()), (1, 0));
    assert_eq!(Arc::strong_count(&counting(&node)), 1);
}

#[tokio::test(start_paused = true)]
async fn a_killed_nodes_destructors_find_the_link_cut_and_spawn_in_vain() {
    let link = Link::new();
    let node = NodeSpawner::new().linked(&link);
    let seen = Arc::new(Mutex::new(None));
    let (told, again) = (Arc::clone(&seen), node.clone());
    let on_drop = OnDrop(move || {
        again.spawn(Box::pin(async { unreachable!("it is dead") }));
        *told.lock().unwrap() = Some(link.is_cut());
    });
    node.spawn(Box::pin(async move {
        let _on_drop = on_drop;
        std::future::pending::<()>().await;
    }));
    sleep(SECOND).await;
    node.kill();
    sleep(SECOND).await;
    assert_eq!(*seen.lock().unwrap(), Some(true));
}

#[tokio::test(start_paused = true)]
async fn a_task_that_kills_its_own_node_ends_at_its_next_await() {
    let node = NodeSpawner::new();
    let (own, ended) = (node.clone(), Arc::new(()));
    let kept = Arc::clone(&ended);
    node.spawn(Box::pin(async move {
        own.kill();
        sleep(SECOND).await;
        unreachable!("it is dead, with {kept:?}");
    }));
    sleep(SECOND * 3).await;
    assert_eq!((Arc::strong_count(&ended), node.tasks()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn blocking_work_takes_mocked_time_and_ends_with_its_node() {
    let node = NodeSpawner::new();
    node.blocking_takes(SECOND * 90);
    let done = Arc::new(AtomicU64::new(0));
    let work = || {
        let done = Arc::clone(&done);
        Box::new(move || {
            let _ = done.fetch_add(1, Ordering::Relaxed);
        })
    };
    node.spawn_blocking(work());
    sleep(SECOND * 89).await;
    assert_eq!(done.load(Ordering::Relaxed), 0);
    sleep(SECOND * 2).await;
    assert_eq!((done.load(Ordering::Relaxed), node.tasks()), (1, 0));
    node.spawn_blocking(work());
    node.kill();
    sleep(SECOND * 100).await;
    assert_eq!(done.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn blocking_work_runs_on_a_thread_in_real_time() {
    let (tell, told) = tokio::sync::oneshot::channel();
    let work = move || {
        let _ = tell.send(std::thread::current().id());
    };
    NodeSpawner::new().spawn_blocking(Box::new(work));
    assert_ne!(told.await.unwrap(), std::thread::current().id());
}
