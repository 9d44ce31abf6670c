//! The flow that keeps one schedule: it sleeps until the next nominal instant, and starts what is due.
//! Not tied to a process: where it sleeps, nothing is held.

use std::{
    collections::BTreeSet,
    future::{Future as _, poll_fn},
    pin::Pin,
    task::Poll,
};

use futures_util::future::BoxFuture;
use loom_runtime::{
    __v1::{run_flow, schema_of},
    CallDynamic, Ctx, Error, Flow, FlowDescriptor, Location, MessageDescriptor, OnClose, Overlap, Receive,
    Sleep, Timestamp,
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
        input: schema_of::<State>,
        output: schema_of::<()>,
        error: schema_of::<Error>,
        gates: &[],
        messages: &[MessageDescriptor {
            name: TOPIC,
            schema: schema_of::<Control>,
            reply: None,
            line: line!(),
        }],
        effects: None,
        policies: &[],
        versions: loom_runtime::InputVersions::FIRST,
        schedule: None,
        graph: &[],
        steps: &[],
        parts: &[],
        // Counted up when what it asks for changes: no macro reads its tokens.
        fingerprint: 1,
        run: run_flow::<Self>,
    };

    fn run(ctx: Ctx, state: State) -> BoxFuture<'static, Result<(), Error>> {
        Box::pin(Desk::new(ctx, state).keep())
    }
}

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
    runs: Vec<Run>,
    /// What this run of the keeper has started or found again: an instant has one execution, asked for once.
    asked: BTreeSet<Timestamp>,
}

/// An execution of the flow that goes on.
struct Run {
    at: Timestamp,
    call: CallDynamic,
    /// Whether it comes from the backlog, beside the schedule's own.
    made_up: bool,
}

enum Happened {
    Told(Control),
    Ended,
    Due(Timestamp),
}

impl Desk {
    fn new(ctx: Ctx, mut state: State) -> Self {
        let control = ctx.receive(TOPIC).key(0);
        state.see(state.seen.unwrap_or(ctx.now()));
        Self { ctx, state, turn: 0, control, due: None, runs: Vec::new(), asked: BTreeSet::new() }
    }

    async fn keep(mut self) -> Result<(), Error> {
        // What an earlier run of the keeper has started is found again by its id and frame, ended or not.
        for at in std::mem::take(&mut self.state.running) {
            self.start(at, false);
        }
        if let Some(at) = self.state.making_up.take() {
            self.start(at, true);
        }
        loop {
            self.start_what_waits();
            if self.is_long() {
                return self.begin_anew().await;
            }
            if self.due.is_none() && self.state.paused.is_none() {
                self.look_ahead().await;
            }
            match self.wait().await {
                Happened::Told(control) => self.heed(control),
                Happened::Ended => {}
                Happened::Due(at) => self.keep_up(at).await,
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
        let Self { control, due, runs, .. } = self;
        let ended = poll_fn(|context| {
            // The first poll starts a run. Those behind one that has ended get theirs at the next wait, in the same pass.
            match runs.iter_mut().position(|run| Pin::new(&mut run.call).poll(context).is_ready()) {
                Some(ended) => {
                    runs.remove(ended);
                    Poll::Ready(())
                }
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
        loom_runtime::select! {
            () = ended => Happened::Ended,
            control = control => Happened::Told(control),
            at = timer => Happened::Due(at),
        }
    }

    fn heed(&mut self, control: Control) {
        let turn = self.next_turn();
        self.control = self.ctx.receive(TOPIC).key(turn);
        if let Control::Trigger { at } = control {
            self.start(at, false);
        } else if self.state.heed(control, self.ctx.now()) {
            self.due = None;
        }
    }

    /// The timer has fired: starts what is due by now, and moves on from the nominal instant.
    async fn keep_up(&mut self, at: Timestamp) {
        let (turn, seen, spec) = (self.turn, self.seen(), self.state.spec.clone());
        let now = self.ctx.now().max(at);
        let mut due = self.ctx.decide("catch-up", move || spec.due(seen, now)).key(turn).await;
        (self.due, self.state.seen) = (None, Some(now));
        let Some(latest) = due.pop() else { return };
        if self.state.spec.overlap == Overlap::Allow {
            due.into_iter().for_each(|at| self.start(at, false));
        } else {
            self.state.backlog.extend(due);
        }
        let is_free = self.own().next().is_none();
        match self.state.spec.overlap {
            Overlap::Skip if !is_free => {}
            Overlap::Queue if !is_free => drop(self.state.queued.get_or_insert(latest)),
            Overlap::Cancel => {
                self.runs.retain(|run| run.made_up);
                // Not started here: a new run of the keeper may begin in between.
                self.state.queued = Some(latest);
            }
            Overlap::Skip | Overlap::Allow | Overlap::Queue => self.start(latest, false),
        }
    }

    /// The runs that the policy on overlaps looks at.
    fn own(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| !run.made_up)
    }

    fn start_what_waits(&mut self) {
        if self.own().next().is_none()
            && !self.must_leave()
            && let Some(at) = self.state.queued.take()
        {
            self.start(at, false);
        }
        let all_at_once = self.state.spec.overlap == Overlap::Allow;
        while all_at_once || self.runs.iter().all(|run| !run.made_up) {
            let Some(at) = self.state.backlog.pop_front() else { break };
            self.start(at, true);
        }
    }

    /// Starts the run of an instant, unless that was asked for before.
    fn start(&mut self, at: Timestamp, made_up: bool) {
        if !self.asked.insert(at) {
            return;
        }
        let on_close = match self.state.spec.overlap {
            Overlap::Cancel if !made_up => OnClose::Cancel,
            _ => OnClose::Abandon,
        };
        let flow = self.state.flow.clone();
        let call = self.ctx.call_dynamic("run", &*flow, Payload::null()).key(run_id::instant(at));
        let call = call.execution(run_id::of_run(&flow, at)).on_close(on_close);
        self.runs.push(Run { at, call, made_up });
    }

    /// Whether this run of the keeper has grown long enough.
    fn must_leave(&self) -> bool {
        let (events, most) = self.ctx.history();
        events > LONGEST.min(most / 2)
    }

    /// Whether to leave now: a run that ends with its call is not given up for that.
    fn is_long(&self) -> bool {
        let cancels = self.state.spec.overlap == Overlap::Cancel;
        self.must_leave() && (!cancels || self.own().next().is_none())
    }

    /// Begins a new run of the keeper. With `allow` nobody needs to know what goes on; else it is found again.
    async fn begin_anew(mut self) -> Result<(), Error> {
        if self.state.spec.overlap == Overlap::Allow {
            poll_fn(|context| {
                for run in &mut self.runs {
                    let _ = Pin::new(&mut run.call).poll(context);
                }
                Poll::Ready(())
            })
            .await;
        } else {
            self.state.running = self.own().map(|run| run.at).collect();
            self.state.making_up = self.runs.iter().find(|run| run.made_up).map(|run| run.at);
        }
        let state = Payload::encode(&self.state)?;
        self.ctx.continue_dynamic(state).await
    }
}
