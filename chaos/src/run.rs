//! One run: orders come in while the fleet is hurt, then all come to rest and are judged.
//! Not bounded by luck: the hurting has an end, and the rest a limit.

use std::time::{Duration, Instant};

use loom::{App, Status, ports::ListFilter};

use crate::{Database, Dice, Faults, Fleet, Ledger, clients::client, judge, operator::Operator, program};

/// How long all may take to come to rest, on any machine.
const REST: Duration = Duration::from_secs(300);

/// What happens, to how many.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The test that is a worker when it runs as a process of its own: it calls [`work`](crate::work).
    pub worker: &'static str,
    /// How many of them.
    pub workers: usize,
    /// How many orders; each has a child.
    pub orders: u64,
    /// For how long the fleet is hurt.
    pub hurt: Duration,
    /// Who is hurt, how and when.
    pub seed: u64,
}

impl Plan {
    /// With `LOOM_CHAOS_SEED` and `LOOM_CHAOS_SECONDS` of the environment, where they are set.
    #[must_use]
    pub fn or_as_told(mut self) -> Self {
        let told = |name| std::env::var(name).ok().map(|text: String| text.parse().unwrap());
        self.seed = told("LOOM_CHAOS_SEED").unwrap_or(self.seed);
        self.hurt = told("LOOM_CHAOS_SECONDS").map_or(self.hurt, Duration::from_secs);
        self
    }
}

/// Runs a plan. `hurt` does to the database what it can, and says what it was; none, where only processes are hurt.
///
/// # Panics
/// When an execution is stranded, wrong, or anything happened twice that must not.
pub async fn run(
    plan: &Plan,
    database: Database,
    ledger: Ledger,
    mut hurt: impl AsyncFnMut(&mut Dice) -> Option<&'static str>,
) -> Faults {
    eprintln!("chaos: seed {}, {} orders, {:?} of faults", plan.seed, plan.orders, plan.hurt);
    let app = program::open(&database, &ledger).await;
    let mut fleet = Fleet::start(plan.workers, plan.worker, database, ledger.clone());
    let mut operator = Operator {
        app: app.clone(),
        ledger: ledger.clone(),
        calm: fleet.calm(),
        verdicts: Default::default(),
    };
    let clients = async {
        let all: Vec<_> =
            (0..plan.orders).map(|n| tokio::spawn(client(app.clone(), n, plan.hurt, plan.seed))).collect();
        for client in all {
            client.await.unwrap();
        }
    };
    let hurting = async {
        let (mut dice, end) = (Dice::new(plan.seed), Instant::now() + plan.hurt);
        while Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(100 + dice.below(1_000))).await;
            fleet.go_on(Instant::now());
            match dice.below(10) {
                0..4 => fleet.kill(&mut dice),
                4..7 => fleet.stop(&mut dice),
                _ => match hurt(&mut dice).await {
                    Some(fault) => fleet.faults.count(fault),
                    None => fleet.kill(&mut dice),
                },
            }
        }
        fleet.rest();
    };
    let all = async {
        tokio::join!(clients, hurting);
        tokio::time::timeout(REST, at_rest(&app)).await
    };
    let rested = tokio::select! {
        rested = all => rested,
        () = operator.watch() => unreachable!("it watches for ever"),
    };
    if rested.is_err() {
        panic!("seed {}, {}: stranded are\n{}", plan.seed, fleet.faults, stranded(&app).await);
    }
    let (executions, events, effects) = judge::judge(&app, &ledger, plan.orders).await;
    let (made, not_made) = operator.given();
    eprintln!(
        "chaos: seed {}: {}; {} verdicts ({made} made, {not_made} not); checked {executions} executions, \
         {events} events, {effects} effects",
        plan.seed,
        fleet.faults,
        made + not_made,
    );
    fleet.faults
}

/// What has not ended.
fn open() -> ListFilter {
    let statuses = vec![Status::Running, Status::Suspended, Status::Parked];
    ListFilter { statuses, ..ListFilter::default() }
}

async fn at_rest(app: &App) {
    while !app.list(&open()).await.is_ok_and(|rows| rows.is_empty()) {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

async fn stranded(app: &App) -> String {
    let mut text = String::new();
    for row in app.list(&open()).await.unwrap() {
        let log = judge::told(app, &row.id).await.unwrap();
        text += &format!("{row:?}\n{log}");
    }
    text
}
