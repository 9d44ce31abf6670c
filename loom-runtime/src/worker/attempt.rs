//! One attempt of a step: its body under a timeout, a silence limit and a net for panics.
//! Not whether it is made again: that is the machine's.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures_util::FutureExt;
use kernel::{EffectError, Payload, machine::AttemptEnd, panic_text};

use crate::{StepDescriptor, step::StepEnv};

/// How long a step that asked for its cancellation may go on after it.
pub(super) const TIDYING: Duration = Duration::from_secs(5);

pub(super) async fn run(
    step: &'static StepDescriptor,
    input: Payload,
    env: StepEnv,
    timeout: Option<Duration>,
) -> AttemptEnd {
    // The net is around everything: a body that is dropped at its limit may panic too.
    let attempt = AssertUnwindSafe(async {
        tokio::select! {
            biased;
            ended = (step.invoke)(input, env.clone()) => ended,
            () = env.given_up(TIDYING) => AttemptEnd::Stopped(EffectError::Cancelled),
            limit = over(timeout) => AttemptEnd::Stopped(timed_out(limit)),
            window = silent(step.heartbeat, &env) => AttemptEnd::Stopped(timed_out(window)),
        }
    });
    attempt.catch_unwind().await.unwrap_or_else(|panic| AttemptEnd::Panicked(panic_text(panic.as_ref())))
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
