//! An archive in memory.
//! Not durable: for tests, and for programs whose store is in memory too.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use kernel::{Digest, ExecutionId};

use super::join;
use crate::{
    FrozenLog,
    ports::{ArchiveError, ArchiveStore},
};

type Segments = BTreeMap<(ExecutionId, u64, u64), FrozenLog>;

/// An archive that is gone with its last clone.
#[derive(Clone, Debug, Default)]
pub struct MemoryArchive(Arc<Mutex<Segments>>);

impl MemoryArchive {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    fn segments(&self) -> MutexGuard<'_, Segments> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl ArchiveStore for MemoryArchive {
    async fn put(&self, segment: &FrozenLog) -> Result<Digest, ArchiveError> {
        let (from, until) = segment.range();
        let execution = segment.execution.clone();
        match self.segments().entry((execution.clone(), from, until)) {
            Entry::Occupied(kept) if kept.get() != segment => {
                Err(ArchiveError::Conflict { execution, from, until })
            }
            kept => Ok(kept.or_insert_with(|| segment.clone()).digest()),
        }
    }

    async fn read(&self, execution: &ExecutionId) -> Result<Option<FrozenLog>, ArchiveError> {
        let segments = self.segments();
        let mut of = segments.iter().filter(|((id, ..), _)| id == execution).map(|(_, kept)| kept.clone());
        let Some(mut log) = of.next() else { return Ok(None) };
        of.for_each(|segment| join(&mut log, segment));
        Ok(Some(log))
    }

    async fn executions(&self) -> Result<Vec<ExecutionId>, ArchiveError> {
        let mut executions: Vec<_> = self.segments().keys().map(|(id, ..)| id.clone()).collect();
        executions.dedup();
        Ok(executions)
    }
}
