//! Agents and what they work with: tools, skills, policies, schedules, as the registry holds them.
//! Not a loop with a model: there is none yet.

use std::time::Duration;

use loom::{
    Agent, App, Entry, Flow, Registry, RegistryError, ScheduleDescriptor, Skill, Status, Step, Tool,
    kernel::{Event, Upcasted},
    prelude::*,
};

use crate::support::{Rig, id, log, on_every_store, registry, until};

/// Look up an order.
#[tool(reads, effects("shop.read"))]
async fn find_order(
    /// The number on the invoice.
    number: String,
    #[serde(default)] parcels: bool,
) -> loom::Result<String> {
    Ok(format!("{number} {parcels}"))
}

/// Give money back.
#[tool(at_most_once, effects("payments.write"), name = "refund-money")]
async fn refund(step: StepCx, amount: u32) -> loom::Result<u32> {
    let _ = step.idempotency_key();
    Ok(amount)
}

/// When a customer gets money back.
#[skill(file = "refunds.md")]
struct RefundRules;

/// Pays nothing.
#[policy]
const NO_PAYMENTS: Policy = Policy::new().deny(&["payments.*"]);

/// Talks to the shop alone.
#[policy]
static SHOP: Policy = Policy::new().allow(&["shop.*"]);

/// Anything.
#[policy(name = "free")]
fn anything() -> Policy {
    Policy::new()
}

/// You answer customers.
///
/// Be short.
#[agent(
    model = "small",
    tools = [find_order, refund],
    skills = [RefundRules],
    max_turns = 8,
    budget(tokens = 50_000, usd = 0.25),
    policies = [NO_PAYMENTS, SHOP]
)]
async fn support(ctx: Ctx, number: String) -> loom::Result<String> {
    ctx.run(find_order(number, false)).await
}

#[flow(schedule = "0 9 * * MON-FRI", time_zone = "Europe/Zurich", policies = [anything])]
async fn morning(ctx: Ctx) -> loom::Result<()> {
    let _ = ctx.now();
    Ok(())
}

#[flow(schedule = "*/5 * * * *")]
async fn often(_: Ctx) -> loom::Result<()> {
    Ok(())
}

fn everything() -> Vec<Entry> {
    vec![
        Entry::agent::<support>(),
        Entry::tool::<refund>(),
        Entry::tool::<find_order>(),
        Entry::skill::<RefundRules>(),
        Entry::policy::<SHOP>(),
        Entry::policy::<NO_PAYMENTS>(),
        Entry::policy::<anything>(),
        Entry::flow::<morning>(),
    ]
}

#[test]
fn the_registry_is_sorted_and_holds_each_under_its_kind() {
    let registry = Registry::of(everything());
    let tools: Vec<_> = registry.tools().map(loom::ToolDescriptor::name).collect();
    assert_eq!(tools, ["find_order", "refund-money"]);
    assert_eq!(registry.steps().map(|step| step.name).collect::<Vec<_>>(), tools, "a tool is a step");
    assert_eq!(registry.flows().map(|flow| flow.name).collect::<Vec<_>>(), ["morning", "support"]);
    assert_eq!(
        registry.policies().map(|policy| policy.name).collect::<Vec<_>>(),
        ["free", "no-payments", "shop"]
    );
    assert!(!(registry.policy("no-payments").unwrap().value)().permits("payments.write"));
    let skill = registry.skill("refund-rules").unwrap();
    assert_eq!(skill.description, "When a customer gets money back.");
    assert!((skill.instructions)().starts_with("Money goes back"));
    assert_eq!(skill.file, "refunds.md");
    assert!(App::builder().registry(registry).build().is_ok());
}

#[test]
fn everything_is_linked_in_by_itself() {
    let linked = Registry::linked();
    assert!(linked.agent("support").is_some() && linked.flow("support").is_some());
    assert!(linked.tool("refund-money").is_some() && linked.step("refund-money").is_some());
    assert!(linked.skill("refund-rules").is_some() && linked.policy("no-payments").is_some());
    assert!(linked.event("order.line").is_some() && linked.projection("totals").is_some());
    let names: Vec<_> = linked.policies().map(|policy| policy.name).collect();
    assert!(names.is_sorted(), "{names:?}");
}

