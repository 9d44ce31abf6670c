//! The fleet: its databases, how they came together, and what is where.
//! Not the ports: those are in `store`.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use futures_util::future::join_all;
use loom_runtime::ports::{ListFilter, MEMBERS, Membership, SLOTS, Shard, Slot, StoreError};
use tokio::{sync::Mutex, time::Instant};

use crate::{MoveError, OpenError, branch, map::Map, renewal::Unrenewed};

/// Several databases as one store. Clones share it; any number of processes may open the same ones.
#[derive(Clone)]
pub struct Shards(pub(crate) Arc<Fleet>);

pub(crate) struct Fleet {
    /// In order of their names.
    pub(crate) members: Vec<Member>,
    pub(crate) map: RwLock<Arc<Map>>,
    pub(crate) patience: Duration,
    /// Held by whoever claims from lanes that bound something.
    pub(crate) claims: Mutex<()>,
    /// When the outboxes were last looked at.
    pub(crate) swept: Mutex<Option<Instant>>,
    /// Held by whoever delivers what a slot's outbox has.
    pub(crate) outboxes: Vec<Mutex<()>>,
    /// Which databases have not renewed a worker's leases when it last asked.
    pub(crate) unrenewed: Unrenewed,
}

pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) store: Arc<dyn Shard>,
}

impl Member {
    /// What it says, and who says it.
    pub(crate) fn named(&self, error: StoreError) -> StoreError {
        let name = &self.name;
        match error {
            StoreError::Unavailable(why) => StoreError::Unavailable(format!("database `{name}`: {why}")),
            StoreError::Corrupt(what) => StoreError::Corrupt(format!("database `{name}`: {what}")),
            error => error,
        }
    }
}

/// How to open a fleet. The defaults suit most programs.
#[derive(Clone, Debug)]
pub struct Options {
    patience: Duration,
}

impl Options {
    /// How long a call waits for a slot that is being moved before it fails as unavailable; 10 s unless told. Workers go
    /// on after that too, they ask again.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Opens databases together, as [`Shards::open`] does.
    ///
    /// # Errors
    /// [`OpenError`] says which database does not fit.
    pub async fn open<N: Into<String>, S: Shard>(
        self,
        members: impl IntoIterator<Item = (N, S)>,
    ) -> Result<Shards, OpenError> {
        self.open_any(members.into_iter().map(|(name, store)| (name, Arc::new(store) as _))).await
    }

    /// The same for databases of different kinds.
    ///
    /// # Errors
    /// [`OpenError`] says which database does not fit.
    pub async fn open_any<N: Into<String>>(
        self,
        members: impl IntoIterator<Item = (N, Arc<dyn Shard>)>,
    ) -> Result<Shards, OpenError> {
        let members = members.into_iter().map(|(name, store)| Member { name: name.into(), store });
        let mut members: Vec<Member> = members.collect();
        members.sort_by(|a, b| a.name.cmp(&b.name));
        check_names(&members)?;
        found(&members).await?;
        let shards = Shards(Arc::new(Fleet {
            members,
            map: RwLock::default(),
            patience: self.patience,
            claims: Mutex::default(),
            swept: Mutex::default(),
            outboxes: (0..SLOTS).map(|_| Mutex::default()).collect(),
            unrenewed: Unrenewed::default(),
        }));
        let failed = |error| OpenError::Store { name: "fleet".into(), error };
        let map = shards.look().await.map_err(failed)?;
        let missing: Vec<Slot> = Slot::all().filter(|slot| map.home(*slot).is_none()).collect();
        if let [first, ..] = &*missing {
            return Err(OpenError::Missing { slots: missing.len(), first: first.number() });
        }
        branch::adopt(&shards).await.map_err(failed)?;
        Ok(shards)
    }
}

impl Shards {
    /// Opens databases together. Each has a name, which it keeps for good: connecting may change, the name may not.
    ///
    /// Those that know no fleet yet become members. The first time, the one that has executions gets every slot; if all
    /// are empty, the first by name does, and [`spread`](Self::spread) distributes them. One that joins later has to be
    /// empty, and has nothing until slots are moved to it. A database that has no slot left may be left out again.
    ///
    /// # Errors
    /// [`OpenError`] says which database does not fit.
    pub async fn open<N: Into<String>, S: Shard>(
        members: impl IntoIterator<Item = (N, S)>,
    ) -> Result<Self, OpenError> {
        Self::options().open(members).await
    }

    /// Options, to open otherwise, and databases of different kinds.
    pub fn options() -> Options {
        Options { patience: Duration::from_secs(10) }
    }

    /// How many slots each database has, in order of their names.
    ///
    /// # Errors
    /// A database that fails.
    pub async fn census(&self) -> Result<Vec<Population>, StoreError> {
        let map = self.look().await?;
        let count = |(n, member): (usize, &Member)| Population {
            name: member.name.clone(),
            slots: Slot::all().filter(|slot| map.home(*slot).is_some_and(|home| home.member == n)).count(),
        };
        Ok(self.0.members.iter().enumerate().map(count).collect())
    }

