//! What is done to the servers of a stage.

use super::event::What;
use super::stage::Stage;

impl Stage<'_> {
    /// Stops a server, or kills it, unless it is away.
    pub(super) fn server_away(&mut self, member: usize, dies: bool) {
        if self.away.contains_key(&member) {
            return;
        }
        self.away.insert(member, dies);
        self.log.note(What::ServerAway(member, dies));
        self.serve(None, move |venue| venue.stop(member, dies));
    }

    /// Makes it go on.
    pub(super) fn server_back(&mut self, member: usize) {
        if let Some(died) = self.away.remove(&member) {
            self.serve(Some(What::ServerBack(member)), move |venue| venue.go_on(member, died));
        }
    }

    /// Makes all go on, and waits for them.
    pub(super) async fn servers_back(&mut self) {
        let away: Vec<_> = self.away.keys().copied().collect();
        away.into_iter().for_each(|member| self.server_back(member));
        if let Some(serving) = self.serving.take() {
            serving.await.expect("a server that goes on");
        }
    }

    /// Does what may block, when all before it is done.
    #[expect(clippy::disallowed_methods, reason = "servers are no part of a node")]
    fn serve(
        &mut self,
        then: Option<What>,
        work: impl FnOnce(&dyn super::real::Venue) + Send + 'static,
    ) {
        let (before, venue, log) = (self.serving.take(), self.venue.clone(), self.log.clone());
        self.serving = Some(tokio::spawn(async move {
            if let Some(before) = before {
                before.await.expect("a server that does as it is told");
            }
            let done = tokio::task::spawn_blocking(move || work(&*venue)).await;
            done.expect("a server that does as it is told");
            then.into_iter().for_each(|what| log.note(what));
        }));
    }
}
