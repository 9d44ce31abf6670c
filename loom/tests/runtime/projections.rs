//! Projections: states that are folds over the log of one execution.
//! Not what the macro refuses: that is in `ui-tests`.

use loom::{Entry, Fold, FoldError, ProjectError, Registry, Status, prelude::*};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::support::{Rig, World, id, log, on_every_store};

#[event(name = "order.line")]
#[derive(Serialize, Deserialize, JsonSchema)]
struct Line {
    qty: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Failure)]
enum ShopError {
    /// No.
    #[failure(permanent)]
    Declined { amount: u32 },
    /// Try again.
    Busy,
    #[failure(engine)]
    Engine(EffectError),
}

#[step(retry(attempts = 3, initial = "1ms"))]
async fn charge(world: Res<World>, step: StepCx, amount: u32) -> Result<u32, ShopError> {
    world.hit(format!("charge {amount}"));
    match amount {
        13 => Err(ShopError::Declined { amount }),
        _ if step.attempt() == 1 => Err(ShopError::Busy),
        _ => Ok(amount * 10),
    }
}

#[step(pure, name = "free-of-charge")]
async fn free() -> Result<u32, ShopError> {
    Ok(0)
}

#[flow]
async fn selling(ctx: Ctx, lines: Vec<u32>) -> Result<u32, ShopError> {
    let mut sum = 0;
    for qty in lines {
        ctx.emit(&Line { qty });
        sum += ctx.run(charge(qty)).await.unwrap_or_default();
    }
    ctx.run(free()).await?;
    ctx.suspend::<bool>("go").await?;
    Ok(sum)
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Totals {
    lines: Vec<u32>,
    earned: u32,
    declined: Vec<u32>,
    free: u32,
    statuses: Vec<String>,
}

/// What was sold, and what was not.
#[projection(version = 2)]
impl Totals {
    #[on(Line)]
    fn line(&mut self, event: &Line) {
        self.lines.push(event.qty);
    }

    #[on(step = charge)]
    fn charged(&mut self, outcome: &Result<u32, ShopError>) {
        match outcome {
            Ok(amount) => self.earned += amount,
            Err(ShopError::Declined { amount }) => self.declined.push(*amount),
            Err(ShopError::Busy | ShopError::Engine(_)) => self.declined.push(0),
        }
    }

    #[on(step = free)]
    fn given(&mut self, outcome: Result<u32, ShopError>) {
        self.free += u32::from(outcome.is_ok());
    }

    #[on(lifecycle)]
    fn changed(&mut self, status: Status) {
        self.statuses.push(status.name().into());
    }
}

/// The type of another program: the outcomes of `charge` do not read as this.
mod elsewhere {
    use super::*;

    #[step]
    pub(super) async fn charge(amount: u32) -> loom::Result<Vec<String>> {
        Ok(vec![amount.to_string()])
    }
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
struct Wrong(u32);

#[projection]
impl Wrong {
    #[on(step = elsewhere::charge)]
    fn charged(&mut self, outcome: &loom::Result<Vec<String>>) {
        self.0 += u32::from(outcome.is_ok());
    }
}

fn program() -> Registry {
    Registry::of([
        Entry::flow::<selling>(),
        Entry::step::<charge>(),
        Entry::step::<free>(),
        Entry::event::<Line>(),
        Entry::projection::<Totals>(),
        Entry::projection::<Wrong>(),
    ])
}

on_every_store! {
async fn a_projection_folds_events_outcomes_and_statuses(rig: Rig) {
    let app = rig.app(program()).await;
    let started = app.start(selling(vec![2, 13, 3])).id("one").await.unwrap();
    started.until(&[Status::Suspended]).await.unwrap();
    let before: Totals = app.project(started.id()).await.unwrap();
    assert_eq!((before.lines.as_slice(), before.earned, before.declined.as_slice()), (&[2, 13, 3][..], 50, &[13][..]));
    assert_eq!(before.free, 1);
    assert_eq!(before.statuses, ["running", "suspended"]);

    started.resume("go", &true, "ada").await.unwrap();
    assert_eq!(started.result().await.unwrap(), 50);
    let after: Totals = app.project(started.id()).await.unwrap();
    assert_eq!(after.statuses.last().map(String::as_str), Some("completed"));

    // Event by event, with the fold itself stored in between, comes to the same.
    let log = log(&app, &id("one")).await;
    let mut fold = Fold::<Totals>::new();
    for envelope in &log {
        fold.apply(envelope).unwrap();
        fold = serde_json::from_value(serde_json::to_value(&fold).unwrap()).unwrap();
    }
    assert_eq!(fold.into_state(), after);
    assert_eq!(Fold::<Totals>::of(&log).unwrap(), after);
}

async fn an_outcome_that_does_not_read_is_an_error_that_names_it(rig: Rig) {
    let app = rig.app(program()).await;
    let started = app.start(selling(vec![2])).id("one").await.unwrap();
    started.until(&[Status::Suspended]).await.unwrap();
    let Err(ProjectError::Fold(FoldError::Outcome { step, position, ty, .. })) =
        app.project::<Wrong>(started.id()).await
    else {
        panic!("it was read")
    };
    assert_eq!(step, "charge");
    assert!(ty.contains("Vec") && position > 0, "{ty} at {position}");
    assert!(matches!(app.project::<Totals>(&id("nobody")).await, Err(ProjectError::Store(_))));
}
}

#[test]
fn the_descriptor_says_what_is_folded() {
    let registry = program();
    let totals = registry.projection("totals").unwrap();
    assert_eq!((totals.version, totals.doc, totals.lifecycle), (2, "What was sold, and what was not.", true));
    assert_eq!(totals.events.iter().map(|event| event.name).collect::<Vec<_>>(), ["order.line"]);
    assert_eq!(totals.steps.iter().map(|step| step.name).collect::<Vec<_>>(), ["charge", "free-of-charge"]);
    assert_eq!((totals.state)().pointer("/properties/earned/type"), Some(&"integer".into()));
    assert!(!registry.projection("wrong").unwrap().lifecycle);
}
