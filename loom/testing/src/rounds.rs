//! The rounds of a test: first undisturbed, then once for everything that it is put through, and the comparison.
//! Not what happens in a round: that is the world's.

use std::panic::AssertUnwindSafe;

use futures_util::{FutureExt, future::LocalBoxFuture};
use loom_runtime::{
    Registry,
    kernel::{Envelope, panic_text},
    replay_check,
};

use crate::{
    Test,
    compare::Recorded,
    disturbance::{Disturbance, Point},
    timeline::{Mark, timeline},
    world::{World, Write},
};

/// What a test is put through.
pub struct Plan {
    /// The test's path.
    pub name: &'static str,
    /// The folder of its crate, from which files are named.
    pub folder: &'static str,
    /// Whether the process dies around every event.
    pub crash: bool,
    /// Whether every flow is rebuilt after each outcome.
    pub replay: bool,
    /// The seed of the first run under faults, and how many there are.
    pub faults: Option<(u64, u32)>,
}

/// How the body of a test may end.
pub trait Ends {
    /// Whether it is well, and if not, why.
    ///
    /// # Errors
    /// It is not.
    fn ended(self) -> Result<(), String>;
}

impl Ends for () {
    fn ended(self) -> Result<(), String> {
        Ok(())
    }
}

impl<E: std::fmt::Debug> Ends for Result<(), E> {
    fn ended(self) -> Result<(), String> {
        self.map_err(|error| format!("the test failed with {error:?}"))
    }
}

/// What a round has come to.
struct Round {
    ended: Result<(), String>,
    recorded: Recorded,
    logs: Vec<Vec<Envelope>>,
    writes: Vec<Write>,
    marks: Vec<Mark>,
    begin: loom_runtime::Timestamp,
}

/// Runs a test: what `#[loom::test]` expands to.
///
/// # Panics
/// When it fails: with what was found, where, and the logs as a timeline.
pub fn run(plan: &Plan, body: impl Fn(Test) -> LocalBoxFuture<'static, Result<(), String>>) {
    let play = |disturbance| play(plan, disturbance, &body);
    let plain = play(Disturbance::None);
    if let Err(error) = &plain.ended {
        plain.fail(plan, "", error);
    }
    for log in plain.logs.iter().filter(|log| !log.is_empty()) {
        if let Err(report) = replay_check(&Registry::linked(), log) {
            let found = format!("the flow does not do again what its log says\n{report}");
            plain.fail(plan, "replayed from its log,\n", &found);
        }
    }
    if plan.crash {
        for (nth, write) in plain.writes.iter().enumerate() {
            for point in [Point::Before(nth), Point::After(nth)] {
                let crashed = play(Disturbance::Crash(point));
                plain.holds(plan, &crashed, &told(point, write));
                crashed.was_there(plan, &plain, nth);
            }
        }
    }
    if plan.replay {
        let rebuilt = play(Disturbance::HandBack);
        plain.holds(plan, &rebuilt, "rebuilt from its log after every outcome,\n");
    }
    let (seed, runs) = plan.faults.unwrap_or_default();
    for seed in (0..u64::from(runs)).map(|run| seed.wrapping_add(run)) {
        let faulty = play(Disturbance::Faults(seed));
        plain.holds(plan, &faulty, &format!("under the faults of `faults(seed = {seed}, runs = 1)`,\n"));
    }
}

/// Where a process died, in words.
fn told(point: Point, write: &Write) -> String {
    let Write { execution, from, until, kinds } = write;
    let (when, sequence, kind) = match point {
        Point::Before(_) => ("before", *from, kinds.first()),
        Point::After(_) => ("after", until - 1, kinds.last()),
    };
    let kind = kind.map(String::as_str).unwrap_or_default();
    format!("when the process dies right {when} event {sequence} of `{execution}` ({kind}) is durable,\n")
}

/// One round, in a runtime and a world of its own.
fn play(
    plan: &Plan,
    disturbance: Disturbance,
    body: &impl Fn(Test) -> LocalBoxFuture<'static, Result<(), String>>,
) -> Round {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    let runtime = runtime.unwrap_or_else(|error| panic!("there is no runtime for the test: {error}"));
    runtime.block_on(async {
        let world = World::new(disturbance);
        let test = Test::new(world.clone(), plan.folder);
        let body = AssertUnwindSafe(async { body(test).await }).catch_unwind();
        let mut ended = body.await.unwrap_or_else(|panic| Err(panic_text(panic.as_ref())));
        if ended.is_ok() {
            ended = world.come_to_rest().await;
        }
        let logs = world.logs();
        let recorded = Recorded::of(&world, &logs);
        let (writes, marks, begin) = (world.writes(), world.marks(), world.begin());
        world.end();
        Round { ended, recorded, logs, writes, marks, begin }
    })
}

impl Round {
    /// Holds a disturbed round to this one.
    fn holds(&self, plan: &Plan, disturbed: &Self, when: &str) {
        if let Some(difference) =
            self.recorded.difference(&disturbed.recorded).filter(|_| disturbed.ended.is_ok())
        {
            disturbed.fail(plan, when, &difference);
        }
        if let Err(error) = &disturbed.ended {
            disturbed.fail(plan, when, error);
        }
    }

    /// A round that has not come to where it was to die took another way before, undisturbed.
    fn was_there(&self, plan: &Plan, plain: &Self, nth: usize) {
        if !self.marks.is_empty() && self.writes.get(..nth) == plain.writes.get(..nth) {
            return;
        }
        let first = timeline(&plain.logs, plain.begin, &[]);
        let found = format!(
            "two runs of this test write different logs, and nobody disturbed them: something in it is another with every \
             run (the order of a `HashMap`, a clock, a thread); the first run wrote\n\n{first}\nand another one"
        );
        self.fail(plan, "", &found);
    }

    fn fail(&self, plan: &Plan, when: &str, found: &str) -> ! {
        let timeline = timeline(&self.logs, self.begin, &self.marks);
        panic!("{}: {when}{found}\n\n{}", plan.name, timeline.trim_end())
    }
}
