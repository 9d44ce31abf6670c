//! Claims over all databases: the choice, and the counting of lanes.
//! Not what is due in one of them.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};

use futures_util::future::join_all;
use loom_runtime::ports::{ClaimRequest, Claimed, Due, Lane, LaneUse, LeaseStore, StoreError};
use tokio::time::Instant;

use crate::Shards;

/// Between two looks at the outboxes, for what a crash has left in them.
const SWEEP: Duration = Duration::from_secs(1);

/// What a database is asked for beyond the limit: its own idea of the order knows nothing of the others' lanes.
const MORE: usize = 64;

/// What was found due, and in which database.
type Found = (usize, Due);

/// A lane, or none, and the time of a rate.
type Line = (Option<String>, i64);

impl Shards {
    pub(crate) async fn claim_any(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        if request.limit == 0 {
            return Ok(Vec::new());
        }
        self.sweep_at_times().await;
        let mut due = self.due(request).await?;
        let is_bounded = |(_, due): &Found| due.row.turn.lane.as_ref().is_some_and(Lane::is_bounded);
        let _alone = if due.iter().any(is_bounded) {
            let alone = self.0.claims.lock().await;
            due = self.due(request).await?;
            Some(alone)
        } else {
            None
        };
        if due.is_empty() {
            return Ok(Vec::new());
        }
        let lines = self.lines(&due, request).await?;
        let chosen = choose(due, lines, request);
        let mut claimed = self.take(&chosen, request).await?;
        let ranks: HashMap<&str, usize> =
            chosen.iter().enumerate().map(|(n, (_, due))| (due.row.id.as_str(), n)).collect();
        claimed.sort_by_key(|claimed| ranks.get(claimed.row.id.as_str()).copied());
        self.hand_back_what_is_too_much(claimed, request).await
    }

    /// What is due, by database and in its order; one that fails holds the others up for no longer than it takes to fail.
    async fn due(&self, request: &ClaimRequest) -> Result<Vec<Found>, StoreError> {
        let wide =
            ClaimRequest { limit: request.limit.saturating_mul(4).saturating_add(MORE), ..request.clone() };
        // Where this worker's leases are not renewed, its own executions look abandoned.
        let members = (0..self.0.members.len()).filter(|n| !self.0.unrenewed.has(&request.worker, *n));
        let asked = members.map(async |n| (n, self.0.members[n].store.due(&wide).await));
        let asked = join_all(asked).await;
        let failed = asked.iter().all(|(_, answer)| answer.is_err());
        let mut found = Vec::new();
        for (n, answer) in asked {
            match answer {
                Ok(due) => found.extend(due.into_iter().map(|due| (n, due))),
                Err(error) if failed => return Err(error),
                Err(error) => {
                    tracing::warn!(database = %self.0.members[n].name, %error, "nothing is claimed from it");
                }
            }
        }
        Ok(found)
    }

    /// How the lanes of these stand, over all databases. Without any lane there is one line, in which nobody waits.
    async fn lines(
        &self,
        due: &[Found],
        request: &ClaimRequest,
    ) -> Result<BTreeMap<Line, LaneUse>, StoreError> {
        if due.iter().all(|(_, due)| due.row.turn.lane.is_none()) {
            return Ok(BTreeMap::new());
        }
        let asked: BTreeSet<Line> = due.iter().map(|(_, due)| line(due.row.turn.lane.as_ref())).collect();
        self.used(asked.into_iter().collect(), request).await
    }

    async fn used(
        &self,
        asked: Vec<Line>,
        request: &ClaimRequest,
    ) -> Result<BTreeMap<Line, LaneUse>, StoreError> {
        let members = self.0.members.iter().map(|member| member.store.lanes(&asked, request.now));
        let mut used: BTreeMap<Line, LaneUse> = BTreeMap::new();
        for answer in join_all(members).await {
            // What is not known of a lane is not let in: an error ends this claim.
            for (line, one) in asked.iter().zip(answer?) {
                let sum = used.entry(line.clone()).or_default();
                (sum.held, sum.begun) = (sum.held + one.held, sum.begun + one.begun);
            }
        }
        Ok(used)
    }

