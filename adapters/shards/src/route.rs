//! How a question finds the database that has an execution, while slots move.
//! Not the questions.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use loom_runtime::ports::{Shard, Slot, Standing, StoreError};
use tokio::time::Instant;

use crate::{
    Shards,
    map::{Home, Map},
};

/// Between two looks at a slot that is on its way.
const PAUSE: Duration = Duration::from_millis(20);

/// A question to one database.
pub(crate) type Asked<'s, T> = BoxFuture<'s, Result<T, StoreError>>;

impl Shards {
    /// Who has a slot.
    pub(crate) async fn home(&self, slot: Slot) -> Result<Home, StoreError> {
        let begun = Instant::now();
        let mut map = self.map();
        loop {
            if let Some(home) = map.home(slot) {
                return Ok(home);
            }
            self.wait(slot, begun).await?;
            map = self.look().await?;
        }
    }

    /// Writes where the id belongs: the database itself refuses what is elsewhere.
    pub(crate) async fn write<'s, T>(
        &'s self,
        id: &str,
        ask: impl Fn(&'s dyn Shard) -> Asked<'s, T>,
    ) -> Result<T, StoreError> {
        let (slot, begun) = (Slot::of(id), Instant::now());
        loop {
            let home = self.home(slot).await?;
            match ask(&*self.0.members[home.member].store).await {
                Err(StoreError::Elsewhere(_)) => {}
                done => return done,
            }
            self.leaves(slot, home, begun).await?;
        }
    }

    /// Reads where the id is, and looks afterwards that it was still there.
    pub(crate) async fn read_of<'s, T>(
        &'s self,
        id: &str,
        ask: impl Fn(&'s dyn Shard) -> Asked<'s, T>,
    ) -> Result<T, StoreError> {
        let slot = Slot::of(id);
        loop {
            let home = self.home(slot).await?;
            let store = &*self.0.members[home.member].store;
            let told = ask(store).await;
            let same = match store.place(slot).await? {
                Some(place) if place.standing == Standing::Here => place.epoch == home.epoch,
                // Frozen, it is right for as long as it has not arrived.
                _ => self.look().await?.home(slot) == Some(home),
            };
            if same {
                return told;
            }
            self.look().await?;
        }
    }

    /// Does what may be done twice, where the id is, until it was surely done before any copy was made.
    pub(crate) async fn touch<'s, T>(
        &'s self,
        id: &str,
        ask: impl Fn(&'s dyn Shard) -> Asked<'s, T>,
    ) -> Result<T, StoreError> {
        let (slot, begun) = (Slot::of(id), Instant::now());
        loop {
            let home = self.home(slot).await?;
            let store = &*self.0.members[home.member].store;
            let done = ask(store).await;
            let place = store.place(slot).await?;
            if place.is_some_and(|place| (place.standing, place.epoch) == (Standing::Here, home.epoch)) {
                return done;
            }
            self.leaves(slot, home, begun).await?;
        }
    }

    /// Waits until a slot has another home. Only looks: those who wait must not be in the way of those who write.
    async fn leaves(&self, slot: Slot, home: Home, begun: Instant) -> Result<(), StoreError> {
        while self.look().await?.home(slot) == Some(home) {
            self.wait(slot, begun).await?;
        }
        Ok(())
    }

    /// Asks every database, and again if something has moved meanwhile. Answers by member, and where everything was.
    pub(crate) async fn everywhere<'s, T>(
        &'s self,
        ask: impl Fn(&'s dyn Shard) -> Asked<'s, T>,
    ) -> Result<(Vec<T>, Arc<Map>), StoreError> {
        loop {
            let map = self.map();
            let asked = self
                .0
                .members
                .iter()
                .map(|member| async { ask(&*member.store).await.map_err(|e| member.named(e)) });
            let told = futures_util::future::try_join_all(asked).await?;
            if *self.look().await? == *map {
                return Ok((told, map));
            }
        }
    }

    /// Waits a moment for a slot that is on its way, but not for ever.
    async fn wait(&self, slot: Slot, begun: Instant) -> Result<(), StoreError> {
        let waited = begun.elapsed();
        if waited > self.0.patience {
            let slot = slot.number();
            return Err(StoreError::Unavailable(format!(
                "slot {slot} has been on its way to another database, or in one that does not answer, for {waited:?}: \
                 ask again; if its mover is gone, finish the move (`Shards::finish`)"
            )));
        }
        tokio::time::sleep(PAUSE).await;
        Ok(())
    }
}
