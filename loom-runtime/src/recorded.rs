//! What a type needs to be kept in a log, or to come in from outside, as one bound each: for what the compiler says of a
//! type that lacks some of it. Not for anybody to implement: whatever has the parts has the whole.

use kernel::{InvalidPayload, Payload};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};

/// What can be written into a log, read from it and described: inputs, outputs and failures of steps and flows, events,
/// states of projections.
///
/// ```
/// #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
/// struct Receipt {
///     total: u64,
/// }
///
/// fn is_recorded<T: loom_runtime::Recorded>() {}
/// is_recorded::<Receipt>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be recorded: it needs `Serialize`, `Deserialize` and `JsonSchema`",
    label = "this is kept in the log",
    note = "help: derive what it lacks: `#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]`"
)]
pub trait Recorded: Sized {
    // Methods in place of supertraits: of a type that lacks those the compiler would say so once for each.
    #[doc(hidden)]
    fn __serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error>;

    #[doc(hidden)]
    fn __deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error>;
}

// Else the compiler names the first part that is missing, and lists who has it.
#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned + JsonSchema> Recorded for T {
    fn __serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.serialize(to)
    }

    fn __deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::deserialize(from)
    }
}

/// Asks for a type that can be recorded, in generated code: at the user's tokens.
pub fn recorded<T: Recorded>() {}

/// The value as a log holds it.
pub(crate) fn encoded<T: Recorded>(value: &T) -> Result<Payload, InvalidPayload> {
    Payload::encode(&Written(value))
}

/// The value that a log holds.
pub(crate) fn decoded<T: Recorded>(payload: &Payload) -> Result<T, InvalidPayload> {
    payload.decode().map(|Read(value)| value)
}

struct Written<'v, T>(&'v T);

impl<T: Recorded> Serialize for Written<'_, T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.__serialize(to)
    }
}

/// What is read as a value of `T`.
pub(crate) struct Read<T>(pub(crate) T);

impl<'de, T: Recorded> Deserialize<'de> for Read<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        T::__deserialize(from).map(Self)
    }
}

/// How a value goes into a log and comes out of it: the input of a step, a failure.
#[derive(Clone, Copy, Debug)]
pub struct Codec<T> {
    pub(crate) encode: fn(&T) -> Result<Payload, InvalidPayload>,
    pub(crate) decode: fn(&Payload) -> Result<T, InvalidPayload>,
}

/// [`Codec::json`], in generated code: what the type lacks is reported at the user's tokens.
pub const fn codec<T: Recorded>() -> Codec<T> {
    Codec::json()
}

impl<T> Codec<T> {
    /// As JSON, of a type that can be recorded.
    pub const fn json() -> Self
    where
        T: Recorded,
    {
        Self { encode: encoded, decode: decoded }
    }

    /// Of one that cannot, which has been said where that is asked for.
    pub(crate) const NONE: Self = Self {
        encode: |_| Err(InvalidPayload(String::new())),
        decode: |_| Err(InvalidPayload(String::new())),
    };
}

/// What can be read from outside and described to whoever is asked: the answer to a gate, a message.
///
/// ```
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Approval {
///     approved: bool,
/// }
///
/// fn is_received<T: loom_runtime::Received>() {}
/// is_received::<Approval>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot come from outside: it needs `Deserialize` and `JsonSchema`",
    label = "nobody could be told what to send",
    note = "help: derive what it lacks: `#[derive(serde::Deserialize, schemars::JsonSchema)]`"
)]
pub trait Received: DeserializeOwned + JsonSchema {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema> Received for T {}
