//! One pass: finds what is due, asks what holds it, archives, removes.
//! Not the policy, and not the checks of a removal: those are the store's.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use kernel::{Envelope, Event, ExecutionId, FrameKind, Parent, Snapshot};

use super::{Held, HeldBy, Keep, Pinned, Reason, Retention, RetentionError, RetentionReport, Tally};
use crate::{
    FrozenLog,
    ports::{ExecutionRow, ListFilter, Removal, Store, StoreError},
};

/// How many rows are listed at a time.
const ROWS: usize = 500;
/// How many events are a segment at most, and so one transaction.
const EVENTS: usize = 1_000;
/// How many generations of a tree are looked up.
const DEPTH: usize = 64;

pub(super) struct Pass {
    retention: Retention,
    store: Arc<dyn Store>,
    /// The branches, by what they point to.
    branches: BTreeMap<ExecutionId, String>,
    /// The execution whose children were asked about last, how many events it had, and they: siblings come together.
    children: Option<(ExecutionId, u64, BTreeSet<ExecutionId>)>,
    held: BTreeMap<HeldBy, u64>,
    report: RetentionReport,
}

impl Pass {
    pub(super) fn new(retention: Retention, rehearsal: bool) -> Self {
        let report = RetentionReport { rehearsal, ..RetentionReport::default() };
        let store = retention.app.store();
        Self { retention, store, branches: BTreeMap::new(), children: None, held: BTreeMap::new(), report }
    }

    pub(super) async fn go(mut self) -> Result<RetentionReport, RetentionError> {
        let branches = self.store.branches().await?;
        self.branches = branches.into_iter().map(|branch| (branch.execution, branch.name)).collect();
        let mut page = ListFilter { limit: ROWS, ..ListFilter::default() };
        loop {
            let rows = self.store.list(&page).await?;
            let Some(last) = rows.last() else { break };
            page.after = Some(last.id.clone());
            for row in &rows {
                match self.see_to(row).await {
                    // It stays, and holds nobody else up.
                    Err(RetentionError::Store(StoreError::Corrupt(_))) => {
                        self.hold(HeldBy::Unreadable(row.id.clone()))
                    }
                    done => done?,
                }
            }
        }
        if let Keep::For(age) = self.retention.policy.early_messages {
            self.report.early_messages = self.retention.app.prune_early(age, self.report.rehearsal).await?;
        }
        let held = self.held.into_iter();
        self.report.held = held.map(|(by, executions)| Held { by, executions }).collect();
        Ok(self.report)
    }

    async fn see_to(&mut self, row: &ExecutionRow) -> Result<(), RetentionError> {
        let due = row.removable() > row.first && self.is_over(row).await?;
        let held = if due { self.holds(row).await? } else { None };
        match held {
            Some(by) => self.hold(by),
            None if due => return self.move_out(row).await,
            None => {}
        }
        if let Some(keep) = self.retention.policy.snapshots.filter(|_| row.status.is_terminal()) {
            self.prune_snapshots(&row.id, keep).await?;
        }
        Ok(())
    }

    fn hold(&mut self, by: HeldBy) {
        *self.held.entry(by).or_default() += 1;
    }

    /// Whether its time is over.
    async fn is_over(&self, row: &ExecutionRow) -> Result<bool, StoreError> {
        let keep = self.retention.policy.keep(&row.flow, row.status);
        if keep == Keep::Forever {
            return Ok(false);
        }
        let since = match row.status.is_terminal() {
            true => Some(row.updated_at),
            false => match self.store.read(&row.id, row.base, 1).await {
                Err(StoreError::Archived { .. }) => None, // it has gone on, and another pass was faster
                read => read?.first().map(|begun| begun.at),
            },
        };
        Ok(since.is_some_and(|since| keep.is_over(self.retention.app.now().since(since))))
    }

    /// What holds it back, if anything does.
    async fn holds(&mut self, row: &ExecutionRow) -> Result<Option<HeldBy>, StoreError> {
        if self.pinned(&Pinned::Execution(row.id.clone())) {
            return Ok(Some(HeldBy::Execution(row.id.clone())));
        }
        if row.status.is_terminal()
            && let Some(branch) = self.branches.get(&row.id)
        {
            return Ok(Some(HeldBy::Branch(branch.clone())));
        }
        let mut member = row.clone();
        for generation in 0..DEPTH {
            if self.pinned(&Pinned::Tree(member.id.clone())) {
                return Ok(Some(HeldBy::Tree(member.id)));
            }
            let parent = match self.parent(&member).await {
                Ok(Some(parent)) => parent,
                // Of one that a killed pass has begun to archive: that pass had asked before.
                Ok(None) | Err(StoreError::Archived { .. }) => return Ok(None),
                Err(StoreError::Corrupt(_)) => return Ok(Some(HeldBy::Unreadable(member.id))),
                Err(error) => return Err(error),
            };
            let Some(above) = self.store.get(&parent.execution).await? else { return Ok(None) };
            if generation == 0 && row.status.is_terminal() && !above.status.is_terminal() {
                match self.has(&above, &row.id).await {
                    Ok(true) => return Ok(Some(HeldBy::Parent(above.id))),
                    Ok(false) => {}
                    Err(StoreError::Corrupt(_) | StoreError::Archived { .. }) => {
                        return Ok(Some(HeldBy::Unreadable(above.id)));
                    }
                    Err(error) => return Err(error),
                }
            }
            let trees = self.retention.policy.pins.iter().any(|pin| matches!(pin, Pinned::Tree(_)));
            if !trees {
                break;
            }
            member = above;
        }
        Ok(None)
    }

