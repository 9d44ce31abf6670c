//! The in-memory store: every port, exactly as documented, behind one mutex.
//! Not durable, and not a mock: what it refuses, every store refuses.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use kernel::{
    Digest, ExecutionId, FrameId, Record, Snapshot, Status, Timestamp,
    planted::{Bug, planted},
};

use crate::ports::{
    Append, BatchId, BranchRegistry, BranchRow, Caveat, ClaimRequest, Claimed, Created, EventStore,
    ExecutionRow, GateChange, GateIndex, GateRow, GateState, Inbox, InboxId, InboxItem, Lease, LeaseStore,
    ListFilter, Membership, NewExecution, NewItem, Place, Posted, RESERVED, Removal, SetBranch, Slot,
    SnapshotStore, Standing, StoreError, TakeUp, WorkerId, item_content, next_position,
};

mod shard;

/// A complete store in memory, for tests and for programs that need no durability.
///
/// Clones share the data: two runtimes with clones of one `Memory` are two processes on one database.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use loom_runtime::{Memory, ports::{EventStore, ListFilter}};
/// let store = Memory::new();
/// assert!(store.clone().list(&ListFilter::default()).await?.is_empty());
/// # Ok::<(), loom_runtime::ports::StoreError>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug, Default)]
pub struct Memory(Arc<Mutex<Tables>>);

#[derive(Debug, Default)]
struct Tables {
    executions: BTreeMap<ExecutionId, Execution>,
    /// Early items, of executions that do not exist.
    early: BTreeMap<ExecutionId, Vec<Posting>>,
    branches: BTreeMap<String, BranchRow>,
    /// By what each is of and how many events it holds; `None` for one that is marked bad.
    snapshots: BTreeMap<(ExecutionId, String), BTreeMap<u64, Option<String>>>,
    /// When executions of a lane with a rate were claimed for the first time.
    begins: BTreeMap<String, Vec<Timestamp>>,
    /// The newest inbox position given out.
    inbox: InboxId,
    /// The fleet that it belongs to, if any, and then the place of every slot.
    member: Option<Membership>,
    places: Vec<Place>,
}

#[derive(Debug)]
struct Execution {
    row: ExecutionRow,
    /// The newest fence given out; stays when the lease goes.
    fence: u64,
    /// The newest inbox item that the last owner had read when it closed.
    seen: InboxId,
    records: Vec<Record>,
    /// The batch that created it, and its content.
    first: (BatchId, Digest),
    /// The batch applied last, and its content.
    last: (BatchId, Digest),
    inbox: Vec<Posting>,
    gates: Vec<GateRow>,
    /// The programs that are unfit for its current run.
    unfit: BTreeSet<Digest>,
}

#[derive(Debug)]
struct Posting {
    item: InboxItem,
    content: Digest,
    consumed: bool,
}

impl Memory {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        // Every change is checked before it is begun, so a panic elsewhere leaves no half of one behind.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl EventStore for Memory {
    async fn create(&self, new: NewExecution) -> Result<Created, StoreError> {
        let batch = (new.batch, new.content());
        let fence = u64::from(new.claim.is_some());
        let mut tables = self.tables();
        tables.see_to(&new.id)?;
        if let Some(existing) = tables.executions.get(&new.id) {
            return Ok(if existing.first == batch {
                Created::New { fence }
            } else {
                Created::Exists(Box::new(existing.row.clone()))
            });
        }
        let row = new.row();
        let opened_at = row.updated_at;
        let mut execution = Execution {
            row,
            fence,
            seen: 0,
            records: new.records,
            first: batch,
            last: batch,
            inbox: tables.early.remove(&new.id).unwrap_or_default(),
            gates: Vec::new(),
            unfit: BTreeSet::new(),
        };
        new.gates.iter().for_each(|change| execution.change_gate(change, opened_at));
        tables.executions.insert(new.id, execution);
        Ok(Created::New { fence })
    }

