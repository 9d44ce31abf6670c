//! Ids that no execution has, one in every slot: a slot's outbox, and where its branches are.
//! Not what is kept under them.

use std::sync::LazyLock;

use loom_runtime::{
    ExecutionId,
    ports::{RESERVED, SLOTS, Slot},
};

/// What the ids of outboxes begin with.
pub(crate) const OUTBOXES: &str = "loom:outbox:";

/// What the ids of branches begin with.
pub(crate) const BRANCHES: &str = "loom:branches:";

/// The id under which a slot keeps what it has to deliver.
pub(crate) fn outbox(slot: Slot) -> &'static ExecutionId {
    static IDS: LazyLock<Vec<ExecutionId>> = LazyLock::new(|| one_of_each(OUTBOXES));
    &IDS[usize::from(slot.number())]
}

/// The id under which a slot keeps its branches.
pub(crate) fn branches(slot: Slot) -> &'static ExecutionId {
    static IDS: LazyLock<Vec<ExecutionId>> = LazyLock::new(|| one_of_each(BRANCHES));
    &IDS[usize::from(slot.number())]
}

/// Whether an id is one of these, which nobody may take.
pub(crate) fn is_taken(id: &ExecutionId) -> bool {
    debug_assert!([OUTBOXES, BRANCHES].iter().all(|prefix| prefix.starts_with(RESERVED)));
    [OUTBOXES, BRANCHES].iter().any(|prefix| id.as_str().starts_with(prefix))
}

/// For every slot the first id with this prefix and a number that belongs to it: so it moves with the slot, and nothing
/// has to know of it. It ends with `:`, so that none is the beginning of another.
fn one_of_each(prefix: &str) -> Vec<ExecutionId> {
    let mut found = vec![None; usize::from(SLOTS)];
    let mut left = found.len();
    for n in 0_u32.. {
        let name = format!("{prefix}{n}:");
        let slot = &mut found[usize::from(Slot::of(&name).number())];
        if slot.is_none()
            && let Ok(id) = name.parse()
        {
            *slot = Some(id);
            left -= 1;
        }
        if left == 0 {
            break;
        }
    }
    found.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_has_its_own() {
        for slot in Slot::all() {
            assert_eq!(Slot::of(outbox(slot).as_str()), slot);
            assert_eq!(Slot::of(branches(slot).as_str()), slot);
        }
        // Written down in databases: they can never change.
        assert_eq!(outbox(Slot::of("order-7")).as_str(), "loom:outbox:2387:");
        assert_eq!(branches(Slot::of("main")).as_str(), "loom:branches:2564:");
    }
}
