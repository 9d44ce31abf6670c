//! Forks: an execution whose log begins with another's, and goes on by itself.
//! Not time travel of an execution: the origin's log is read, and never changed.

mod error;
mod plan;

use std::{
    future::{Future, IntoFuture},
    pin::Pin,
};

use kernel::{Event, ExecutionId, FrameId, Outcome, Payload};
use serde::Serialize;

pub use error::ForkError;
pub(super) use plan::{Plan, Prefix, Wishes};

use super::{App, Handle};
use crate::{
    ports::{ExecutionRow, StoreError},
    worker::{Branch, Place},
};

/// What becomes of a child that was open at the cut.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ChildPolicy {
    /// The fork starts its own, from the beginning and with the recorded input.
    #[default]
    Rerun,
    /// The fork waits for the origin's child as well. If that has ended, its outcome is told at once. It is not
    /// cancelled from the fork.
    Share,
    /// The fork waits for this execution instead: a fork of the child, say. It takes it for its own, and cancels it
    /// where it would cancel a child.
    Adopt(ExecutionId),
    /// The fork is told that it was cancelled.
    Cancel,
    /// The fork is told this outcome.
    Stub(Outcome),
}

/// A fork that is being put together; `.await` makes it and answers its id.
#[must_use = "nothing is forked until it is awaited"]
pub struct Fork {
    pub(super) app: App,
    pub(super) of: ExecutionId,
    id: Option<String>,
    place: Place,
    pub(super) wishes: Result<Wishes, ForkError>,
}

impl App {
    /// Forks an execution: `app.fork(&id).at(12).id("order-7-what-if").await?` creates one whose log is the origin's first
    /// twelve events, and which goes on from there by itself. The origin's log stays as it is, and neither learns of
    /// the other.
    ///
    /// Nothing that was open at the cut runs by itself in the fork:
    /// - a *step* is in doubt, and the fork parks for a verdict ([`App::judge`]), unless [`Fork::rerun`],
    ///   [`Fork::rerun_all`] or [`Fork::stub`] says otherwise;
    /// - a *gate* is asked again, at the fork's own address. Answers that came after the cut are gone, unless
    ///   [`Fork::copy_answers`];
    /// - a *timer* keeps its instant, a wait for a message stays;
    /// - a *child* is started again as the fork's own, unless [`Fork::child`] says otherwise.
    ///
    /// Idempotency keys differ from the origin's, and so does what the flow draws behind the cut (`ctx.uuid()`,
    /// `ctx.random()`): two forks do not pay under one id. Nobody who waits for the origin waits for the fork. A cancel
    /// that was asked for before the cut holds in the fork, as the flow was told of it; cut before it to be rid of it.
    ///
    /// With an id that exists already, the same request gives the same fork, and nothing happens; anything else is a
    /// [`ForkError::Conflict`]. So a step may fork with an id of its own choice, and be repeated. Without one, the id is a
    /// fresh UUID (version 7).
    ///
    /// ```no_run
    /// # async fn main_(app: loom_runtime::App) -> loom_runtime::Result<()> {
    /// let origin = "order-7".parse()?;
    /// let fork = app.fork(&origin).at(12).id("order-7-what-if").stub("charge", &"paid").await?;
    /// println!("{}", app.state(&fork, None).await?.status);
    /// # Ok(()) }
    /// ```
    pub fn fork(&self, execution: &ExecutionId) -> Fork {
        let wishes = Ok(Wishes::default());
        Fork { app: self.clone(), of: execution.clone(), id: None, place: Place::Worker, wishes }
    }
}

impl<F> Handle<F> {
    /// Forks it; see [`App::fork`].
    pub fn fork(&self) -> Fork {
        self.app().fork(self.id())
    }
}

impl Fork {
    /// How many events of the origin the fork begins with: from 1 to all of them, for an ended execution to all but the
    /// last. All of them unless set.
    pub fn at(mut self, events: u64) -> Self {
        self.wish(|wishes| wishes.at = Some(events));
        self
    }

    /// The fork's id: chosen by the caller, it makes the fork repeatable.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Who forks it: named where its stubs are recorded. `unknown` unless set.
    pub fn by(mut self, who: impl Into<String>) -> Self {
        self.wish(|wishes| wishes.by = who.into());
        self
    }

    /// Runs this step again, by its frame, though it was open at the cut.
    pub fn rerun(mut self, frame: &str) -> Self {
        self.wish(|wishes| wishes.rerun.insert(FrameId::parsed(frame)));
        self
    }

    /// Runs every step again that was open at the cut.
    pub fn rerun_all(mut self) -> Self {
        self.wish(|wishes| wishes.rerun_all = true);
        self
    }

