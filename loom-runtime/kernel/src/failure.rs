//! What can go wrong with an effect, in the form in which it is recorded.
//! Not errors of the engine's own code: those are reports, see [`crate::ParkReport`].

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Payload;

/// What the engine itself has to report about a step or a wait, in place of the step's own error.
///
/// `#[derive(Failure)]` puts it into the variant that is marked `#[failure(engine)]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema, thiserror::Error)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EffectError {
    /// A policy refused the effect; its body did not run.
    #[error("denied: {reason}")]
    Denied {
        /// Why, as the policy says it.
        reason: String,
    },
    /// The body, or the wait, took longer than it may.
    #[error("timed out after {after_ms} ms")]
    TimedOut {
        /// The limit, in milliseconds.
        after_ms: u64,
    },
    /// Every attempt ended without an outcome.
    #[error("gave up after {attempts} attempts, the last one: {last}")]
    Exhausted {
        /// How many attempts were made.
        attempts: u32,
        /// How the last one ended.
        last: String,
    },
    /// The effect, or its execution, was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// The budget does not cover the effect; its body did not run.
    #[error("over budget: {resource}")]
    OverBudget {
        /// What has run out.
        resource: String,
    },
    /// Nobody knows whether the effect happened, and a person gave it up.
    #[error("in doubt after attempt {attempt}, given up by {by}")]
    InDoubt {
        /// The attempt whose outcome is unknown.
        attempt: u32,
        /// Who gave it up.
        by: String,
    },
    /// No step of this name is registered in the program that was to run it; nothing ran.
    #[error("this program has no step `{step}`")]
    UnknownStep {
        /// The name asked for.
        step: String,
    },
    /// The input does not fit the schema of the step; nothing ran.
    #[error("the input does not fit step `{step}`: {reason}")]
    InvalidInput {
        /// The step.
        step: String,
        /// What is wrong, and where; never the value.
        reason: String,
    },
    /// A step that was called by its name failed with an error of its own, which whoever called it cannot hold.
    #[error("step `{step}` failed with {code}: {message}")]
    StepFailed {
        /// The step.
        step: String,
        /// The name of its error's variant.
        code: String,
        /// What it says, for people.
        message: String,
    },
    /// A child execution could not be started.
    #[error("the child `{child}` was not started: {reason}")]
    NotStarted {
        /// The child's id.
        child: String,
        /// Why.
        reason: String,
    },
    /// An input or an outcome is larger than the configured limit; nothing was written.
    #[error("the {what} of `{step}` is {size} bytes, over the limit of {limit}")]
    PayloadTooLarge {
        /// The step.
        step: String,
        /// `input`, `outcome` or `failure`.
        what: String,
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
}

/// Whether another attempt may help.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RetryClass {
    /// As the step's retry policy says.
    #[default]
    Transient,
    /// Never: the same input fails in the same way.
    Permanent,
    /// As the policy says, but not before this much time has passed.
    After(Duration),
}

/// A failure as the log holds it: the user's own error with its variant's name, or the engine's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// The variant's name, `Declined`; for the engine's own, its type, `timed_out`.
    pub code: String,
    /// One line for people. Holds no payload.
    pub message: String,
    /// The user's error, serialised; absent when the engine reports.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::payload::present")]
    pub error: Option<Payload>,
    /// The engine's report; absent when the step returned its own error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<EffectError>,
}

impl EffectError {
    /// The name under which the log files this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Denied { .. } => "denied",
            Self::TimedOut { .. } => "timed_out",
            Self::Exhausted { .. } => "exhausted",
            Self::Cancelled => "cancelled",
            Self::OverBudget { .. } => "over_budget",
            Self::InDoubt { .. } => "in_doubt",
            Self::UnknownStep { .. } => "unknown_step",
            Self::InvalidInput { .. } => "invalid_input",
            Self::StepFailed { .. } => "step_failed",
            Self::NotStarted { .. } => "not_started",
            Self::PayloadTooLarge { .. } => "payload_too_large",
        }
    }
}

impl From<EffectError> for Failed {
    fn from(engine: EffectError) -> Self {
        Self { code: engine.code().into(), message: engine.to_string(), error: None, engine: Some(engine) }
    }
}