#[test]
fn an_agent_is_a_flow_and_says_what_it_works_with() {
    let agent = support::AGENT;
    assert_eq!((agent.name(), agent.instructions), ("support", "You answer customers.\n\nBe short."));
    assert_eq!((agent.model, agent.max_turns), (Some("small"), Some(8)));
    assert_eq!((agent.budget.tokens, agent.budget.usd_micros), (Some(50_000), Some(250_000)));
    assert_eq!(
        agent.tools.iter().map(|tool| tool.name()).collect::<Vec<_>>(),
        ["find_order", "refund-money"]
    );
    assert_eq!(agent.skills[0].name, RefundRules::DESCRIPTOR.name);
    assert_eq!(
        agent.policies().iter().map(|policy| policy.name).collect::<Vec<_>>(),
        ["no-payments", "shop"]
    );
    assert_eq!(agent.output().get("type"), Some(&"string".into()));
    assert_eq!(agent.flow.graph.len(), 1);
}

/// An agent of three releases: the second has a higher budget, the third another input as well.
mod desk {
    use super::*;

    pub(super) fn shouted(old: String) -> Vec<String> {
        vec![old.to_uppercase()]
    }

    pub(super) mod first {
        use super::*;
        /// You answer.
        #[agent(name = "desk", tools = [find_order], budget(tokens = 1_000))]
        pub(crate) async fn desk(ctx: Ctx, number: String) -> loom::Result<String> {
            ctx.suspend::<bool>("go").await?;
            ctx.run(find_order(number, false)).await
        }
    }

    pub(super) mod second {
        use super::*;
        /// You answer.
        #[agent(name = "desk", tools = [find_order,], budget(tokens = 2_000), effects("shop.*"))]
        pub(crate) async fn desk(ctx: Ctx, number: String) -> loom::Result<String> {
            ctx.suspend::<bool>("go").await?;
            ctx.run(find_order(number, false)).await
        }
    }

    pub(super) mod allowed {
        use super::*;
        /// You answer.
        #[agent(tools = [find_order], name = "desk", budget(tokens = 1000), effects("shop.*"), policies = [SHOP])]
        pub(crate) async fn desk(ctx: Ctx, number: String) -> loom::Result<String> {
            ctx.suspend::<bool>("go").await?;
            ctx.run(find_order(number, false)).await
        }
    }

    pub(super) mod third {
        use super::*;
        /// You answer.
        #[agent(name = "desk", version = 2, upcast(1 => shouted))]
        pub(crate) async fn desk(ctx: Ctx, numbers: Vec<String>) -> loom::Result<String> {
            ctx.suspend::<bool>("go").await?;
            ctx.run(find_order(numbers.join("+"), false)).await
        }
    }
}

#[test]
fn k11_what_an_agent_works_with_is_part_of_its_code() {
    let of = |flow: &loom::FlowDescriptor| flow.fingerprint;
    let first = of(desk::first::desk::DESCRIPTOR);
    assert_ne!(first, of(desk::second::desk::DESCRIPTOR), "another budget");
    assert_eq!(first, of(desk::allowed::desk::DESCRIPTOR), "a ceiling and policies judge it from outside");
}

