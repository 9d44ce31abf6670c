//! Moving slots from one database to another.
//! Not the deciding what should be where, beyond an even spread.

use std::{collections::BTreeMap, time::Duration};

use loom_runtime::ports::{Place, PlaceChange, Shard, Slot, Standing, StoreError};

use tokio::time::Instant;

use crate::{MoveError, Shards};

/// Slots of which a move that was left is finished together.
const TOGETHER: usize = 16;

/// Executions that cross at a time, and how many wait for each other's crossing at most, unless one slot has more.
const PARCELS: usize = 50;

/// How long a mover goes on when a database does not answer, beyond what the database itself waits.
const PATIENCE: Duration = Duration::from_secs(60);

/// Between two tries.
const PAUSE: Duration = Duration::from_millis(200);

/// How far a move has come, for whoever watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// The target is ready to take them.
    Announced,
    /// The source takes nothing for them any more.
    Frozen,
    /// Some executions have been copied.
    Copying,
    /// All have.
    Copied,
    /// They live in the target.
    Moved,
    /// The source has let go.
    Left,
    /// And has forgotten them.
    Cleared,
}

impl Shards {
    /// Moves slots to a database, wherever they are; those that are there already stay. Workers go on meanwhile.
    ///
    /// May be repeated, by anybody: what another mover has begun, and left, is finished first. Answers how many slots
    /// have moved.
    ///
    /// # Errors
    /// [`MoveError`]. Nothing is lost: each slot is in one place or the other, or frozen until somebody finishes the move.
    pub async fn move_slots(&self, slots: &[Slot], to: &str) -> Result<usize, MoveError> {
        self.move_slots_watched(slots, to, |_, _| {}).await
    }

    /// The same, telling of every stage of every batch of slots.
    ///
    /// # Errors
    /// As [`move_slots`](Self::move_slots).
    pub async fn move_slots_watched(
        &self,
        slots: &[Slot],
        to: &str,
        watch: impl Fn(Stage, &[Slot]) + Send + Sync,
    ) -> Result<usize, MoveError> {
        let to = self.member(to)?;
        let mover = uuid::Uuid::now_v7().to_string();
        self.tidy(slots, &mover, &watch).await?;
        let map = self.look().await?;
        let mut from: BTreeMap<usize, Vec<Slot>> = BTreeMap::new();
        for slot in slots {
            let home = map.home(*slot).ok_or(MoveError::Nowhere { slot: slot.number() })?;
            if home.member != to {
                from.entry(home.member).or_default().push(*slot);
            }
        }
        let mut moved = 0;
        for (from, slots) in from {
            for slots in self.batches(from, slots).await? {
                moved += slots.len();
                Trip { shards: self, from, to, slots: &slots, mover: &mover, watch: &watch }.go().await?;
            }
        }
        Ok(moved)
    }

    /// Finishes every move that was begun and left. Not beside a mover that lives: it would be taken over. Answers how many
    /// slots that concerned.
    ///
    /// # Errors
    /// [`MoveError`].
    pub async fn finish(&self) -> Result<usize, MoveError> {
        let mover = uuid::Uuid::now_v7().to_string();
        let slots: Vec<Slot> = Slot::all().collect();
        let count = self.tidy(&slots, &mover, &|_, _| {}).await?;
        for member in &self.0.members {
            let places = member.store.places().await?;
            let away = slots.iter().zip(&places).filter(|(_, place)| place.standing == Standing::Away);
            let away: Vec<Slot> = away.map(|(slot, _)| *slot).collect();
            // One that comes meanwhile is emptied by whoever brings it.
            member.store.clear(&away, &mover).await?;
        }
        Ok(count)
    }

    /// Moves everything out of a database, evenly to the others; then it may be left out. Answers how many slots have moved.
    ///
    /// # Errors
    /// [`MoveError`].
    pub async fn drain(&self, name: &str) -> Result<usize, MoveError> {
        let drained = self.drained(name)?;
        self.move_to_level(|n| n != drained).await
    }

