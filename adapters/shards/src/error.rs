//! What can be wrong with a fleet of databases, and with a move.
//! Not the refusals of a store.

use loom_runtime::ports::StoreError;

/// Why databases cannot be used together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There is none.
    #[error("no database was given: name one at least")]
    None,
    /// There are more than can be told apart.
    #[error("{found} databases were given, and at most {most} can be used together")]
    TooMany {
        /// How many there are.
        found: usize,
        /// How many there may be.
        most: u16,
    },
    /// Two have one name.
    #[error("two databases are called `{name}`: each needs a name of its own, and keeps it")]
    SameName {
        /// The name.
        name: String,
    },
    /// A database was given under another name.
    #[error(
        "the database that was given as `{given}` is `{found}`: a name stays with its database; give it that, or see that the address is right"
    )]
    OtherName {
        /// The name that it has.
        found: String,
        /// The name that was given.
        given: String,
    },
    /// Databases of two fleets.
    #[error(
        "`{one}` and `{other}` belong to different fleets: open each with the databases that it was first opened with"
    )]
    OtherFleet {
        /// One of them.
        one: String,
        /// One that does not fit it.
        other: String,
    },
    /// Two databases were added at the same time, by processes that did not know of each other's.
    #[error(
        "`{one}` and `{other}` were added at the same time and cannot be told apart: leave the one that has no slots out, and add a fresh database instead"
    )]
    AddedAtOnce {
        /// One of them.
        one: String,
        /// The other.
        other: String,
    },
    /// A database that is new to the fleet has executions.
    #[error(
        "`{name}` has executions and is no member yet, beside others that have: ids could be there twice. Add an empty database, and move what is to be in it"
    )]
    NotEmpty {
        /// The database.
        name: String,
    },
    /// A slot is in none of them.
    #[error(
        "{slots} of 1024 slots are in none of these databases, slot {first} for one: a database of the fleet was not given"
    )]
    Missing {
        /// How many.
        slots: usize,
        /// The first of them.
        first: u16,
    },
    /// A database cannot be asked.
    #[error("`{name}`: {error}")]
    Store {
        /// The database.
        name: String,
        /// What it says.
        error: StoreError,
    },
}

/// Why slots were not moved. What was begun is finished by the next who moves them, or by [`Shards::finish`](crate::Shards::finish).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MoveError {
    /// There is no such database.
    #[error("there is no database `{name}` in this fleet, which has {known}")]
    NoSuchMember {
        /// The name.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// Nobody else could take what a database has.
    #[error(
        "`{name}` is the only database of the fleet: open it together with those that are to take what it has"
    )]
    NoOther {
        /// The database.
        name: String,
    },
    /// Another mover has taken the slots over.
    #[error("slot {slot} is moved by somebody else now: let them finish")]
    TakenOver {
        /// One of the slots.
        slot: u16,
    },
    /// No database says that it has the slot.
    #[error("slot {slot} is in none of the databases that answer")]
    Nowhere {
        /// The slot.
        slot: u16,
    },
    /// A database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
