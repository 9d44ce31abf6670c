//! What somebody who works on a store should know of it: that it is only a part, that it takes no writes.
//! Not an error: a store with a caveat answers, and may be just what was meant.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{SLOTS, Shard, StoreError};

/// Why a store is not what it seems. Its text says what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Caveat {
    /// It is one of several databases and was opened alone: whoever lists sees some of the executions.
    Part {
        /// Its name among them.
        name: String,
        /// How many of the [slots](super::Slot) it has.
        slots: u16,
    },
    /// It takes no writes now; it may later.
    ReadOnly {
        /// Why, as far as it knows.
        why: String,
    },
}

impl Caveat {
    /// That of a store which is one of several and has not every slot.
    ///
    /// # Errors
    /// The store fails.
    pub async fn of_part(store: &dyn Shard) -> Result<Option<Self>, StoreError> {
        let Some(member) = store.membership().await? else { return Ok(None) };
        let slots = store.places().await?.iter().filter(|place| place.standing.is_read()).count();
        let slots = u16::try_from(slots).unwrap_or(SLOTS);
        Ok((slots < SLOTS).then_some(Self::Part { name: member.name, slots }))
    }
}

impl fmt::Display for Caveat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Part { name, slots } => write!(
                f,
                "this is database `{name}`, one of several, with {slots} of {SLOTS} slots: executions in the others are not seen \
                 here; open all of them together (`Shards::open`)"
            ),
            Self::ReadOnly { why } => write!(
                f,
                "the database takes no writes ({why}): nothing runs here until it does; if another one is the primary now, \
                 connect to that"
            ),
        }
    }
}
