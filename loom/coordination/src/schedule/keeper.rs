//! The flow that keeps one schedule: it sleeps until the next nominal instant, and starts what is due.
//! Not tied to a process: where it sleeps, nothing is held.

use std::{
    future::{Future as _, poll_fn},
    pin::Pin,
    task::Poll,
    time::Duration,
};

use futures_util::future::BoxFuture;
use loom_runtime::{
    __v1::{run_flow, schema_of},
    CallDynamic, Ctx, DataType, Error, Flow, FlowDescriptor, Location, MessageDescriptor, OnClose, Overlap,
    Receive, Sleep, Timestamp,
    kernel::Payload,
};

use super::{
    control::{Control, TOPIC},
    run_id,
    state::State,
};

/// The keeper as a flow; registered once for each schedule, under another name.
pub(super) struct Keeper;

impl Flow for Keeper {
    type Input = State;
    type Output = ();
    type Error = Error;

    const DESCRIPTOR: &'static FlowDescriptor = &FlowDescriptor {
        name: "schedule",
        doc: "Keeps the schedule of a flow.",
        location: Location { file: file!(), line: line!(), column: 1, module: module_path!() },
        input: DataType::of::<State>(),
        output: DataType::of::<()>(),
        error: schema_of::<Error>,
        gates: &[],
        messages: &[MessageDescriptor {
            name: TOPIC,
            body: DataType::of::<Control>(),
            reply: None,
            line: line!(),
        }],
        effects: None,
        policies: &[],
        versions: loom_runtime::InputVersions::FIRST,
        schedule: None,
        graph: &[],
        steps: &[],
        children: &[],
        parts: &[],
        // Counted up when what it asks for changes: no macro reads its tokens.
        fingerprint: 3,
        run: run_flow::<Self>,
    };

    fn run(ctx: Ctx, state: State) -> BoxFuture<'static, Result<(), Error>> {
        Box::pin(Desk::new(ctx, state).keep())
    }
}

/// The name of the decision which instants have come.
pub(super) const CATCH_UP: &str = "catch-up";

/// A run of the keeper does not grow beyond this many events.
const LONGEST: u64 = 1_000;

/// One run of the keeper.
struct Desk {
    ctx: Ctx,
    state: State,
    /// Asked for so often: what tells calls of one kind apart.
    turn: u64,
    control: Receive<Control>,
    due: Option<(Timestamp, Sleep)>,
    /// Over once all runs that were asked for exist, and could be cancelled.
    leaving: Option<Sleep>,
    runs: Vec<Run>,
}

/// An execution of the flow that goes on.
struct Run {
    at: Timestamp,
    call: CallDynamic,
    /// Whether it is cancelled when this run of the keeper ends.
    ends_with_call: bool,
}

enum Happened {
    Told(Control),
    Ended(Timestamp),
    Due(Timestamp),
    AllExist,
}

impl Desk {
    fn new(ctx: Ctx, mut state: State) -> Self {
        let control = ctx.receive(TOPIC).key(0);
        state.see(state.seen.unwrap_or(ctx.now()));
        Self { ctx, state, turn: 0, control, due: None, leaving: None, runs: Vec::new() }
    }

    async fn keep(mut self) -> Result<(), Error> {
        // What an earlier run of the keeper has started is found again by its id and frame, ended or not.
        for at in std::mem::take(&mut self.state.running) {
            self.start(at);
        }
        loop {
            if self.is_to_leave() {
                if !self.runs.iter().any(|run| run.ends_with_call) {
                    return self.begin_anew().await;
                }
                if self.leaving.is_none() {
                    let turn = self.next_turn();
                    self.leaving = Some(self.ctx.sleep(Duration::ZERO).id("leave").key(turn));
                }
            } else {
                self.leaving = None;
                self.start_what_may();
            }
            if self.due.is_none() && self.state.paused.is_none() {
                self.look_ahead().await;
            }
            match self.wait().await {
                Happened::Told(control) => {
                    // What was due before comes first, however late it is found.
                    let due = self.due.as_ref().map(|(at, _)| *at);
                    if let Some(at) = due.filter(|at| *at <= self.ctx.now()) {
                        self.keep_up(at).await;
                        self.start_what_may();
                    }
                    self.heed(control);
                }
                Happened::Ended(at) => self.state.end(at),
                Happened::Due(at) => self.keep_up(at).await,
                Happened::AllExist => return self.begin_anew().await,
            }
        }
    }