    async fn append(&self, append: &Append) -> Result<(), StoreError> {
        debug_assert!(append.begins_own_run(), "`{}` begins a run elsewhere", append.execution);
        let content = append.content();
        let mut tables = self.tables();
        tables.see_to(&append.execution)?;
        let execution = tables.of(&append.execution)?;
        if execution.last.0 == append.batch {
            let same = execution.last.1 == content;
            return if same { Ok(()) } else { Err(StoreError::BatchReused(append.execution.clone())) };
        }
        execution.admits(append)?;
        execution.apply(append, content);
        for item in &append.posts {
            // What the inbox does not take is dropped: that is the contract.
            let _ = tables.post(item.clone());
        }
        Ok(())
    }

    async fn read(
        &self,
        execution: &ExecutionId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        let mut tables = self.tables();
        tables.shows(execution)?;
        let Execution { row, records, .. } = tables.of(execution)?;
        let Some(from) = from.checked_sub(row.first) else {
            return Err(StoreError::Archived { execution: execution.clone(), first: row.first });
        };
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        Ok(records.iter().skip(from).take(limit).cloned().collect())
    }

    async fn get(&self, execution: &ExecutionId) -> Result<Option<ExecutionRow>, StoreError> {
        let tables = self.tables();
        tables.shows(execution)?;
        Ok(tables.executions.get(execution).map(|found| found.row.clone()))
    }

    async fn list(&self, filter: &ListFilter) -> Result<Vec<ExecutionRow>, StoreError> {
        let wanted = |row: &&ExecutionRow| {
            (filter.statuses.is_empty() || filter.statuses.contains(&row.status))
                && filter.flow.as_ref().is_none_or(|flow| *flow == row.flow)
                && filter.after.as_ref().is_none_or(|after| row.id > *after)
        };
        let limit = if filter.limit == 0 { usize::MAX } else { filter.limit };
        let tables = self.tables();
        Ok(tables.executions.values().map(|e| &e.row).filter(wanted).take(limit).cloned().collect())
    }

    async fn remove(&self, removal: &Removal) -> Result<bool, StoreError> {
        let mut tables = self.tables();
        let (id, until, status) = (&removal.execution, removal.until, removal.status);
        let pointed_to = tables.branches.values().any(|branch| branch.execution == *id);
        let execution = tables.of(id)?;
        if !removal.fits(&execution.row) || (pointed_to && status.is_terminal()) {
            return Ok(false);
        }
        execution.records.drain(..removal.len());
        execution.row.first = until;
        let last = removal.is_last();
        execution.gates.retain(|gate| !last && (gate.run >= until || gate.state == GateState::Open));
        if last {
            execution.inbox.clear();
            execution.unfit.clear();
        }
        for (_, kept) in tables.snapshots.iter_mut().filter(|((of, _), _)| of == id) {
            kept.retain(|sequence, _| !last && *sequence > until);
        }
        Ok(true)
    }

    async fn caveats(&self) -> Result<Vec<Caveat>, StoreError> {
        Ok(Caveat::of_part(self).await?.into_iter().collect())
    }
}

#[async_trait]
impl LeaseStore for Memory {
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        let mut tables = self.tables();
        let tables = &mut *tables;
        let chosen = tables.choose(request);
        let mut claimed = Vec::with_capacity(chosen.len());
        for (take_up, id) in chosen {
            let execution = tables.of(&id)?;
            let begins = execution.fence == 0;
            claimed.push(execution.claim(request, take_up));
            let lane = claimed.last().and_then(|claimed| claimed.row.turn.lane.as_ref());
            if let Some(lane) = lane.filter(|lane| begins && lane.rate.is_some()) {
                tables.begins.entry(lane.key.clone()).or_default().push(request.now);
            }
        }
        Ok(claimed)
    }

    async fn renew(
        &self,
        worker: &WorkerId,
        until: Timestamp,
    ) -> Result<Vec<(ExecutionId, u64)>, StoreError> {
        let mut held = Vec::new();
        for (id, execution) in &mut self.tables().executions {
            if let Some(lease) = execution.row.lease.as_mut().filter(|lease| lease.worker == *worker) {
                lease.until = lease.until.max(until);
                held.push((id.clone(), lease.fence));
            }
        }
        Ok(held)
    }

    async fn release(&self, execution: &ExecutionId, fence: u64) -> Result<(), StoreError> {
        if let Some(execution) = self.tables().executions.get_mut(execution) {
            execution.row.lease.take_if(|lease| lease.fence == fence);
        }
        Ok(())
    }

    async fn inbox_waiting(&self, worker: &WorkerId) -> Result<Vec<ExecutionId>, StoreError> {
        let waits = |execution: &&Execution| {
            execution.row.lease.as_ref().is_some_and(|lease| lease.worker == *worker)
                && execution.inbox.iter().any(|posting| !posting.consumed)
        };
        Ok(self.tables().executions.values().filter(waits).map(|e| e.row.id.clone()).collect())
    }
}