    /// Moves as few slots as it takes for every database to have as many as the others. Answers how many have moved.
    ///
    /// # Errors
    /// [`MoveError`].
    pub async fn spread(&self) -> Result<usize, MoveError> {
        self.move_to_level(|_| true).await
    }

    async fn move_to_level(&self, used: impl Fn(usize) -> bool) -> Result<usize, MoveError> {
        self.finish().await?;
        let mut moved = 0;
        for (to, slots) in self.level(&self.homes().await?, used) {
            moved += self.move_slots(&slots, &self.0.members[to].name).await?;
        }
        Ok(moved)
    }

    /// Slots to freeze together: as many as have few executions between them, so that nobody waits for long.
    async fn batches(&self, from: usize, slots: Vec<Slot>) -> Result<Vec<Vec<Slot>>, MoveError> {
        let (mut batches, mut open) = (Vec::new(), vec![slots]);
        while let Some(mut slots) = open.pop() {
            let held = self.0.members[from].store.pack(&slots, None, PARCELS).await?.len();
            if held < PARCELS || slots.len() == 1 {
                batches.push(slots);
            } else {
                open.push(slots.split_off(slots.len() / 2));
                open.push(slots);
            }
        }
        Ok(batches)
    }

    /// Finishes what was begun with these slots.
    async fn tidy(
        &self,
        slots: &[Slot],
        mover: &str,
        watch: &(impl Fn(Stage, &[Slot]) + Send + Sync),
    ) -> Result<usize, MoveError> {
        let mut count = 0;
        for ((from, to), slots) in self.unfinished(slots).await? {
            for slots in slots.chunks(TOGETHER) {
                count += slots.len();
                Trip { shards: self, from, to, slots, mover, watch }.go().await?;
            }
        }
        Ok(count)
    }
}

/// Some slots on their way from one database to another.
struct Trip<'a, W> {
    shards: &'a Shards,
    from: usize,
    to: usize,
    slots: &'a [Slot],
    mover: &'a str,
    watch: &'a W,
}

