//! Those outside: who starts, writes to, cancels and forks executions, and who answers them.
//! Not part of any process that dies; but their calls go wrong like everybody's.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use loom_runtime::{
    App, ControlError, ExecutionId, FlowCall, ForkError, GateAddress, Payload, SendError, StartError, Status,
    kernel::{FrameKind, FrameStatus, machine::Verdict},
    ports::{ListFilter, StoreError},
};
use tokio::task::JoinSet;

use crate::{
    Act, Dice, Planned,
    flow::{NEWS, Run, Walk},
    program::returned,
    rules,
    world::World,
};

/// What the clients' process is called.
pub(crate) const CLIENT: &str = "client";

/// How soon who was refused asks again.
const AGAIN: Duration = Duration::from_millis(150);

pub(crate) fn id(number: u64) -> ExecutionId {
    format!("e{number}").parse().expect("a valid id")
}

/// Its fork.
pub(crate) fn fork(number: u64) -> ExecutionId {
    format!("e{number}-fork").parse().expect("a valid id")
}

/// Everything that clients do of their own accord.
pub(crate) fn begin(world: &Arc<World>, client: &App, happens: &mut JoinSet<()>) {
    for planned in &world.plan.executions {
        happens.spawn(start(world.clone(), planned.clone()));
        for (nth, act) in planned.acts.iter().enumerate() {
            happens.spawn(acts(world.clone(), client.clone(), planned.number, nth, *act));
        }
    }
}

/// Starts it in whatever process is there, until it is.
async fn start(world: Arc<World>, planned: Planned) {
    tokio::time::sleep(Duration::from_millis(planned.at)).await;
    let id = id(planned.number);
    for attempt in 0.. {
        let mut dice = Dice::at(world.plan.seed, &format!("start {id} {attempt}"));
        let there: Vec<_> = world.boots().iter().flatten().map(|(_, app)| app.clone()).collect();
        if let Some(app) = there.get(dice.below(there.len() as u64) as usize) {
            let call = FlowCall::<Walk>::new(Run::first(planned.program.clone(), "r"));
            let started = app.start(call).id(id.as_str());
            match tokio::time::timeout(Duration::from_secs(3), started.into_future()).await {
                Ok(Ok(_)) => return,
                Ok(Err(StartError::Store(StoreError::Unavailable(_)))) | Err(_) => {}
                Ok(Err(error)) => panic!("`{id}` cannot be started: {error}"),
            }
        }
        tokio::time::sleep(AGAIN).await;
    }
}

async fn acts(world: Arc<World>, client: App, number: u64, nth: usize, act: Act) {
    let (Act::Message { at } | Act::Cancel { at, .. } | Act::Fork { at, .. }) = act;
    tokio::time::sleep(Duration::from_millis(at)).await;
    let id = id(number);
    match act {
        Act::Message { .. } => say(&world, &client, &id, &format!("m{nth}")).await,
        Act::Cancel { force, .. } => loop {
            let told = if force {
                client.kill(&id, "enough", "ann").await
            } else {
                client.cancel(&id, "enough", "ann").await
            };
            match told {
                Err(ControlError::Store(StoreError::Unavailable(_))) => tokio::time::sleep(AGAIN).await,
                _ => return world.witness.note("cancels"),
            }
        },
        Act::Fork { cut, .. } => {
            let mut at = None;
            loop {
                let made = async {
                    let next = client.row(&id).await?.next;
                    let at = *at.get_or_insert(1 + next.saturating_sub(1) * cut / 1_000);
                    client.fork(&id).at(at).id(fork(number).as_str()).rerun_all().detached().await
                };
                match made.await {
                    Err(ForkError::Store(StoreError::Unavailable(_))) => tokio::time::sleep(AGAIN).await,
                    Ok(_) => return world.witness.note("forks"),
                    Err(_) => return, // not at this place
                }
            }
        }
    }
}

/// Sends a message, until it is in or cannot be any more.
async fn say(world: &World, client: &App, to: &ExecutionId, key: &str) {
    let says = format!("{to} {key}");
    loop {
        match client.send(to, NEWS, &says).key(key).by("ann").early().await {
            Ok(()) => {
                world.witness.note("messages");
                return world.witness.accepted(to, format!("{says:?}"));
            }
            Err(SendError::Store(StoreError::Unavailable(_))) => tokio::time::sleep(AGAIN).await,
            Err(_) => return,
        }
    }
}

/// Answers gates, gives verdicts, and, once nothing goes wrong any more, says what is still waited for.
pub(crate) async fn operate(world: Arc<World>, client: App) {
    let mut thirst = BTreeMap::new();
    for round in 0_u64.. {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let mut dice = Dice::at(world.plan.seed, &format!("operator {round}"));
        let _ = answer(&world, &client, &mut dice).await;
        let _ = judge(&world, &client, &mut dice).await;
        if world.weather.is_calm() {
            let _ = quench(&world, &client, &mut thirst).await;
        }
    }
}

async fn answer(world: &World, client: &App, dice: &mut Dice) -> Result<(), StoreError> {
    for gate in client.gates(None).await? {
        if !world.weather.is_calm() && !dice.in_a_thousand(400) {
            continue;
        }
        let who = if dice.below(2) == 0 { "ann" } else { "bob" };
        let address = GateAddress { execution: gate.execution, frame: gate.frame };
        let answer = Payload::encode(&dice.below(1_000)).unwrap_or_else(|_| Payload::null());
        if client.resume(&address, answer, who).await.is_ok() {
            world.witness.note("answers");
        }
    }
    Ok(())
}

async fn judge(world: &World, client: &App, dice: &mut Dice) -> Result<(), StoreError> {
    let filter = ListFilter { statuses: vec![Status::Parked], ..ListFilter::default() };
    for row in client.list(&filter).await? {
        let state = client.state(&row.id, None).await?;
        let Some((frame, attempt)) = rules::in_doubt(&state) else { continue };
        let verdict = match (dice.below(2), Payload::encode(&returned(frame.as_str()))) {
            (0, Ok(output)) => Verdict::Done(output),
            _ => Verdict::Again,
        };
        if client.judge_attempt(&row.id, &frame, attempt, verdict, "ann").await.is_ok() {
            world.witness.note("verdicts");
        }
    }
    Ok(())
}

/// Sends what is waited for. What waits has waited for a while: a message that is on its way has come by then.
async fn quench(
    world: &World,
    client: &App,
    thirst: &mut BTreeMap<ExecutionId, u64>,
) -> Result<(), StoreError> {
    let filter = ListFilter { statuses: vec![Status::Suspended], ..ListFilter::default() };
    for row in client.list(&filter).await? {
        let state = client.state(&row.id, None).await?;
        let waits = state.frames.values().any(|frame| {
            matches!(frame.kind, FrameKind::Message { .. }) && frame.status == FrameStatus::Open
        });
        let rounds = thirst.entry(row.id.clone()).or_default();
        *rounds = if waits { *rounds + 1 } else { 0 };
        if *rounds >= 4 {
            *rounds = 0;
            say(world, client, &row.id, &format!("top-{}", state.next)).await;
        }
    }
    Ok(())
}