#[async_trait]
impl Inbox for Memory {
    async fn post(&self, item: NewItem) -> Result<Posted, StoreError> {
        self.tables().post(item)
    }

    async fn pending(&self, execution: &ExecutionId, after: InboxId) -> Result<Vec<InboxItem>, StoreError> {
        let tables = self.tables();
        let postings = tables.executions.get(execution).map_or(&[][..], |found| &found.inbox);
        let waits = |posting: &&Posting| !posting.consumed && posting.item.id > after;
        Ok(postings.iter().filter(waits).map(|posting| posting.item.clone()).collect())
    }

    async fn prune_early(&self, before: Timestamp, rehearsal: bool) -> Result<u64, StoreError> {
        let early = &mut self.tables().early;
        let free = |id: &ExecutionId| !id.as_str().starts_with(RESERVED);
        let old = early.iter().filter(|(id, _)| free(id)).flat_map(|(_, items)| items);
        let old = old.filter(|posting| posting.item.at < before).count();
        if !rehearsal {
            let pruned = early.iter_mut().filter(|(id, _)| free(id));
            pruned.for_each(|(_, items)| items.retain(|posting| posting.item.at >= before));
            early.retain(|_, items| !items.is_empty());
        }
        Ok(old as u64)
    }
}

#[async_trait]
impl GateIndex for Memory {
    async fn gates(&self, execution: Option<&ExecutionId>) -> Result<Vec<GateRow>, StoreError> {
        let tables = self.tables();
        Ok(match execution {
            Some(id) => tables.executions.get(id).map_or(Vec::new(), |found| found.gates.clone()),
            None => {
                let all = tables.executions.values().flat_map(|execution| &execution.gates);
                all.filter(|gate| gate.state == GateState::Open).cloned().collect()
            }
        })
    }
}

#[async_trait]
impl BranchRegistry for Memory {
    async fn branch(&self, name: &str) -> Result<Option<BranchRow>, StoreError> {
        Ok(self.tables().branches.get(name).cloned())
    }

    async fn branches(&self) -> Result<Vec<BranchRow>, StoreError> {
        Ok(self.tables().branches.values().cloned().collect())
    }

    async fn set_branch(&self, set: &SetBranch) -> Result<BranchRow, StoreError> {
        let mut tables = self.tables();
        tables.of(&set.execution)?;
        let (row, _) = set.on(tables.branches.get(&set.name))?;
        tables.branches.insert(set.name.clone(), row.clone());
        Ok(row)
    }
}

#[async_trait]
impl SnapshotStore for Memory {
    async fn put_snapshot(&self, snapshot: &Snapshot) -> Result<(), StoreError> {
        let mut tables = self.tables();
        tables.of(&snapshot.execution)?;
        let kept = tables.snapshots.entry((snapshot.execution.clone(), snapshot.of.clone())).or_default();
        let body = kept.entry(snapshot.sequence).or_insert_with(|| Some(String::new()));
        if let Some(body) = body {
            body.clone_from(&snapshot.body);
        }
        Ok(())
    }

    async fn newest_snapshot(
        &self,
        execution: &ExecutionId,
        of: &str,
        at_most: u64,
    ) -> Result<Option<Snapshot>, StoreError> {
        let tables = self.tables();
        let kept = tables
            .snapshots
            .get(&(execution.clone(), of.to_owned()))
            .into_iter()
            .flat_map(|kept| kept.range(..=at_most).rev());
        Ok(kept.filter_map(|(sequence, body)| Some((sequence, body.as_ref()?))).next().map(
            |(sequence, body)| Snapshot {
                execution: execution.clone(),
                of: of.to_owned(),
                sequence: *sequence,
                body: body.clone(),
            },
        ))
    }