    /// The outcome of a step that was open at the cut, by its frame; or the answer to a gate that was open there, or that
    /// the flow will open.
    pub fn stub<T: Serialize + ?Sized>(mut self, frame: &str, value: &T) -> Self {
        match Payload::encode(value) {
            Ok(value) => self.wish(|wishes| wishes.stubs.insert(FrameId::parsed(frame), value)),
            Err(e) if self.wishes.is_ok() => {
                self.wishes = Err(ForkError::Invalid { frame: FrameId::parsed(frame), reason: e.0 });
            }
            Err(_) => {}
        }
        self
    }

    /// What becomes of a child that was open at the cut, by its frame.
    pub fn child(mut self, frame: &str, policy: ChildPolicy) -> Self {
        self.wish(|wishes| wishes.children.insert(FrameId::parsed(frame), policy));
        self
    }

    /// What becomes of the other children that were open at the cut. [`ChildPolicy::Rerun`] unless set.
    pub fn children(mut self, policy: ChildPolicy) -> Self {
        self.wish(|wishes| wishes.other_children = policy);
        self
    }

    /// Gives the fork the answers that the origin's gates got after the cut, in the run of the cut.
    pub fn copy_answers(mut self) -> Self {
        self.wish(|wishes| wishes.copy_answers = true);
        self
    }

    /// Only records the fork: the next worker that looks runs it.
    pub fn detached(mut self) -> Self {
        self.place = Place::Elsewhere;
        self
    }

    pub(super) fn wish<T>(&mut self, wish: impl FnOnce(&mut Wishes) -> T) {
        if let Ok(wishes) = &mut self.wishes {
            wish(wishes);
        }
    }

    async fn make(self) -> Result<ExecutionId, ForkError> {
        let Self { app, of, id, place, wishes } = self;
        let wishes = wishes?;
        let id: ExecutionId = id.unwrap_or_else(|| app.engine.entropy.uuid().to_string()).parse()?;
        let origin = app.engine.store.get(&of).await?.ok_or_else(|| ForkError::Unknown(of.clone()))?;
        if let Some(row) = app.engine.store.get(&id).await? {
            return same(&app, &origin, &wishes, &row).await;
        }
        let prefix = Prefix::read(&app, &origin, &wishes).await?;
        let plan = Plan::of(&app, &prefix, &wishes, &id, app.engine.clock.now())?;
        present(&app, &origin, &plan).await?;
        let Plan { records, gates, base, snapshot, .. } = plan;
        let (flow, input, turn) = (origin.flow.clone(), origin.input, origin.turn.clone());
        let branch = Branch { id: id.clone(), flow, input, records, gates, base, turn };
        match app.engine.branch(branch, place).await? {
            None => {
                app.engine.keep_snapshot(snapshot);
                Ok(id)
            }
            Some(row) => same(&app, &origin, &wishes, &row).await,
        }
    }
}

impl IntoFuture for Fork {
    type Output = Result<ExecutionId, ForkError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.make())
    }
}

/// The executions that the fork is to wait for must be there, or come to be.
async fn present(app: &App, origin: &ExecutionRow, plan: &Plan) -> Result<(), ForkError> {
    for (frame, child, must_be) in plan.awaited() {
        let may_come = !must_be && !origin.status.is_terminal(); // the origin will start what it has recorded
        if !may_come && app.engine.store.get(child).await?.is_none() {
            return Err(ForkError::NoChild { frame: frame.clone(), child: child.clone() });
        }
    }
    Ok(())
}

/// Whether the execution that has the id is the fork that is asked for.
async fn same(
    app: &App,
    origin: &ExecutionRow,
    wishes: &Wishes,
    existing: &ExecutionRow,
) -> Result<ExecutionId, ForkError> {
    let id = existing.id.clone();
    let conflict = |what| ForkError::Conflict { id: existing.id.clone(), what };
    let Some(from) = app.state(&id, None).await?.origin else { return Err(conflict("no fork")) };
    if from.execution != origin.id {
        return Err(conflict("a fork of another execution"));
    }
    if wishes.at.is_some_and(|at| at != from.events) {
        return Err(conflict("a fork at another place"));
    }
    let made = app.log(&id, from.events, 1).await?.pop().map(|envelope| envelope.event);
    let Some(Event::ExecutionForked(made)) = made else {
        return Err(StoreError::Corrupt(format!("`{id}` is a fork, and its log does not say of what")).into());
    };
    let wishes = Wishes { at: Some(from.events), ..wishes.clone() };
    let prefix = Prefix::read(app, origin, &wishes).await?;
    let asked = Plan::of(app, &prefix, &wishes, &id, prefix.instant())?.forked;
    // The origin may have got answers since: those that it had are still the same, and so are those of the stubs.
    let kept = made.answers.iter().all(|(frame, answer)| asked.answers.get(frame) == Some(answer));
    let all = asked.answers.keys().all(|frame| {
        let copied = wishes.copy_answers && !wishes.stubs.contains_key(frame);
        copied || made.answers.contains_key(frame)
    });
    let alike = kernel::Forked { answers: made.answers.clone(), seed: made.seed, ..asked } == made;
    if kept && all && alike { Ok(id) } else { Err(conflict("a fork with other stubs")) }
}
