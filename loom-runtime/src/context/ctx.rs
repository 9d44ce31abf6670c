//! The handle through which a flow does everything that lasts.
//! Not available inside a step: a step is one unit, and has a [`crate::StepCx`].

use std::{fmt, future::Future, time::Duration};

use kernel::{
    ExecutionId, FrameId, ParkReport, Payload, SourceLine, Timestamp,
    machine::{Cx, Due, FlowReturn},
};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

use super::{Decide, PartRun, Run, Sleep, Suspend, place::Place};
use crate::{DomainEvent, Limits, PartCall, Site, Step, StepCall};

/// A flow's context. Cheap to clone.
///
/// Its durable calls are futures: they do nothing until they are awaited, and go into `join!`, `join_all`,
/// `FuturesUnordered`, `.shared()` and the prelude's `select!` as they are.
#[derive(Clone)]
pub struct Ctx {
    cx: Cx,
    limits: Limits,
    file: &'static str,
    prefix: Option<FrameId>,
    site: Option<(&'static Site, Vec<u64>)>,
}

impl Ctx {
    pub(crate) fn new(cx: Cx, limits: Limits, file: &'static str) -> Self {
        Self { cx, limits, file, prefix: None, site: None }
    }

    /// Runs a step once and records how it ended: the value has the type that `call.await` would have.
    ///
    /// On a replay, and after a crash, a step that has ended is not run again.
    pub fn run<S: Step>(&self, call: StepCall<S>) -> Run<S> {
        Run::new(self.cx.clone(), self.place(), self.limits, call.input)
    }

    /// Calls a part of the flow; the ids inside it begin with `name`.
    pub fn part<T: 'static, P>(&self, name: &'static str, call: PartCall<T, P>) -> PartRun<T> {
        let mut place = self.place();
        place.set_id(name);
        PartRun::new(self.clone(), place, call)
    }

    /// Asks somebody outside, and waits for the answer: days, if need be, and through deploys. The gate's address is
    /// `execution/name` (`execution/name#3` in a loop).
    pub fn suspend<T: DeserializeOwned + JsonSchema>(&self, gate: &'static str) -> Suspend<T> {
        let mut place = self.place();
        if self.site.is_none() {
            place.set_id(gate);
        }
        Suspend::new(self.cx.clone(), place, gate)
    }

    /// Waits, durably. The instant is fixed when the call is first recorded.
    pub fn sleep(&self, wait: Duration) -> Sleep {
        Sleep::new(self.cx.clone(), self.place(), Due::After(wait))
    }

    /// Waits until an instant, durably. One in the past is over at once.
    pub fn sleep_until(&self, instant: Timestamp) -> Sleep {
        Sleep::new(self.cx.clone(), self.place(), Due::At(instant))
    }

