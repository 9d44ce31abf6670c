//! The interpreter: a flow that walks a plan which it has read.
//! It knows nothing of columns and tables: what a plan does is what the registered steps do.

use loom::{ExecuteError, Payload, prelude::*};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    plan::{Node, Stages, input_for},
    steps::{MigrationError, load},
};

/// What is answered at the gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Approval {
    /// Whether what the plan calls destructive may be done.
    pub approved: bool,
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// The plan's name.
    pub plan: String,
    /// The nodes, in the order in which they were done.
    pub done: Vec<String>,
}

/// One node for one of its targets, of which something was done: what a way back is for.
type Done = (Node, String);

/// Carry a plan out: what can be taken back first, then, if somebody agrees, the rest. On any failure, back.
#[flow(effects("plan.read", "db.*"))]
pub async fn migrate(ctx: Ctx, file: String) -> Result<Report, MigrationError> {
    let plan = ctx.run(load(file)).await?;
    let Stages { safe, destructive } = plan.stages().map_err(MigrationError::BadPlan)?;
    let done = safe.iter().chain(&destructive).map(|node| node.id.clone()).collect();

    let (mut changed, failed) = ctx.part("safe", walk(safe)).await;
    if let Some((node, error)) = failed {
        return Err(ctx.part("back", take_back(changed, node, error)).await);
    }
    if !destructive.is_empty() {
        let answer = ctx.suspend::<Approval>("destroy").timeout(days(7)).await;
        let declined = match answer {
            Ok(answer) if answer.approved => None,
            Ok(_) => Some("somebody said no".to_owned()),
            Err(error) => Some(error.to_string()),
        };
        if let Some(reason) = declined {
            ctx.part("declined", undo(changed)).await?;
            return Err(MigrationError::Declined(reason));
        }
        let (more, failed) = ctx.part("destructive", walk(destructive)).await;
        changed.extend(more);
        if let Some((node, error)) = failed {
            return Err(ctx.part("back-from-there", take_back(changed, node, error)).await);
        }
    }
    Ok(Report { plan: plan.name, done })
}

/// Node by node, and side by side what a node does for each of its targets.
#[flow(part, effects("db.*"))]
async fn walk(ctx: Ctx, nodes: Vec<Node>) -> (Vec<Done>, Option<(String, ExecuteError)>) {
    let mut done = Vec::new();
    for node in nodes {
        let targets = node.targets();
        let calls =
            targets.iter().map(|target| ctx.part("for", call(node.clone(), target.clone())).key(target));
        let mut failed = None;
        // All of them come to an end: nothing is under way when something is taken back.
        for (target, (changed, error)) in targets.iter().zip(join_all(calls).await) {
            if changed {
                done.push((node.clone(), target.clone()));
            }
            failed = failed.or(error);
        }
        if let Some(error) = failed {
            return (done, Some((node.id, error)));
        }
    }
    (done, None)
}

/// One step, as often as its outcome says `more`: whether it did anything, and what went wrong.
///
/// Each step is one transaction of the database that it changes: one that failed has changed nothing, and a way back
/// from there would destroy what was there before.
#[flow(part, effects("db.*"))]
async fn call(ctx: Ctx, node: Node, target: String) -> (bool, Option<ExecuteError>) {
    let input = input_for(&node.input, &target);
    let mut changed = false;
    loop {
        let outcome = if node.destructive {
            ctx.execute(&node.id, &node.step, &input).await
        } else {
            ctx.part("kept", keeping(node.id.clone(), node.step.clone(), input.clone())).await
        };
        let output = match outcome {
            Ok(output) => output,
            Err(error) => return (changed, Some(error)),
        };
        changed = true;
        let more = output.decode::<Value>().is_ok_and(|output| output["more"] == true);
        if !(node.while_more && more) {
            return (changed, None);
        }
    }
}

/// A step that takes nothing away. A plan that does not say of a node that it is destructive does not get far with it:
/// nobody compiled the plan, so that this ceiling is held while it is carried out.
#[flow(part, effects("db.read", "db.write"))]
async fn keeping(ctx: Ctx, id: String, step: String, input: Value) -> Result<Payload, ExecuteError> {
    ctx.execute(id, step, input).await
}

/// Backwards through what was done, and what to say of it.
#[flow(part, effects("db.*"))]
async fn take_back(ctx: Ctx, done: Vec<Done>, node: String, error: ExecuteError) -> MigrationError {
    match ctx.part("undo", undo(done)).await {
        Ok(undone) => {
            let (code, message) = (error.code().to_owned(), error.to_string());
            MigrationError::TakenBack { node, code, message, undone }
        }
        Err(error) => error,
    }
}

/// Takes everything back that says how.
#[flow(part, effects("db.*"))]
async fn undo(ctx: Ctx, done: Vec<Done>) -> Result<usize, MigrationError> {
    let mut undone = 0;
    for (node, target) in done.into_iter().rev() {
        let Some(way) = node.undo else { continue };
        let id = format!("undo-{}-{target}", node.id);
        let outcome = ctx.execute(id, &way.step, input_for(&way.input, &target)).await;
        outcome.map_err(|error| MigrationError::Database(format!("not taken back: {error}")))?;
        undone += 1;
    }
    Ok(undone)
}