    /// The database that has an execution of this id, or would have it.
    ///
    /// # Errors
    /// A database that fails; [`StoreError::Unavailable`] when none says that it has the slot.
    pub async fn home_of(&self, id: &str) -> Result<String, StoreError> {
        self.look().await?;
        Ok(self.0.members[self.home(Slot::of(id)).await?.member].name.clone())
    }

    /// Asks every database for its places, and remembers them. Those that do not answer are left out, unless none does.
    pub(crate) async fn look(&self) -> Result<Arc<Map>, StoreError> {
        let answers = join_all(self.0.members.iter().map(|member| member.store.places())).await;
        if let Some(Err(error)) = answers.first()
            && answers.iter().all(Result::is_err)
        {
            return Err(error.clone());
        }
        let names: Vec<&str> = self.0.members.iter().map(|member| member.name.as_str()).collect();
        let places: Vec<_> = answers.into_iter().map(Result::ok).collect();
        let map = Arc::new(Map::of(&places, &names));
        *self.0.map.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&map);
        Ok(map)
    }

    /// As last seen.
    pub(crate) fn map(&self) -> Arc<Map> {
        Arc::clone(&self.0.map.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn member(&self, name: &str) -> Result<usize, MoveError> {
        let found = self.0.members.iter().position(|member| member.name == name);
        found.ok_or_else(|| MoveError::NoSuchMember {
            name: name.into(),
            known: self
                .0
                .members
                .iter()
                .map(|member| format!("`{}`", member.name))
                .collect::<Vec<_>>()
                .join(", "),
        })
    }
}

impl fmt::Debug for Shards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.members.iter().map(|member| &member.name)).finish()
    }
}

/// A database, and what it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Population {
    /// Its name.
    pub name: String,
    /// How many of the 1,024 slots.
    pub slots: usize,
}

fn check_names(members: &[Member]) -> Result<(), OpenError> {
    if members.is_empty() {
        return Err(OpenError::None);
    }
    if members.len() > usize::from(MEMBERS) {
        return Err(OpenError::TooMany { found: members.len(), most: MEMBERS });
    }
    match members.windows(2).find(|two| two[0].name == two[1].name) {
        Some(two) => Err(OpenError::SameName { name: two[0].name.clone() }),
        None => Ok(()),
    }
}

/// Makes members of those that are none. Who opens the same databases at once does the same.
async fn found(members: &[Member]) -> Result<(), OpenError> {
    let mut known = Vec::new();
    for member in members {
        let of = |error| OpenError::Store { name: member.name.clone(), error };
        known.push(member.store.membership().await.map_err(of)?);
    }
    let mut full = BTreeSet::new();
    for (n, member) in members.iter().enumerate().filter(|(n, _)| known[*n].is_none()) {
        let any = ListFilter { limit: 1, ..ListFilter::default() };
        let of = |error| OpenError::Store { name: member.name.clone(), error };
        if !member.store.list(&any).await.map_err(of)?.is_empty() {
            full.insert(n);
        }
    }
    let fleet = known.iter().flatten().next().map(|found| found.fleet.clone());
    let founder = if fleet.is_none() { Some(full.first().copied().unwrap_or(0)) } else { None };
    if let Some(n) = full.iter().find(|n| Some(**n) != founder) {
        return Err(OpenError::NotEmpty { name: members[*n].name.clone() });
    }
    let mut fleet = fleet.unwrap_or_else(|| uuid::Uuid::now_v7().to_string());
    // The founder first: whoever comes at the same time finds its fleet.
    let mut order: Vec<usize> = (0..members.len()).collect();
    order.sort_by_key(|n| (known[*n].is_none(), Some(*n) != founder));
    let mut joined: Vec<Membership> = Vec::new();
    for n in order {
        let member = &members[n];
        let of = |error| OpenError::Store { name: member.name.clone(), error };
        let is_taken = |ordinal: &u16| joined.iter().any(|other| other.ordinal == *ordinal);
        let ordinal = (0..MEMBERS).find(|ordinal| !is_taken(ordinal)).unwrap_or(0);
        let wanted = Membership { name: member.name.clone(), fleet: fleet.clone(), ordinal };
        let mut above = 0;
        if known[n].is_none() {
            for other in members {
                above = above.max(other.store.newest().await.map_err(of)?);
            }
        }
        let is = member.store.join(&wanted, Some(n) == founder, above).await.map_err(of)?;
        if is.name != member.name {
            return Err(OpenError::OtherName { found: is.name, given: member.name.clone() });
        }
        if let Some(other) = joined.iter().find(|other| other.fleet != is.fleet) {
            return Err(OpenError::OtherFleet { one: other.name.clone(), other: is.name });
        }
        if let Some(other) = joined.iter().find(|other| other.ordinal == is.ordinal) {
            return Err(OpenError::AddedAtOnce { one: other.name.clone(), other: is.name });
        }
        fleet.clone_from(&is.fleet);
        joined.push(is);
    }
    Ok(())
}