    async fn mark_snapshot_bad(
        &self,
        execution: &ExecutionId,
        of: &str,
        sequence: u64,
    ) -> Result<(), StoreError> {
        let (mut tables, which) = (self.tables(), (execution.clone(), of.to_owned()));
        if let Some(body) = tables.snapshots.get_mut(&which).and_then(|kept| kept.get_mut(&sequence)) {
            *body = None;
        }
        Ok(())
    }

    async fn prune_snapshots(
        &self,
        execution: &ExecutionId,
        of: &str,
        keep: usize,
    ) -> Result<(), StoreError> {
        let (mut tables, which) = (self.tables(), (execution.clone(), of.to_owned()));
        let Some(kept) = tables.snapshots.get_mut(&which) else { return Ok(()) };
        let good = kept.iter().rev().filter(|(_, body)| body.is_some()).map(|(sequence, _)| *sequence);
        let old: Vec<u64> = good.skip(keep).collect();
        old.iter().for_each(|sequence| drop(kept.remove(sequence)));
        Ok(())
    }
}

/// The lanes as a claim finds them, and what it has let in.
struct Lines<'a> {
    /// Leases by lane; those of executions without one too.
    held: BTreeMap<Option<&'a str>, u64>,
    begins: &'a BTreeMap<String, Vec<Timestamp>>,
    now: Timestamp,
    /// Let in by lane: in all, and for the first time.
    admitted: BTreeMap<Option<&'a str>, (u64, u64)>,
}

impl<'a> Lines<'a> {
    fn new(
        executions: &'a BTreeMap<ExecutionId, Execution>,
        begins: &'a BTreeMap<String, Vec<Timestamp>>,
        now: Timestamp,
    ) -> Self {
        let mut held = BTreeMap::new();
        for Execution { row, .. } in executions.values() {
            if row.lease.as_ref().is_some_and(|lease| lease.until >= now) {
                *held.entry(row.turn.lane.as_ref().map(|lane| lane.key.as_str())).or_default() += 1;
            }
        }
        Self { held, begins, now, admitted: BTreeMap::new() }
    }

    /// Lets the next in line in, unless its lane holds it back; answers its lane's share with it.
    fn admit(&mut self, execution: &'a Execution) -> Option<u64> {
        let lane = execution.row.turn.lane.as_ref();
        let key = lane.map(|lane| lane.key.as_str());
        let held = self.held.get(&key).copied().unwrap_or_default();
        let (running, begun) = self.admitted.entry(key).or_default();
        let begins = execution.fence == 0;
        if let Some(lane) = lane {
            if lane.at_most.is_some_and(|most| held + *running >= most.get().into()) {
                return None;
            }
            if let Some(rate) = lane.rate.filter(|_| begins) {
                let since = self.now.as_micros().saturating_sub(rate.micros());
                let recent = self
                    .begins
                    .get(&lane.key)
                    .map_or(0, |begins| begins.iter().filter(|at| at.as_micros() > since).count() as u64);
                if recent + *begun >= rate.begins.get().into() {
                    return None;
                }
            }
        }
        *running += 1;
        *begun += u64::from(begins);
        Some((held + *running) * 1_000_000 / lane.map_or(1, |lane| lane.weight.get().into()))
    }
}

impl Tables {
    /// Refuses what is in another store of the fleet.
    fn see_to(&self, id: &ExecutionId) -> Result<(), StoreError> {
        if self.is_here(id) { Ok(()) } else { Err(StoreError::Elsewhere(id.clone())) }
    }

    /// The same for who reads: what is frozen is read.
    fn shows(&self, id: &ExecutionId) -> Result<(), StoreError> {
        match self.places.get(usize::from(Slot::of(id.as_str()).number())) {
            Some(place) if !place.standing.is_read() => Err(StoreError::Elsewhere(id.clone())),
            _ => Ok(()),
        }
    }

    fn is_here(&self, id: &ExecutionId) -> bool {
        let place = self.places.get(usize::from(Slot::of(id.as_str()).number()));
        place.is_none_or(|place| place.standing == Standing::Here)
    }

