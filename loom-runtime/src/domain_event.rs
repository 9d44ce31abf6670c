//! Domain events: facts of the user's own, in the log under a declared name and version.
//! Not messages: nobody waits for them, projections read them.

use std::{any::type_name, fmt::Display};

use kernel::{Domain, Envelope, Event};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{Location, SchemaFn};

/// An event of the user's domain. `#[event]` implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a domain event",
    note = "put `#[event(name = \"…\")]` on the type"
)]
pub trait DomainEvent: Serialize + DeserializeOwned + JsonSchema + 'static {
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
    /// Its doc comment.
    pub doc: &'static str,
    /// Where the type is written. Moving it changes nothing in a log.
    pub location: Location,
    /// Of its data.
    pub schema: SchemaFn,
}

/// Why an upcaster gave nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UpcastError(String);

impl UpcastError {
    /// Nothing brings `version` further.
    pub fn no_upcaster(version: u32) -> Self {
        Self(format!("nothing reads version {version} any more: add it to `upcast({version} => …)`"))
    }

    fn new(reason: impl Display) -> Self {
        Self(reason.to_string())
    }
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
    if domain.version > E::VERSION {
        return Err(unreadable("it was written by a newer program".into()));
    }
    if domain.version == E::VERSION {
        return domain.data.decode().map_err(|e| unreadable(e.0));
    }
    let mut data: Value = domain.data.decode().map_err(|e| unreadable(e.0))?;
    for version in domain.version..E::VERSION {
        data = E::upcast(version, data).map_err(|e| unreadable(format!("from version {version}: {e}")))?;
    }
    serde_json::from_value(data).map_err(|e| unreadable(e.to_string()))
}

/// A function `fn(Old) -> New` or `fn(Old) -> Result<New, impl Display>`, as an upcaster of JSON: either side may be
/// `serde_json::Value`. The macro writes `Upcaster::new(f).apply(data)`, and the inherent method, which is that of the
/// functions that may fail, goes before the trait's. Bounds are the methods' own, so that no `Result` falls through.
pub struct Upcaster<A, B>(fn(A) -> B);

impl<A, B> Upcaster<A, B> {
    /// The function.
    pub const fn new(function: fn(A) -> B) -> Self {
        Self(function)
    }
}

impl<A, B, E> Upcaster<A, Result<B, E>> {
    /// The data of the next version.
    ///
    /// # Errors
    /// The data is no `A`, or the function fails.
    pub fn apply(self, data: Value) -> Result<Value, UpcastError>
    where
        A: DeserializeOwned,
        B: Serialize,
        E: Display,
    {
        let old = serde_json::from_value(data).map_err(UpcastError::new)?;
        let new = (self.0)(old).map_err(UpcastError::new)?;
        serde_json::to_value(new).map_err(UpcastError::new)
    }
}

/// The upcasters that cannot fail.
pub trait Infallible<A, B> {
    /// The data of the next version.
    ///
    /// # Errors
    /// The data is no `A`.
    fn apply(self, data: Value) -> Result<Value, UpcastError>
    where
        A: DeserializeOwned,
        B: Serialize;
}

impl<A, B> Infallible<A, B> for Upcaster<A, B> {
    fn apply(self, data: Value) -> Result<Value, UpcastError>
    where
        A: DeserializeOwned,
        B: Serialize,
    {
        let old = serde_json::from_value(data).map_err(UpcastError::new)?;
        serde_json::to_value((self.0)(old)).map_err(UpcastError::new)
    }
}