impl<W: Fn(Stage, &[Slot]) + Send + Sync> Trip<'_, W> {
    fn source(&self) -> &dyn Shard {
        &*self.shards.0.members[self.from].store
    }

    fn target(&self) -> &dyn Shard {
        &*self.shards.0.members[self.to].store
    }

    fn tell(&self, stage: Stage) {
        (self.watch)(stage, self.slots);
    }

    /// Goes to the end, and again from the start while a database is away for a moment: what is frozen must not stay so for
    /// want of patience.
    async fn go(&self) -> Result<(), MoveError> {
        let begun = Instant::now();
        loop {
            match self.once().await {
                Err(MoveError::Store(StoreError::Unavailable(why))) if begun.elapsed() < PATIENCE => {
                    tracing::warn!(error = why, "a move begins again");
                    tokio::time::sleep(PAUSE).await;
                }
                done => return done,
            }
        }
    }

    /// Goes from wherever it is to the end.
    async fn once(&self) -> Result<(), MoveError> {
        let begun = Instant::now();
        self.announce().await?;
        self.tell(Stage::Announced);
        self.freeze().await?;
        self.tell(Stage::Frozen);
        self.copy().await?;
        self.tell(Stage::Copied);
        self.flip().await?;
        self.tell(Stage::Moved);
        self.leave().await?;
        self.tell(Stage::Left);
        self.source().clear(self.slots, self.mover).await?;
        self.tell(Stage::Cleared);
        let name = |n: usize| self.shards.0.members[n].name.as_str();
        let ms = begun.elapsed().as_secs_f64() * 1_000.0;
        tracing::info!(
            slots = self.slots.len(),
            from = name(self.from),
            to = name(self.to),
            ms,
            "slots moved"
        );
        Ok(())
    }

    /// The target's places become mine to fill, and empty. One that has arrived stays as it is.
    async fn announce(&self) -> Result<(), MoveError> {
        let theirs = self.source().places().await?;
        let peer = self.shards.0.members[self.from].name.clone();
        self.change(self.target(), |slot, place| {
            let epoch = theirs.get(usize::from(slot.number())).map_or(0, |place| place.epoch) + 1;
            if place.standing == Standing::Here {
                return Ok(None);
            }
            let (peer, mover) = (peer.clone(), self.mover.to_owned());
            Ok(Some(Place { standing: Standing::Coming, epoch, peer, mover }))
        })
        .await?;
        let coming = self.coming().await?;
        match self.target().clear(&coming, self.mover).await? {
            true => Ok(()),
            false => Err(self.taken_over(&coming)),
        }
    }

    /// The source lets nobody write to what is to come. It does so for one target and one epoch: from then on nobody else can
    /// take these slots anywhere.
    async fn freeze(&self) -> Result<(), MoveError> {
        let to = self.shards.0.members[self.to].name.clone();
        let (coming, theirs) = (self.coming().await?, self.target().places().await?);
        self.change(self.source(), |slot, place| {
            if !coming.contains(&slot) {
                return Ok(None);
            }
            let next = theirs.get(usize::from(slot.number())).map(|place| place.epoch);
            match place.standing {
                _ if next != Some(place.epoch + 1) => Err(self.taken_over(&[slot])),
                Standing::Here => {
                    Ok(Some(Place { standing: Standing::Leaving, peer: to.clone(), ..place.clone() }))
                }
                Standing::Leaving if place.peer == to => Ok(None),
                _ => Err(self.taken_over(&[slot])),
            }
        })
        .await
    }

    async fn copy(&self) -> Result<(), MoveError> {
        let coming = self.coming().await?;
        let mut after = None;
        loop {
            let parcels = self.source().pack(&coming, after.as_ref(), PARCELS).await?;
            let Some(last) = parcels.last() else { return Ok(()) };
            after = Some(last.id.clone());
            if !self.target().unpack(&parcels, self.mover).await? {
                return Err(self.taken_over(&coming));
            }
            self.tell(Stage::Copying);
        }
    }

    async fn flip(&self) -> Result<(), MoveError> {
        self.change(self.target(), |slot, place| match place.standing {
            Standing::Here => Ok(None),
            Standing::Coming if place.mover == self.mover => {
                Ok(Some(Place { standing: Standing::Here, epoch: place.epoch, ..Place::default() }))
            }
            _ => Err(self.taken_over(&[slot])),
        })
        .await
    }

    /// Only what has arrived in the target leaves the source.
    async fn leave(&self) -> Result<(), MoveError> {
        let theirs = self.target().places().await?;
        self.change(self.source(), |slot, place| {
            let there = theirs.get(usize::from(slot.number())).cloned().unwrap_or_default();
            let arrived = there.standing == Standing::Here && there.epoch > place.epoch;
            match place.standing {
                Standing::Leaving if arrived => {
                    Ok(Some(Place { standing: Standing::Away, epoch: there.epoch, ..Place::default() }))
                }
                _ => Ok(None),
            }
        })
        .await
    }

    /// The slots that are still to be filled.
    async fn coming(&self) -> Result<Vec<Slot>, MoveError> {
        let places = self.target().places().await?;
        let mine = |slot: &&Slot| {
            let place = places.get(usize::from(slot.number()));
            place.is_some_and(|place| place.standing == Standing::Coming && place.mover == self.mover)
        };
        Ok(self.slots.iter().filter(mine).copied().collect())
    }

    /// Changes the places of these slots in one database, from what they are there.
    async fn change(
        &self,
        of: &dyn Shard,
        to: impl Fn(Slot, &Place) -> Result<Option<Place>, MoveError>,
    ) -> Result<(), MoveError> {
        let places = of.places().await?;
        let mut changes: Vec<PlaceChange> = Vec::new();
        for slot in self.slots {
            let place = places.get(usize::from(slot.number())).cloned().unwrap_or_default();
            if let Some(new) = to(*slot, &place)? {
                changes.push((*slot, place, new));
            }
        }
        if changes.is_empty() || of.set_places(&changes).await? {
            return Ok(());
        }
        Err(self.taken_over(self.slots))
    }

    fn taken_over(&self, slots: &[Slot]) -> MoveError {
        MoveError::TakenOver { slot: slots.first().map_or(0, |slot| slot.number()) }
    }
}