    /// What a claim takes, in order of the turns.
    fn choose(&self, request: &ClaimRequest) -> Vec<(TakeUp, ExecutionId)> {
        let wanted = |row: &ExecutionRow| {
            request.execution.as_ref().is_none_or(|id| *id == row.id)
                && request.flows.as_ref().is_none_or(|flows| flows.contains(&row.flow))
                && self.is_here(&row.id)
        };
        let mut lines = Lines::new(&self.executions, &self.begins, request.now);
        let mut due: Vec<_> = self
            .executions
            .values()
            .filter(|execution| wanted(&execution.row) && !execution.is_left_to_others(request))
            .filter_map(|execution| execution.due(request.now).map(|(since, why)| (since, why, execution)))
            .collect();
        // Stable, and the map is sorted: equals stay in order of their ids.
        due.sort_by_key(|(since, _, execution)| (Reverse(execution.row.turn.priority), *since));
        let mut chosen: Vec<_> = due
            .into_iter()
            .filter_map(|(since, why, execution)| {
                let share = lines.admit(execution)?;
                let rank = (Reverse(execution.row.turn.priority), share, since);
                Some((rank, why, execution.row.id.clone()))
            })
            .collect();
        chosen.sort_by_key(|(rank, ..)| *rank);
        chosen.truncate(request.limit);
        chosen.into_iter().map(|(_, why, id)| (why, id)).collect()
    }

    fn of(&mut self, id: &ExecutionId) -> Result<&mut Execution, StoreError> {
        self.executions.get_mut(id).ok_or_else(|| StoreError::Unknown(id.clone()))
    }

    fn post(&mut self, item: NewItem) -> Result<Posted, StoreError> {
        self.see_to(&item.execution)?;
        let id = next_position(self.inbox, self.member.as_ref().map(|member| member.ordinal));
        let content = item_content(&item.kind, &item.payload);
        let (inbox, status) = match self.executions.get_mut(&item.execution) {
            Some(execution) => (&mut execution.inbox, Some(execution.row.status)),
            None if item.early => (self.early.entry(item.execution.clone()).or_default(), None),
            None => return Err(StoreError::Unknown(item.execution)),
        };
        let keyed = item.key.is_some() && !planted(Bug::DuplicatedResume);
        let used = |posting: &&Posting| keyed && posting.item.key == item.key;
        if let Some(first) = inbox.iter().find(used) {
            return Ok(Posted::Duplicate { same: first.content == content });
        }
        if let Some(status) = status.filter(|status| status.is_terminal()) {
            return Err(StoreError::Terminal { execution: item.execution, status });
        }
        let NewItem { key, kind, payload, at, .. } = item;
        inbox.push(Posting { item: InboxItem { id, key, kind, payload, at }, content, consumed: false });
        self.inbox = id;
        Ok(Posted::Accepted(id))
    }
}

impl Execution {
    /// The checks of an append after the one for a retry, in the documented order.
    fn admits(&self, append: &Append) -> Result<(), StoreError> {
        let execution = || append.execution.clone();
        let owned = self.row.lease.as_ref().is_some_and(|lease| lease.fence == append.fence);
        if !owned && !planted(Bug::FenceIgnored) {
            let (presented, current) = (append.fence, self.fence);
            return Err(StoreError::Fenced { execution: execution(), presented, current });
        }
        if append.expected_next != self.row.next || !append.is_dense() {
            let (expected, found) = (append.expected_next, self.row.next);
            return Err(StoreError::Conflict { execution: execution(), expected, found });
        }
        let newer = |seen: InboxId| {
            let mut pending = self.inbox.iter().filter(|posting| !posting.consumed).map(|p| p.item.id);
            pending.any(|id| id > seen && !append.consumed.contains(&id))
        };
        match &append.close {
            Some(close) if newer(close.seen) && !planted(Bug::WakeLost) => {
                Err(StoreError::InboxMoved(execution()))
            }
            _ => Ok(()),
        }
    }

