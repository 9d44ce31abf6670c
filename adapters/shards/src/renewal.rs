//! Renewals over all databases: one that is away takes nobody else's leases with it.
//! Not what a worker makes of them.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use loom_runtime::{
    ExecutionId, Timestamp,
    ports::{Place, Renewal, StoreError, WorkerId},
};
use tokio::time::{Instant, timeout_at};

use crate::{Shards, fleet::Member, map::Map};

/// How long the others are waited for once the first has answered: a beat's time is short, and those that have renewed
/// are to be known.
const OTHERS: Duration = Duration::from_secs(2);

/// What a database says: whose leases it has extended, and afterwards where its slots are.
type Answer = Result<(Vec<(ExecutionId, u64)>, Vec<Place>), StoreError>;

/// Databases that have not answered a worker's last renewal. It may look abandoned there, to itself too.
#[derive(Default)]
pub(crate) struct Unrenewed(Mutex<BTreeSet<(WorkerId, usize)>>);

impl Unrenewed {
    pub(crate) fn has(&self, worker: &WorkerId, member: usize) -> bool {
        self.all().contains(&(worker.clone(), member))
    }

    fn set(&self, worker: &WorkerId, member: usize, answered: bool) {
        let one = (worker.clone(), member);
        if answered {
            self.all().remove(&one)
        } else {
            self.all().insert(one)
        };
    }

    fn all(&self) -> MutexGuard<'_, BTreeSet<(WorkerId, usize)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shards {
    /// Renews wherever it can, and again if something has moved meanwhile, unless not all can be told anyhow.
    pub(crate) async fn renew_any(&self, worker: &WorkerId, until: Timestamp) -> Result<Renewal, StoreError> {
        loop {
            let answers = self.renew_each(worker, until).await;
            let failed = answers.iter().zip(&self.0.members);
            let failed =
                failed.filter_map(|(answer, member)| Some(member.named(answer.as_ref().err()?.clone())));
            let failed: Vec<StoreError> = failed.collect();
            for (n, answer) in answers.iter().enumerate() {
                self.0.unrenewed.set(worker, n, answer.is_ok());
            }
            let missing = failed.first().cloned();
            if failed.len() == answers.len()
                && let Some(error) = missing
            {
                return Err(error);
            }
            let names: Vec<&str> = self.0.members.iter().map(|member| member.name.as_str()).collect();
            let (held, places): (Vec<_>, Vec<_>) =
                answers.into_iter().map(|answer| answer.ok().unzip()).unzip();
            let map = Map::of(&places, &names);
            if missing.is_none() && map != *self.map() {
                self.look().await?;
                continue;
            }
            let held = held.into_iter().enumerate();
            let held = held.flat_map(|(n, held)| held.into_iter().flatten().map(move |one| (n, one)));
            let here = held.filter(|(n, (id, _))| map.has(*n, id.as_str()));
            let mut held: Vec<_> = here.map(|(_, one)| one).collect();
            held.sort_unstable();
            return Ok(Renewal { held, missing });
        }
    }

    /// What each database says, in their order.
    async fn renew_each(&self, worker: &WorkerId, until: Timestamp) -> Vec<Answer> {
        let mut answers: Vec<Option<Answer>> = self.0.members.iter().map(|_| None).collect();
        let ask = async |n: usize, member: &Member| -> (usize, Answer) {
            let renewed = async {
                let held = member.store.renew(worker, until).await?;
                Ok((held, member.store.places().await?))
            };
            (n, renewed.await)
        };
        let members = self.0.members.iter().enumerate();
        let mut asked: FuturesUnordered<_> = members.map(|(n, member)| ask(n, member)).collect();
        let mut deadline = None;
        loop {
            let next = match deadline {
                None => asked.next().await,
                Some(deadline) => timeout_at(deadline, asked.next()).await.unwrap_or(None),
            };
            let Some((n, answer)) = next else { break };
            if answer.is_ok() {
                deadline = deadline.or_else(|| Some(Instant::now() + OTHERS));
            }
            answers[n] = Some(answer);
        }
        let late = || StoreError::Unavailable(format!("no renewal within {OTHERS:?} of the others"));
        answers.into_iter().map(|answer| answer.unwrap_or_else(|| Err(late()))).collect()
    }
}
