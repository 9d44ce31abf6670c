//! One attempt of a step: its body under a timeout, a silence limit and a net for panics.
//! Not whether it is made again: that is the machine's.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures_util::FutureExt;
use kernel::{EffectError, Payload, machine::AttemptEnd};

use crate::{StepDescriptor, step::StepEnv};

pub(super) async fn run(
    step: &'static StepDescriptor,
    input: Payload,
    env: StepEnv,
    timeout: Option<Duration>,
) -> AttemptEnd {
    let body = AssertUnwindSafe((step.invoke)(input, env.clone())).catch_unwind();
    tokio::select! {
        biased;
        ended = body => ended.unwrap_or_else(|panic| AttemptEnd::Lost(format!("panic: {}", said(panic.as_ref())))),
        limit = over(timeout) => AttemptEnd::Stopped(timed_out(limit)),
        window = silent(step.heartbeat, &env) => AttemptEnd::Stopped(timed_out(window)),
    }
}

async fn over(limit: Option<Duration>) -> Duration {
    match limit {
        Some(limit) => {
            tokio::time::sleep(limit).await;
            limit
        }
        None => std::future::pending().await,
    }
}

async fn silent(window: Option<Duration>, env: &StepEnv) -> Duration {
    match window {
        Some(window) => {
            env.silence(window).await;
            window
        }
        None => std::future::pending().await,
    }
}

fn timed_out(after: Duration) -> EffectError {
    EffectError::TimedOut { after_ms: u64::try_from(after.as_millis()).unwrap_or(u64::MAX) }
}

/// What a panic said, if it said it in words.
fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "(no message)".into())
}