    /// Claims what was chosen: all that have no lane at once, since its database would choose the same.
    async fn take(&self, chosen: &[Found], request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        let mut all = Vec::with_capacity(chosen.len());
        let plain = chosen.iter().all(|(_, due)| due.row.turn.lane.is_none());
        if plain && request.execution.is_none() {
            let limit_of = |n| chosen.iter().filter(|(of, _)| *of == n).count();
            let limits = self.0.members.iter().enumerate().map(|(n, member)| (member, limit_of(n)));
            let requests: Vec<_> = limits
                .filter(|(_, limit)| *limit > 0)
                .map(|(member, limit)| (member, ClaimRequest { limit, ..request.clone() }))
                .collect();
            for answer in join_all(requests.iter().map(|(member, one)| member.store.claim(one))).await {
                keep(&mut all, answer)?;
            }
            return Ok(all);
        }
        for (n, due) in chosen {
            let one = ClaimRequest { execution: Some(due.row.id.clone()), limit: 1, ..request.clone() };
            keep(&mut all, self.0.members[*n].store.claim(&one).await)?;
        }
        Ok(all)
    }

    /// Another process may have claimed of the same lane at the same moment. Whoever sees more than the lane allows hands
    /// back what it has just claimed, before anybody runs it: of those who see it one at least does.
    async fn hand_back_what_is_too_much(
        &self,
        claimed: Vec<Claimed>,
        request: &ClaimRequest,
    ) -> Result<Vec<Claimed>, StoreError> {
        let of = |claimed: &Claimed| {
            Some((claimed.row.turn.lane.clone()?, claimed.row.turn.lane.as_ref()?.at_most?))
        };
        let asked: BTreeSet<Line> =
            claimed.iter().filter_map(of).map(|(lane, _)| (Some(lane.key), 0)).collect();
        if asked.is_empty() {
            return Ok(claimed);
        }
        let mut used = self.used(asked.into_iter().collect(), request).await?;
        let mut kept = Vec::with_capacity(claimed.len());
        // The last in line goes first.
        for one in claimed.into_iter().rev() {
            if let Some((lane, most)) = of(&one)
                && let Some(used) = used.get_mut(&(Some(lane.key), 0))
                && used.held > most.get().into()
            {
                used.held -= 1;
                self.release(&one.row.id, one.fence).await?;
                continue;
            }
            kept.push(one);
        }
        kept.reverse();
        Ok(kept)
    }

    async fn sweep_at_times(&self) {
        let Ok(mut swept) = self.0.swept.try_lock() else { return };
        if swept.is_none_or(|last| last.elapsed() >= SWEEP) {
            if let Err(error) = self.sweep().await {
                tracing::warn!(%error, "something waits in an outbox, and is delivered later");
            }
            *swept = Some(Instant::now());
        }
    }
}

/// A database that fails after others have answered must not take away what these have given.
fn keep(all: &mut Vec<Claimed>, answer: Result<Vec<Claimed>, StoreError>) -> Result<(), StoreError> {
    match answer {
        Ok(claimed) => all.extend(claimed),
        Err(error) if all.is_empty() => return Err(error),
        Err(error) => tracing::warn!(%error, "claimed less than was due"),
    }
    Ok(())
}

fn line(lane: Option<&Lane>) -> Line {
    let within = lane.and_then(|lane| lane.rate).map_or(0, |rate| rate.micros());
    (lane.map(|lane| lane.key.clone()), within)
}

/// The order of the turns over all: each lane lets its own in one after the other, as far as it has room.
fn choose(mut due: Vec<Found>, used: BTreeMap<Line, LaneUse>, request: &ClaimRequest) -> Vec<Found> {
    let rank =
        |(_, due): &Found| (Reverse(due.row.turn.priority), due.since(request.now), due.row.id.clone());
    due.sort_by_cached_key(rank);
    let mut admitted: HashMap<Option<String>, (u64, u64)> = HashMap::new();
    let mut chosen = Vec::with_capacity(due.len());
    for found in due {
        let turn = &found.1.row.turn;
        let lane = turn.lane.as_ref();
        let used = used.get(&line(lane)).copied().unwrap_or_default();
        let (running, begun) = admitted.entry(lane.map(|lane| lane.key.clone())).or_default();
        if let Some(lane) = lane {
            let is_full = lane.at_most.is_some_and(|most| used.held + *running >= most.get().into());
            let rate = lane.rate.filter(|_| found.1.begins);
            if is_full || rate.is_some_and(|rate| used.begun + *begun >= rate.begins.get().into()) {
                continue;
            }
        }
        *running += 1;
        *begun += u64::from(found.1.begins);
        let share = (used.held + *running) * 1_000_000 / lane.map_or(1, |lane| lane.weight.get().into());
        chosen.push(((Reverse(turn.priority), share), found));
    }
    // Stable: of equal shares the oldest stays first.
    chosen.sort_by_key(|(rank, _)| *rank);
    chosen.truncate(request.limit);
    chosen.into_iter().map(|(_, found)| found).collect()
}