    fn pinned(&self, pin: &Pinned) -> bool {
        self.retention.policy.pins.contains(pin)
    }

    /// Who started it. A fork has nobody's frame, whatever it has copied.
    async fn parent(&self, row: &ExecutionRow) -> Result<Option<Parent>, StoreError> {
        let first = row.replayable().unwrap_or(row.first);
        let record = self.store.read(&row.id, first, 1).await?;
        let Some(record) = record.first() else { return Ok(None) };
        let event =
            Envelope::decode(&row.id, record).map_err(|error| StoreError::Corrupt(error.to_string()))?;
        Ok(match event.event {
            Event::ExecutionStarted(started) => started.parent,
            Event::ContinuedAsNew(run) => run.parent,
            _ => None,
        })
    }

    /// Whether the current run of a parent has this child.
    async fn has(&mut self, parent: &ExecutionRow, child: &ExecutionId) -> Result<bool, StoreError> {
        let known = self.children.take().filter(|(id, next, _)| (id, *next) == (&parent.id, parent.next));
        let (.., children) = match known {
            Some(known) => self.children.insert(known),
            None => {
                let state = self.retention.app.state(&parent.id, None).await?;
                let children = state.frames.into_values().filter_map(|frame| match frame.kind {
                    FrameKind::Child { child, .. } => Some(child),
                    _ => None,
                });
                self.children.insert((parent.id.clone(), parent.next, children.collect()))
            }
        };
        Ok(children.contains(child))
    }

    /// Archives what is due of an execution, and removes it, a segment at a time.
    async fn move_out(&mut self, row: &ExecutionRow) -> Result<(), RetentionError> {
        let ExecutionRow { id: execution, status, next, .. } = row.clone();
        let (mut first, end) = (row.first, row.removable());
        let mut tally = Tally { executions: 1, ..Tally::default() };
        while first < end {
            let most = usize::try_from(end - first).unwrap_or(EVENTS).min(EVENTS);
            let records = match self.store.read(&execution, first, most).await {
                Ok(records) if !records.is_empty() => records,
                Ok(_) | Err(StoreError::Archived { .. }) => {
                    self.report.moved += 1;
                    break;
                }
                Err(StoreError::Corrupt(_)) => {
                    self.hold(HeldBy::Unreadable(execution.clone()));
                    break;
                }
                Err(error) => return Err(error.into()),
            };
            let until = first + records.len() as u64;
            let bytes = records.iter().map(|r| r.kind.len() + r.payload.len() + r.meta.len()).sum::<usize>();
            let segment = FrozenLog { execution: execution.clone(), records };
            if !self.report.rehearsal {
                let Some(archive) = &self.retention.archive else {
                    return Err(RetentionError::NoArchive { execution });
                };
                if archive.put(&segment).await? != segment.digest() {
                    return Err(RetentionError::Unconfirmed { execution });
                }
                let removal = Removal { execution: execution.clone(), status, next, first, until };
                if !self.store.remove(&removal).await? {
                    self.report.moved += 1;
                    break;
                }
            }
            tally.events += until - first;
            tally.bytes += bytes as u64;
            first = until;
        }
        if tally.events > 0 {
            let all = self.report.removed.entry(Reason::of(status)).or_default();
            all.executions += tally.executions;
            all.events += tally.events;
            all.bytes += tally.bytes;
        }
        Ok(())
    }

    /// Forgets all but the newest snapshots, of its state and of each projection of this program.
    async fn prune_snapshots(&mut self, id: &ExecutionId, keep: usize) -> Result<(), StoreError> {
        let projections = self.retention.app.registry().projections();
        let projections = projections.map(|projection| format!("projection:{}", projection.name));
        for of in std::iter::once(Snapshot::STATE.to_owned()).chain(projections) {
            let (mut count, mut at_most) = (0, u64::MAX);
            while let Some(snapshot) = self.store.newest_snapshot(id, &of, at_most).await? {
                count += 1;
                match snapshot.sequence.checked_sub(1) {
                    Some(below) => at_most = below,
                    None => break,
                }
            }
            if count > keep {
                self.report.snapshots += (count - keep) as u64;
                if !self.report.rehearsal {
                    self.store.prune_snapshots(id, &of, keep).await?;
                }
            }
        }
        Ok(())
    }
}
