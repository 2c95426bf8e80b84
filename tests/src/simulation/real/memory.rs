//! The venue of simulations: a backend in this process.

use std::sync::Arc;

use async_trait::async_trait;
use tidelock::Backend;

use super::venue::{Route, Venue};
use crate::simulation::store::Store;

/// Nothing happens on the way to it but what happens to calls.
#[async_trait]
impl Venue for Store {
    async fn route(&self) -> Arc<dyn Route> {
        Arc::new(self.clone())
    }

    fn reader(&self) -> Arc<dyn Backend> {
        Arc::new(self.clone())
    }
}

impl Route for Store {
    fn backend(&self) -> Arc<dyn Backend> {
        Arc::new(self.clone())
    }
}