    /// Makes a choice once: `choose` runs the first time, and its value holds for ever. It may look at clocks and
    /// random numbers.
    pub fn decide<T, C>(&self, name: &'static str, choose: C) -> Decide<T, C>
    where
        T: Serialize + DeserializeOwned,
        C: FnOnce() -> T + Unpin,
    {
        let mut place = self.place();
        if self.site.is_none() {
            place.set_id(name);
        }
        Decide::new(self.cx.clone(), place, self.limits, choose)
    }

    /// Records a fact of the domain, once per execution and call.
    pub fn emit<E: DomainEvent>(&self, event: &E) {
        let place = self.place();
        let data = match Payload::encode(event) {
            Ok(data) => data,
            Err(reason) => {
                let message = format!("domain event `{}` cannot be written as JSON: {reason}", E::NAME);
                return self.cx.raise(ParkReport::new(kernel::Fault::Unserializable, message));
            }
        };
        if let Err(report) = self.limits.check_record(&format!("domain event `{}`", E::NAME), &data) {
            return self.cx.raise(report);
        }
        self.cx.emit(&place.frame_or("emit"), place.line(), E::NAME, E::VERSION, data);
    }

    /// The time, as of the last event that the flow was told of: the same on every replay.
    pub fn now(&self) -> Timestamp {
        self.cx.now()
    }

    /// A UUID (version 4 layout) that is the same on every replay.
    pub fn uuid(&self) -> Uuid {
        let mut bytes = self.cx.entropy(&self.place().frame_or("uuid"));
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        Uuid(bytes)
    }

    /// A random number, at least 0 and less than 1, that is the same on every replay.
    pub fn random(&self) -> f64 {
        let bytes = self.cx.entropy(&self.place().frame_or("random"));
        let mut eight = [0; 8];
        eight.copy_from_slice(&bytes[..8]);
        // 53 bits: what an f64 holds exactly.
        (u64::from_le_bytes(eight) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The execution.
    pub fn execution(&self) -> &ExecutionId {
        self.cx.execution()
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    fn place(&self) -> Place {
        let site = self.site.as_ref().map(|(site, levels)| (*site, levels.as_slice()));
        Place::new(self.prefix.clone(), site, self.file)
    }

    pub(super) fn within(&self, prefix: FrameId) -> Self {
        Self { prefix: Some(prefix), site: None, ..self.clone() }
    }

    pub(super) fn cx(&self) -> &Cx {
        &self.cx
    }

    /// Stops the flow with a fault; never completes.
    pub(crate) async fn stop(&self, report: ParkReport) -> FlowReturn {
        self.cx.raise(report);
        std::future::pending().await
    }

    /// The context at a call site: `#[flow]` puts it in.
    #[doc(hidden)]
    #[must_use]
    pub fn __at(&self, site: &'static Site, indices: &[u64]) -> Self {
        Self { site: Some((site, indices.to_vec())), ..self.clone() }
    }

    /// Notes the line of an `.await`: `#[flow]` puts it in.
    #[doc(hidden)]
    pub fn __near(&self, line: u32) {
        self.cx.near(SourceLine { file: self.file.into(), line });
    }
}

impl fmt::Debug for Ctx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ctx").field("execution", self.execution()).finish_non_exhaustive()
    }
}

/// A UUID that a flow drew. Displays as usual, `6ba7b810-9dad-41d1-80b4-00c04fd430c8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid([u8; 16]);

impl Uuid {
    /// The bytes, in network order.
    pub const fn bytes(self) -> [u8; 16] {
        self.0
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, byte) in self.0.iter().enumerate() {
            if matches!(i, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

/// A durable call that could not be made (the fault is raised) never completes.
pub(super) enum Stage<B> {
    Inert(B),
    Waiting(kernel::machine::Call),
    Stopped,
}

impl<B> Stage<B> {
    /// Polls the call, made by `begin` at the first poll.
    pub(super) fn poll(
        &mut self,
        context: &mut std::task::Context<'_>,
        begin: impl FnOnce(B) -> Option<kernel::machine::Call>,
    ) -> std::task::Poll<kernel::machine::Settled> {
        if let Self::Inert(_) = self
            && let Self::Inert(inert) = std::mem::replace(self, Self::Stopped)
            && let Some(call) = begin(inert)
        {
            *self = Self::Waiting(call);
        }
        match self {
            Self::Waiting(call) => std::pin::Pin::new(call).poll(context),
            Self::Inert(_) | Self::Stopped => std::task::Poll::Pending,
        }
    }
}

/// Decodes what a frame settled with, or stops the flow: `None` then.
pub(super) fn decoded<T: DeserializeOwned>(
    cx: &Cx,
    frame: Option<FrameId>,
    what: &str,
    value: Result<T, kernel::InvalidPayload>,
) -> Option<T> {
    match value {
        Ok(value) => Some(value),
        Err(reason) => {
            let ty = std::any::type_name::<T>();
            let message = format!("{what} no longer reads as {ty}: {reason}");
            let report = ParkReport { frame, ..ParkReport::new(kernel::Fault::Undecodable, message) };
            cx.raise(report);
            None
        }
    }
}
