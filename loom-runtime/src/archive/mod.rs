//! The archives that need nothing but this crate: a folder, and memory.
//! Not when something is archived: that is `retention`'s.

mod folder;
mod memory;

pub use folder::FolderArchive;
pub use memory::MemoryArchive;

use kernel::Record;

use crate::FrozenLog;

/// Adds what a segment has that comes after what is there. Segments overlap when a log was cut elsewhere the second time.
fn join(log: &mut FrozenLog, segment: FrozenLog) {
    let next = |records: &[Record]| records.last().map_or(0, |last| last.sequence + 1);
    let from = next(&log.records);
    log.records.extend(segment.records.into_iter().filter(|record| record.sequence >= from));
}
