//! Failures of steps and flows as values: recorded once, rebuilt with the same type on every replay.
//! Not the errors of the host side: those are enums beside what they belong to.

use std::any::Any;

use crate::ExecuteError;
use crate::recorded::Codec;
use kernel::{EffectError, Failed, RetryClass};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An error type that steps and flows can fail with. `#[derive(Failure)]` implements it.
#[diagnostic::on_unimplemented(
    message = "steps and flows do not fail with `{Self}`: it is no `Failure`",
    note = "return `loom::Result<T>`, or derive `loom::Failure` on an enum that has a variant for the engine"
)]
pub trait Failure: Sized + Send + 'static {
    /// How it is recorded: `Codec::json()`, which asks for [`Recorded`](crate::Recorded). No bound, so that what it lacks is
    /// said where it is declared, and not again by each step and flow that fails with it.
    const CODEC: Codec<Self>;

    /// The value for what the engine itself reports: denied, timed out, exhausted, cancelled, over budget.
    fn from_engine(error: EffectError) -> Self;

    /// The name under which logs file this failure: the variant's name.
    fn code(&self) -> &str;

    /// One line for people. Holds no payload and no secret.
    fn message(&self) -> String;

    /// Whether another attempt may help.
    fn retry(&self) -> RetryClass {
        RetryClass::Transient
    }
}

/// What the variant for the engine holds: an [`EffectError`], and nothing else.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "[L0304] the engine's variant holds an `EffectError`, and `{Self}` is none",
    label = "not what the engine reports",
    note = "help: write `#[failure(engine)] Engine(EffectError),`"
)]
pub trait EngineField {
    /// The field for this error.
    fn of(error: EffectError) -> Self;
}

impl EngineField for EffectError {
    fn of(error: EffectError) -> Self {
        error
    }
}

/// The ready-made dynamic error: a message with its causes, and what the engine reported.
///
/// Every `std::error::Error` turns into it with `?`. It is not one itself: then it could not take them all.
///
/// ```
/// fn parse(text: &str) -> loom_runtime::Result<u32> {
///     Ok(text.trim().parse::<u32>()?)
/// }
/// assert_eq!(parse("tea").unwrap_err().to_string(), "invalid digit found in string");
/// ```
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Error {
    message: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    causes: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    permanent: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    engine: Option<EffectError>,
}

/// `Result` with [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error with this message.
    pub fn msg(message: impl std::fmt::Display) -> Self {
        Self { message: message.to_string(), causes: Vec::new(), permanent: false, engine: None }
    }

    /// The same error, never to be retried.
    #[must_use]
    pub fn permanent(mut self) -> Self {
        self.permanent = true;
        self
    }

    /// What the engine reported, when it was the engine.
    pub fn engine(&self) -> Option<&EffectError> {
        self.engine.as_ref()
    }
}

impl<E: std::error::Error + 'static> From<E> for Error {
    fn from(error: E) -> Self {
        if let Some(engine) = (&error as &dyn Any).downcast_ref::<EffectError>() {
            return Self::from_engine(engine.clone());
        }
        if let Some(ExecuteError::Engine(engine)) = (&error as &dyn Any).downcast_ref() {
            return Self::from_engine(engine.clone());
        }
        let mut causes = Vec::new();
        let mut source = error.source();
        while let Some(cause) = source {
            causes.push(cause.to_string());
            source = cause.source();
        }
        Self { causes, ..Self::msg(error) }
    }
}

impl Failure for Error {
    const CODEC: Codec<Self> = Codec::json();

    fn from_engine(error: EffectError) -> Self {
        Self { engine: Some(error.clone()), ..Self::msg(error) }
    }

    fn code(&self) -> &str {
        self.engine.as_ref().map_or("error", EffectError::code)
    }

    fn message(&self) -> String {
        self.message.clone()
    }

    fn retry(&self) -> RetryClass {
        if self.permanent { RetryClass::Permanent } else { RetryClass::Transient }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::fmt::Debug for Error {
    /// As `main` prints it: the message, then each cause on its own line.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        self.causes.iter().try_for_each(|cause| write!(f, "\n  because: {cause}"))
    }
}

/// A failure as the log holds it.
pub(crate) fn recorded<E: Failure>(error: &E) -> std::result::Result<Failed, kernel::InvalidPayload> {
    let (code, message) = (error.code().to_owned(), error.message());
    Ok(Failed { code, message, error: Some((E::CODEC.encode)(error)?), engine: None })
}

/// The user's error again.
pub(crate) fn rebuilt<E: Failure>(failed: Failed) -> std::result::Result<E, kernel::InvalidPayload> {
    match (failed.engine, failed.error) {
        (Some(engine), _) => Ok(E::from_engine(engine)),
        (None, Some(error)) => (E::CODEC.decode)(&error),
        (None, None) => Err(kernel::InvalidPayload("the failure holds neither an error nor a report".into())),
    }
}