    fn apply(&mut self, append: &Append, content: Digest) {
        self.records.extend(append.records.iter().cloned());
        self.last = (append.batch, content);
        self.row.base = append.run.unwrap_or(self.row.base);
        if append.run.is_some() {
            self.unfit.clear();
        }
        for change in &append.gates {
            self.change_gate(change, append.at);
        }
        for posting in &mut self.inbox {
            posting.consumed |= append.consumed.contains(&posting.item.id);
        }
        let row = &mut self.row;
        (row.next, row.updated_at) = (row.first + self.records.len() as u64, append.at);
        if append.progress {
            row.takeovers = 0;
        }
        if let Some(close) = &append.close {
            row.status = close.status;
            row.wake_at = close.wake_at.filter(|_| close.status == Status::Suspended);
            row.lease = None;
            self.seen = if planted(Bug::WakeLost) { self.newest() } else { close.seen };
            self.unfit.extend(close.unfit);
        }
    }

    fn change_gate(&mut self, change: &GateChange, at: Timestamp) {
        let run = self.row.base;
        let mut end = |which: Option<&FrameId>, state| {
            let open = self.gates.iter_mut().filter(|gate| gate.state == GateState::Open);
            open.filter(|gate| which.is_none_or(|frame| gate.frame == *frame))
                .for_each(|gate| gate.state = state);
        };
        match change {
            GateChange::Opened { frame, gate, schema, expires_at } => {
                if self.gates.iter().all(|opened| (opened.run, &opened.frame) != (run, frame)) {
                    self.gates.push(GateRow {
                        execution: self.row.id.clone(),
                        run,
                        frame: frame.clone(),
                        gate: gate.clone(),
                        schema: schema.clone(),
                        opened_at: at,
                        expires_at: *expires_at,
                        state: GateState::Open,
                    });
                }
            }
            GateChange::Closed { frame, state } => end(Some(frame), *state),
            GateChange::AbandonAll => end(None, GateState::Abandoned),
        }
    }

    fn newest(&self) -> InboxId {
        self.inbox.last().map_or(0, |posting| posting.item.id)
    }

    /// The items that call it, closed as it is.
    fn calls(&self) -> impl Iterator<Item = &InboxItem> {
        let newer = |posting: &&Posting| !posting.consumed && posting.item.id > self.seen;
        self.inbox.iter().filter(newer).map(|posting| &posting.item)
    }

    fn is_left_to_others(&self, request: &ClaimRequest) -> bool {
        let Some((program, since)) = request.program.filter(|_| request.execution.is_none()) else {
            return false;
        };
        let row = &self.row;
        let due = match (row.status, &row.lease) {
            (Status::Running, lease) => Some(lease.as_ref().map_or(row.updated_at, |lease| lease.until)),
            _ => {
                let woken = row.wake_at.filter(|at| *at <= request.now);
                woken.or_else(|| self.calls().map(|item| item.at).min())
            }
        };
        self.unfit.contains(&program) && due.is_none_or(|due| due > since)
    }

    /// By when it goes before others, and why it is due; `None` when it is not.
    fn due(&self, now: Timestamp) -> Option<(Timestamp, TakeUp)> {
        let row = &self.row;
        let called = || self.calls().next().is_some();
        match (row.status, &row.lease) {
            (Status::Running, None) => Some((row.created_at, TakeUp::Unowned)),
            (Status::Running, Some(lease)) => {
                (lease.until < now).then_some((row.created_at, TakeUp::TakenOver))
            }
            (Status::Suspended, _) => match row.wake_at.filter(|wake_at| *wake_at <= now) {
                Some(wake_at) => Some((wake_at, TakeUp::Woken)),
                None => called().then_some((row.created_at, TakeUp::Woken)),
            },
            (Status::Parked, _) => called().then_some((row.created_at, TakeUp::Retried)),
            _ => None,
        }
    }

    fn claim(&mut self, request: &ClaimRequest, take_up: TakeUp) -> Claimed {
        self.fence += 1;
        let (row, fence) = (&mut self.row, self.fence);
        row.status = Status::Running;
        (row.wake_at, row.updated_at) = (None, request.now);
        row.lease = Some(Lease { worker: request.worker.clone(), fence, until: request.until });
        row.takeovers += u32::from(take_up == TakeUp::TakenOver);
        Claimed { row: row.clone(), fence, take_up }
    }
}