on_every_store! {
    /// K11: an open execution goes on when the limits of its agent change, and its log notes the other code.
    async fn k11_an_agent_goes_on_with_another_budget(rig: Rig) {
        let app = rig.app(registry!(flows: [desk::first::desk], steps: [find_order])).await;
        app.start(desk::first::desk("7".into())).id("desk").await.unwrap();
        suspended(&app).await;
        app.shutdown(Duration::ZERO).await;
        let app = rig.app(registry!(flows: [desk::second::desk], steps: [find_order])).await;
        app.work();
        let handle = app.handle::<desk::second::desk>(&id("desk"));
        handle.resume("go", &true, "ada").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), "7 false");
        let noted = log(&app, &id("desk")).await;
        assert!(noted.iter().any(|envelope| matches!(envelope.event, Event::ExecutionMigrated(_))));
    }

    /// K11: an agent's input has versions, as a flow's.
    async fn k11_an_agents_input_of_an_older_version_is_brought_to_that_of_today(rig: Rig) {
        let app = rig.app(registry!(flows: [desk::first::desk], steps: [find_order])).await;
        app.start(desk::first::desk("x7".into())).id("desk").await.unwrap();
        suspended(&app).await;
        app.shutdown(Duration::ZERO).await;
        let app = rig.app(registry!(flows: [desk::third::desk], steps: [find_order])).await;
        app.work();
        let handle = app.handle::<desk::third::desk>(&id("desk"));
        handle.resume("go", &true, "ada").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), "X7 false");
        let log = log(&app, &id("desk")).await;
        let noted = log.iter().find_map(|envelope| match &envelope.event {
            Event::ExecutionMigrated(migrated) => migrated.input,
            _ => None,
        });
        assert_eq!(noted, Some(Upcasted { from: 1, to: 2 }));
    }
}

/// Waits until the execution waits for its gate.
async fn suspended(app: &App) {
    until(|| async { app.state(&id("desk"), None).await.unwrap().status == Status::Suspended }).await;
}

#[test]
fn a_tool_tells_models_of_each_argument() {
    let tool = find_order::TOOL;
    assert_eq!(tool.description(), "Look up an order.");
    let schema = tool.arguments();
    assert_eq!(schema.pointer("/properties/number/description"), Some(&"The number on the invoice.".into()));
    assert_eq!(schema.get("required"), Some(&serde_json::json!(["number"])));
    assert_eq!(schema.get("additionalProperties"), Some(&false.into()));
    assert_eq!(tool.step.effects, ["shop.read"]);
    let step_cx_is_no_argument = refund::TOOL.arguments();
    assert_eq!(step_cx_is_no_argument.pointer("/required"), Some(&serde_json::json!(["amount"])));
}

#[test]
fn a_schedule_is_kept_as_it_is_written() {
    let of = |cron, time_zone| Some(ScheduleDescriptor::new(cron, time_zone));
    assert_eq!(morning::DESCRIPTOR.schedule, of("0 9 * * MON-FRI", "Europe/Zurich"));
    assert_eq!(often::DESCRIPTOR.schedule, of("*/5 * * * *", "UTC"));
    assert_eq!(support::DESCRIPTOR.schedule, None);
}

#[test]
fn what_an_agent_refers_to_must_be_there() {
    let mut entries = everything();
    entries.retain(|entry| !matches!(entry, Entry::Skill(_) | Entry::Policy(_)));
    entries.remove(1);
    let Err(error) = App::builder().registry(Registry::of(entries)).build() else { panic!("it was built") };
    let missing: Vec<_> = error
        .errors
        .iter()
        .map(|error| match error {
            RegistryError::Dangling { what, name, wanted, missing, .. } => (*what, *name, *wanted, *missing),
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(
        missing,
        [
            ("flow", "morning", "policy", "free"),
            ("flow", "support", "policy", "no-payments"),
            ("flow", "support", "policy", "shop"),
            ("agent", "support", "tool", "refund-money"),
            ("agent", "support", "skill", "refund-rules"),
        ]
    );
    let said = error.to_string();
    assert!(said.contains(&support::DESCRIPTOR.location.to_string()), "{said}");
    assert!(said.contains(&refund::DESCRIPTOR.location.to_string()), "{said}");
}

on_every_store! {
async fn an_agent_with_a_body_runs_as_a_flow(rig: Rig) {
    let app = rig.app(Registry::of(everything())).await;
    let started = app.start(support("7".into())).id("one").await.unwrap();
    assert_eq!(started.result().await.unwrap(), "7 false");
}
}
