//! What is to go where: which slots a change moves, and how many executions are in them.
//! Not the moving.

use std::{cmp::Reverse, collections::BTreeMap};

use loom_runtime::ports::{EventStore, ListFilter, SLOTS, Slot, Standing, StoreError};

use crate::{MoveError, Shards};

/// How many rows are counted at a time.
const PAGE: usize = 1_000;

/// From where to where, and which slots.
pub(crate) type Trips = BTreeMap<(usize, usize), Vec<Slot>>;

/// A change of what is where, as the method of [`Shards`] with its name makes it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Change<'a> {
    /// These slots to this database.
    MoveSlots(&'a [Slot], &'a str),
    /// As many slots for every database as for the others.
    Spread,
    /// Everything out of this database.
    Drain(&'a str),
    /// What was begun and left.
    Finish,
}

/// What would go from one database to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// The one that has it.
    pub from: String,
    /// The one that would.
    pub to: String,
    /// How many slots.
    pub slots: usize,
    /// How many executions are in them.
    pub executions: u64,
}

impl Shards {
    /// Counts what a change would move now, and moves nothing. What was begun with its slots, and left, is among it.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use loom_runtime::Memory;
    /// use shards::{Change, Shards};
    ///
    /// let store = Shards::open([("eu-1", Memory::new()), ("eu-2", Memory::new())]).await?;
    /// let would = store.rehearse(Change::Spread).await?;
    /// assert_eq!((would[0].to.as_str(), would[0].slots), ("eu-2", 512));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As the change itself has: [`MoveError`].
    pub async fn rehearse(&self, change: Change<'_>) -> Result<Vec<Crossing>, MoveError> {
        let all: Vec<Slot> = Slot::all().collect();
        let concerned = if let Change::MoveSlots(slots, _) = change { slots } else { &all };
        let mut trips = self.unfinished(concerned).await?;
        let mut homes = self.homes().await?;
        for ((_, to), slots) in &trips {
            slots.iter().for_each(|slot| homes[usize::from(slot.number())] = *to);
        }
        let more = match change {
            Change::MoveSlots(slots, to) => BTreeMap::from([(self.member(to)?, slots.to_vec())]),
            Change::Spread => self.level(&homes, |_| true),
            Change::Drain(name) => {
                let drained = self.drained(name)?;
                self.level(&homes, |n| n != drained)
            }
            Change::Finish => BTreeMap::new(),
        };
        for (to, slots) in more {
            for slot in slots {
                let from = homes[usize::from(slot.number())];
                if from != to {
                    trips.entry((from, to)).or_default().push(slot);
                }
            }
        }
        let executions = self.executions().await?;
        let name = |n: usize| self.0.members[n].name.clone();
        let crossing = |((from, to), slots): ((usize, usize), Vec<Slot>)| Crossing {
            from: name(from),
            to: name(to),
            slots: slots.len(),
            executions: slots.iter().map(|slot| executions[usize::from(slot.number())]).sum(),
        };
        Ok(trips.into_iter().map(crossing).collect())
    }

    /// Makes it; answers how many slots have moved, of a [`Change::Finish`] how many that concerned.
    ///
    /// # Errors
    /// [`MoveError`].
    pub async fn change(&self, change: Change<'_>) -> Result<usize, MoveError> {
        match change {
            Change::MoveSlots(slots, to) => self.move_slots(slots, to).await,
            Change::Spread => self.spread().await,
            Change::Drain(name) => self.drain(name).await,
            Change::Finish => self.finish().await,
        }
    }

    /// Which database has each slot, by the slots' numbers.
    pub(crate) async fn homes(&self) -> Result<Vec<usize>, MoveError> {
        let map = self.look().await?;
        let home = |slot: Slot| map.home(slot).map(|home| home.member);
        Slot::all().map(|slot| home(slot).ok_or(MoveError::Nowhere { slot: slot.number() })).collect()
    }

    /// What has to go where for every database that is `used` to have the same number of slots, and the others none.
    pub(crate) fn level(&self, homes: &[usize], used: impl Fn(usize) -> bool) -> BTreeMap<usize, Vec<Slot>> {
        let mut has: Vec<Vec<Slot>> = vec![Vec::new(); self.0.members.len()];
        for (slot, home) in Slot::all().zip(homes) {
            has[*home].push(slot);
        }
        let takers: Vec<usize> = (0..has.len()).filter(|n| used(*n)).collect();
        let (each, over) = (Slot::all().len() / takers.len(), Slot::all().len() % takers.len());
        // Those that have most keep what is left over, so that nothing moves for it.
        let mut order = takers.clone();
        order.sort_by_key(|n| Reverse(has[*n].len()));
        let due: BTreeMap<usize, usize> =
            order.iter().enumerate().map(|(rank, n)| (*n, each + usize::from(rank < over))).collect();
        let mut free = Vec::new();
        for (n, slots) in has.iter_mut().enumerate() {
            let keeps = due.get(&n).copied().unwrap_or(0).min(slots.len());
            free.extend(slots.split_off(keeps));
        }
        let lacks = due.into_iter().map(|(n, due)| (n, due - has[n].len()));
        lacks.map(|(n, lacks)| (n, free.drain(..lacks).collect())).collect()
    }

    /// The database that is to be emptied, if there is another to take what it has.
    pub(crate) fn drained(&self, name: &str) -> Result<usize, MoveError> {
        let drained = self.member(name)?;
        if self.0.members.len() == 1 {
            return Err(MoveError::NoOther { name: name.into() });
        }
        Ok(drained)
    }

    /// What was begun with these slots, and not finished.
    pub(crate) async fn unfinished(&self, slots: &[Slot]) -> Result<Trips, MoveError> {
        let mut places = Vec::with_capacity(self.0.members.len());
        for member in &self.0.members {
            places.push(member.store.places().await?);
        }
        let mut trips = Trips::new();
        for slot in slots {
            for (from, places) in places.iter().enumerate() {
                let place = places.get(usize::from(slot.number())).cloned().unwrap_or_default();
                if place.standing == Standing::Leaving {
                    trips.entry((from, self.member(&place.peer)?)).or_default().push(*slot);
                }
            }
        }
        Ok(trips)
    }

    /// How many executions each slot has, by the slots' numbers.
    async fn executions(&self) -> Result<Vec<u64>, StoreError> {
        let mut counts = vec![0; usize::from(SLOTS)];
        let mut page = ListFilter { limit: PAGE, ..ListFilter::default() };
        loop {
            let rows = self.list(&page).await?;
            rows.iter().for_each(|row| counts[usize::from(Slot::of(row.id.as_str()).number())] += 1);
            match rows.last() {
                Some(last) if rows.len() == PAGE => page.after = Some(last.id.clone()),
                _ => return Ok(counts),
            }
        }
    }
}
