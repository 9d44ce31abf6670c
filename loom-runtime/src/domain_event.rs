//! Domain events: facts of the user's own, in the log under a declared name and version.
//! Not messages: nobody waits for them, projections read them.

use std::any::type_name;

use kernel::{Domain, Envelope, Event};
use serde_json::Value;

use crate::Recorded;
use crate::{Location, SchemaFn, UpcastError, upcaster::Chain};

/// An event of the user's domain. `#[event]` implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a domain event",
    note = "put `#[event(name = \"…\")]` on the type; a fold on a step says so: `#[on(step = charge)]`"
)]
pub trait DomainEvent: Recorded + 'static {
    /// What the registry knows of it.
    const DESCRIPTOR: &'static EventDescriptor;
    /// The declared name: what the log says, whatever the type is called and wherever it lives.
    const NAME: &'static str = Self::DESCRIPTOR.name;
    /// The version of its shape that this program writes.
    const VERSION: u32 = Self::DESCRIPTOR.version;

    /// Brings data of an older `version` to the version after it.
    ///
    /// # Errors
    /// The data does not have the shape of `version`, or nothing reads that version any more.
    fn upcast(version: u32, data: Value) -> Result<Value, UpcastError> {
        let _ = data;
        Err(UpcastError::no_upcaster(version))
    }
}

/// The descriptor of an event, for generated code: of what is none, that alone is said.
pub const fn event<E: DomainEvent>() -> &'static EventDescriptor {
    E::DESCRIPTOR
}

/// A registered domain event.
#[derive(Clone, Copy, Debug)]
pub struct EventDescriptor {
    /// Its declared name, unique within a program.
    pub name: &'static str,
    /// The type, without its path: how a static graph refers to it.
    pub ty: &'static str,
    /// The version of its shape that this program writes.
    pub version: u32,
    /// The oldest version that it reads.
    pub oldest: u32,
    /// The upcasters of the versions from there on, as they are written.
    pub upcasters: &'static [&'static str],
    /// Its doc comment.
    pub doc: &'static str,
    /// Where the type is written. Moving it changes nothing in a log.
    pub location: Location,
    /// Of its data.
    pub schema: SchemaFn,
}

/// A stored domain event that this program cannot read. Never replaced by a default.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("event {position}, `{event}` version {version}, does not read as {ty} (version {known}): {reason}")]
pub struct EventError {
    /// The declared name.
    pub event: &'static str,
    /// The version that is stored.
    pub version: u32,
    /// The version that this program writes.
    pub known: u32,
    /// The type that was to be read.
    pub ty: &'static str,
    /// Its sequence in the log.
    pub position: u64,
    /// What is wrong; names fields, never values.
    pub reason: String,
}

/// The event `E` in an envelope; `None` when the envelope holds something else.
///
/// An older version goes through the upcasters, in order, until it has the shape of today.
///
/// # Errors
/// It is an `E`, and cannot be read: see [`EventError`].
pub fn read_event<E: DomainEvent>(envelope: &Envelope) -> Result<Option<E>, EventError> {
    match &envelope.event {
        Event::Domain(domain) if domain.name == E::NAME => read(domain, envelope.sequence).map(Some),
        _ => Ok(None),
    }
}

fn read<E: DomainEvent>(domain: &Domain, position: u64) -> Result<E, EventError> {
    let unreadable = |reason: String| EventError {
        event: E::NAME,
        version: domain.version,
        known: E::VERSION,
        ty: type_name::<E>(),
        position,
        reason,
    };
    let EventDescriptor { version, oldest, upcasters, .. } = *E::DESCRIPTOR;
    let chain = Chain { current: version, oldest, upcasters };
    chain.read(domain.version, &domain.data, E::upcast).map_err(unreadable)
}