    fn next_turn(&mut self) -> u64 {
        self.turn += 1;
        self.turn
    }

    /// Sets the timer for the next instant. Recorded: it depends on the zones of the code.
    async fn look_ahead(&mut self) {
        let (turn, seen, spec) = (self.next_turn(), self.seen(), self.state.spec.clone());
        let next = self.ctx.decide("next", move || spec.after(seen)).key(turn).await;
        self.due = next.first().map(|at| (*at, self.ctx.sleep_until(*at).id("due").key(turn)));
    }

    fn seen(&self) -> Timestamp {
        self.state.seen.unwrap_or(Timestamp::EPOCH)
    }

    async fn wait(&mut self) -> Happened {
        let Self { control, due, leaving, runs, .. } = self;
        let ended = poll_fn(|context| {
            // The first poll starts a run. Those behind one that has ended get theirs at the next wait, in the same pass.
            match runs.iter_mut().position(|run| Pin::new(&mut run.call).poll(context).is_ready()) {
                Some(ended) => Poll::Ready(runs.remove(ended).at),
                None => Poll::Pending,
            }
        });
        let timer = async {
            match due {
                Some((at, timer)) => {
                    timer.await;
                    *at
                }
                None => std::future::pending().await,
            }
        };
        let all_exist = async {
            match leaving {
                Some(timer) => timer.await,
                None => std::future::pending().await,
            }
        };
        loom_runtime::select! {
            at = ended => Happened::Ended(at),
            control = control => Happened::Told(control),
            at = timer => Happened::Due(at),
            () = all_exist => Happened::AllExist,
        }
    }

    fn heed(&mut self, control: Control) {
        let turn = self.next_turn();
        self.control = self.ctx.receive(TOPIC).key(turn);
        if self.state.heed(control, self.ctx.now()) {
            self.due = None;
        }
    }

    /// An instant has come: notes what is due by now, and moves on from the nominal instant.
    async fn keep_up(&mut self, at: Timestamp) {
        let (turn, seen, spec) = (self.turn, self.seen(), self.state.spec.clone());
        let now = self.ctx.now().max(at);
        let due = self.ctx.decide(CATCH_UP, move || spec.due(seen, now)).key(turn).await;
        (self.due, self.state.seen) = (None, Some(now));
        self.state.come_due(due);
    }

    /// Starts the runs whose turn it is.
    fn start_what_may(&mut self) {
        while let Some(at) = self.state.next() {
            self.start(at);
        }
    }

    /// Starts the run of an instant, unless that was asked for before.
    fn start(&mut self, at: Timestamp) {
        if !self.state.begin(at) {
            return;
        }
        let ends_with_call = self.state.spec.overlap == Overlap::Cancel && !self.state.ending.contains(&at);
        let on_close = if ends_with_call { OnClose::Cancel } else { OnClose::Abandon };
        let flow = self.state.flow.clone();
        let call = self.ctx.call_dynamic("run", &*flow, Payload::null()).key(run_id::instant(at));
        let call = call.execution(run_id::of_run(&flow, at)).on_close(on_close);
        self.runs.push(Run { at, call, ends_with_call });
    }

    /// Whether to go on as a new run of the keeper: so as to cancel what goes on, or because this one is long. What goes
    /// on is not cancelled for that.
    fn is_to_leave(&self) -> bool {
        let (events, most) = self.ctx.history();
        let is_long = events > LONGEST.min(most / 2) && !self.runs.iter().any(|run| run.ends_with_call);
        // One that was started under another policy is found again first, under this one.
        let is_to_cancel = |run: &Run| !self.state.ending.contains(&run.at);
        is_long || self.state.pressing().is_some() && self.runs.iter().any(is_to_cancel)
    }

    /// Begins a new run of the keeper, which cancels the runs that end with their calls. That finds again what goes on,
    /// and waits for it; with `allow` nobody needs to know.
    async fn begin_anew(mut self) -> Result<(), Error> {
        if self.state.spec.overlap == Overlap::Allow {
            poll_fn(|context| {
                for run in &mut self.runs {
                    let _ = Pin::new(&mut run.call).poll(context);
                }
                Poll::Ready(())
            })
            .await;
            self.state.running.clear();
        }
        self.state.ending.extend(self.runs.iter().filter(|run| run.ends_with_call).map(|run| run.at));
        let state = Payload::encode(&self.state)?;
        self.ctx.continue_dynamic(state).await
    }
}
