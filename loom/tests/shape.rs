//! The shape file: what it holds, what it says when it is out of date, what writes it.
//! Not the graph: the macros' own tests and those of the command line have it.

use std::{fs, path::Path};

use loom::{
    Entry, Registry,
    prelude::*,
    shape::{self, Held},
};
use serde_json::{Value, json};

/// What a manager answers.
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Approval {
    approved: bool,
}

#[step(at_most_once, effects("payments.write"))]
async fn charge(amount: u32) -> loom::Result<u32> {
    Ok(amount)
}

#[step(retry(attempts = 2, initial = "1s"), timeout = "10s")]
async fn poll(amount: u32) -> loom::Result<Option<Approval>> {
    Ok((amount > 0).then_some(Approval { approved: true }))
}

mod till {
    use super::*;

    /// A part, a flow that calls it, in a module of their own.
    #[flow(part, effects("payments.*"))]
    pub(crate) async fn pay(ctx: Ctx, amount: u32) -> loom::Result<u32> {
        let answer = ctx.suspend::<Approval>("manager").await?;
        if answer.approved { ctx.run(charge(amount)).id("deposit").await } else { Ok(0) }
    }

    #[flow(effects("payments.write", "payments.*"))]
    pub(crate) async fn checkout(ctx: Ctx, amount: u32) -> loom::Result<u32> {
        while ctx.run(poll(amount)).await?.is_none() {
            ctx.sleep(seconds(1)).await;
        }
        join_all([ctx.run(poll(1)).id("left"), ctx.run(poll(2)).id("right")]).await;
        ctx.part("pay", pay(amount)).await
    }
}

/// Everything that is neither flow, part nor step.
mod desk {
    use super::*;

    /// Somebody asked.
    #[event(name = "desk.asked", version = 2, upcast(1 => from_v1))]
    #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    pub(crate) struct Asked {
        question: String,
    }

    fn from_v1(question: String) -> Asked {
        Asked { question }
    }

    /// Look up an order.
    #[tool(reads, effects("shop.read"))]
    pub(crate) async fn find_order(
        /// The number on the invoice.
        number: String,
    ) -> loom::Result<String> {
        Ok(number)
    }

    /// When a customer gets money back.
    #[skill(file = "shape.rs")]
    pub(crate) struct Refunds;

    /// Pays nothing.
    #[policy]
    pub(crate) const NO_PAYMENTS: Policy = Policy::new().deny(&["payments.*"]);

    /// You answer customers.
    #[agent(
        model = "small",
        tools = [find_order],
        skills = [Refunds],
        max_turns = 8,
        budget(tokens = 50_000, usd = 0.25),
        policies = [NO_PAYMENTS],
    )]
    pub(crate) async fn support(ctx: Ctx, question: String) -> loom::Result<String> {
        ctx.emit(&Asked { question: question.clone() });
        'turns: for turn in 0..3 {
            loop {
                match ctx.run(find_order(question.clone())).await?.len() {
                    0 => continue 'turns,
                    1 if turn > 1 => break 'turns,
                    2 => break,
                    _ => {}
                }
            }
        }
        Ok(question)
    }

    /// Hears of prices, and gives some.
    #[flow]
    pub(crate) async fn prices(ctx: Ctx) -> loom::Result<u32> {
        let quote = ctx.receive::<Asked>("quote").update::<u32>().await;
        quote.accept(&1);
        Ok(ctx.receive::<u32>("price").await)
    }

    /// Tidies the desk.
    #[flow(
        schedule = "0 18 * * MON-FRI",
        time_zone = "Europe/Zurich",
        overlap = "queue",
        catch_up = "all within 6h"
    )]
    pub(crate) async fn tidy(ctx: Ctx) -> loom::Result<()> {
        let _ = ctx.now();
        Ok(())
    }

    /// How many asked.
    #[derive(Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    pub(crate) struct Questions {
        asked: u32,
        found: u32,
    }

    #[projection(version = 3)]
    impl Questions {
        #[on(Asked)]
        fn asked(&mut self, _: &Asked) {
            self.asked += 1;
        }

        #[on(step = find_order)]
        fn found(&mut self, _: loom::Result<String>) {
            self.found += 1;
        }

        #[on(lifecycle)]
        fn ended(&mut self, status: loom::Status) {
            self.asked += u32::from(status.is_terminal());
        }
    }
}

/// What a name means in a body, the body may say itself.
mod scopes {
    use super::*;

    mod bank {
        use super::super::*;

        #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[schemars(rename = "BankApproval")]
        pub(super) struct Approval {
            pub(super) officer: String,
        }

        #[flow(part)]
        pub(super) async fn pay(ctx: Ctx) -> loom::Result<u32> {
            Ok(ctx.receive::<u32>("paid").await)
        }
    }

    #[flow(part)]
    async fn pay(ctx: Ctx) -> loom::Result<u32> {
        let _ = ctx;
        Ok(1)
    }

    #[flow]
    pub(crate) async fn scoped(ctx: Ctx) -> loom::Result<u32> {
        #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        struct Local {
            sum: u32,
        }
        let mut sum = ctx.suspend::<Local>("local").await?.sum;
        sum += u32::from(ctx.suspend::<Approval>("manager").await?.approved);
        sum += ctx.part("here", pay()).await?;
        {
            use bank::*;
            sum += ctx.suspend::<Approval>("officer").await?.officer.len() as u32;
        }
        {
            use bank::{Approval as Answer, pay};
            let told = ctx.receive::<Answer>("told").update::<Local>().await;
            told.accept(&Local { sum });
            sum += ctx.part("there", pay()).await?;
        }
        Ok(sum)
    }

    #[flow]
    pub(crate) async fn conditional(ctx: Ctx) -> loom::Result<u32> {
        #[cfg(target_os = "none")]
        let sum = ctx.run(wired(1)).await?;
        #[cfg(not(target_os = "none"))]
        let sum = ctx.run(charge(1)).await?;
        #[cfg(target_os = "none")]
        ctx.run(charge(2)).await?;
        #[cfg(target_os = "none")]
        ctx.part("elsewhere", elsewhere()).await?;
        #[cfg(target_os = "none")]
        return ctx.suspend::<Elsewhere>("manager").await?.sum;
        match sum {
            #[cfg(target_os = "none")]
            0 => Ok(ctx.receive::<Elsewhere>("told").update::<Elsewhere>().await?.sum),
            _ => ctx.part("pay", pay()).await,
        }
    }
}

/// What is called by other names than its own.
mod names {
    use super::{charge as take, *};

    fn deposit(amount: u32) -> loom::StepCall<charge> {
        charge(amount)
    }

    fn checked(amount: u32) -> loom::FlowCall<till::checkout> {
        till::checkout(amount)
    }

    #[flow(part)]
    async fn helped(ctx: Ctx) -> loom::Result<u32> {
        ctx.run(deposit(1)).await
    }

    #[flow]
    pub(crate) async fn renamed(ctx: Ctx) -> loom::Result<u32> {
        use super::poll as r#type;
        ctx.run(deposit(1)).id("first").await?;
        ctx.run(take(1)).await?;
        ctx.run(r#type(1)).await?;
        let held = charge(2);
        ctx.run(held).id("held").await?;
        ctx.call(checked(1)).await?;
        ctx.part("helped", helped()).await
    }
}

fn registry() -> Registry {
    Registry::of([
        Entry::flow::<till::checkout>(),
        Entry::step::<charge>(),
        Entry::step::<poll>(),
        Entry::event::<desk::Asked>(),
        Entry::tool::<desk::find_order>(),
        Entry::skill::<desk::Refunds>(),
        Entry::policy::<desk::NO_PAYMENTS>(),
        Entry::agent::<desk::support>(),
        Entry::flow::<desk::prices>(),
        Entry::flow::<desk::tidy>(),
        Entry::projection::<desk::Questions>(),
        Entry::flow::<scopes::scoped>(),
        Entry::flow::<scopes::conditional>(),
        Entry::flow::<names::renamed>(),
    ])
}

fn shape_of(library: &str) -> Value {
    serde_json::from_str(&shape::of(&registry(), library)).expect("JSON")
}

#[test]
fn it_holds_what_a_crate_registers() {
    let shape = shape_of("shape");
    assert_eq!(
        shape["flows"]["checkout"],
        json!({
            "input": {"type": "integer", "format": "uint32", "minimum": 0},
            "output": {"type": "integer", "format": "uint32", "minimum": 0},
            "error": "Error",
            "effects": ["payments.write", "payments.*"],
            "gates": {},
            "parts": ["pay"],
            "graph": [
                {"loop, may be unbounded": ["step poll", "timer sleep"]},
                {"side by side": [["step poll as left"], ["step poll as right"]]},
                "part pay",
            ],
        })
    );
    assert_eq!(
        shape["parts"]["pay"],
        json!({
            "effects": ["payments.*"],
            "gates": {"manager": "Approval"},
            "parts": [],
            "graph": ["gate manager", {"branch": [["step charge as deposit"], []]}],
        })
    );
    assert_eq!(shape["steps"]["charge"]["delivery"], "at_most_once");
    assert_eq!(shape["steps"]["charge"]["effects"], json!(["payments.write"]));
    assert_eq!(shape["steps"]["poll"]["retry"]["attempts"], 2);
    assert_eq!(shape["steps"]["poll"]["timeout_ms"], 10_000);
    assert_eq!(shape["types"]["Approval"]["description"], "What a manager answers.");
}

#[test]
fn it_holds_what_is_no_flow_part_or_step() {
    let shape = shape_of("shape");
    let agent = &shape["agents"]["support"];
    assert_eq!(
        json!([agent["model"], agent["tools"], agent["skills"], agent["max_turns"], agent["policies"]]),
        json!(["small", ["find_order"], ["refunds"], 8, ["no-payments"]])
    );
    assert_eq!(agent["budget"], json!({"tokens": 50_000, "usd_micros": 250_000}));
    assert_eq!(agent["instructions"], "You answer customers.");
    assert_eq!(
        agent["graph"],
        json!([
            "emit desk.asked",
            {"'turns: loop": [{"loop, may be unbounded": [
                "step find_order",
                {"branch": [["continue 'turns"], ["break 'turns"], ["break"], []]},
            ]}]},
        ])
    );
    let tool = &shape["tools"]["find_order"];
    assert_eq!(
        json!([tool["description"], tool["delivery"], tool["effects"]]),
        json!(["Look up an order.", "reads", ["shop.read"]])
    );
    assert_eq!(tool["arguments"]["properties"]["number"]["description"], "The number on the invoice.");
    assert_eq!(
        json!([shape["flows"]["support"], shape["steps"]["find_order"], tool["input"]]),
        json!([null, null, null]),
        "an agent is not told twice, nor is a tool"
    );
    assert_eq!(shape["events"], json!({"desk.asked": {"version": 2, "upcasters": 1, "data": "Asked"}}));
    assert_eq!(
        shape["projections"],
        json!({"questions": {
            "version": 3,
            "state": "Questions",
            "folds": ["event desk.asked", "outcome of find_order", "lifecycle"],
        }})
    );
    assert_eq!(shape["policies"], json!({"no-payments": {"allows": ["*"], "denies": ["payments.*"]}}));
    assert_eq!(
        shape["skills"],
        json!({"refunds": {"description": "When a customer gets money back.", "file": "shape.rs"}})
    );
    let tidy = &shape["flows"]["tidy"];
    assert_eq!(tidy["schedule"], "0 18 * * MON-FRI Europe/Zurich");
    assert_eq!((&tidy["overlap"], &tidy["catch_up"]), (&json!("queue"), &json!("all within 6h")));
}

#[test]
fn it_holds_topics_with_their_messages_and_replies() {
    let shape = shape_of("shape");
    let number = json!({"type": "integer", "format": "uint32", "minimum": 0});
    assert_eq!(
        shape["flows"]["prices"]["messages"],
        json!({"quote": {"message": "Asked", "reply": number}, "price": {"message": number}})
    );
    assert_eq!(shape["flows"]["prices"]["graph"], json!(["message quote", "message price"]));
    assert_eq!(shape["flows"]["tidy"]["messages"], json!(null), "none are none");

    // What may be sent is a contract: another type, and a topic that is gone, are told in a line.
    let folder = tempfile::tempdir().unwrap();
    let mut old: Value = serde_json::from_str(&shape::of(&Registry::linked(), "shape")).unwrap();
    old["flows"]["prices"]["messages"] =
        json!({"price": {"message": "Price"}, "quote": {"message": "Asked"}, "stop": {"message": "Asked"}});
    fs::write(folder.path().join(shape::FILE), old.to_string()).unwrap();
    let changed = held("shape", folder.path()).unwrap_err();
    let said = "  flow prices: messages price message changed, quote reply new, stop gone\n";
    assert!(changed.contains(said), "{said} is not in:\n{changed}");
}

#[test]
fn a_type_or_part_is_the_one_that_the_body_means() {
    let shape = shape_of("shape");
    let flow = &shape["flows"]["scoped"];
    assert_eq!(flow["gates"], json!({"local": "Local", "manager": "Approval", "officer": "BankApproval"}));
    assert_eq!(flow["messages"], json!({"told": {"message": "BankApproval", "reply": "Local"}}));
    let descriptor = <scopes::scoped as loom::Flow>::DESCRIPTOR;
    let waits: Vec<_> = descriptor.all_messages().iter().map(|message| message.name).collect();
    assert_eq!(waits, ["told", "paid"], "the second part of that name is the bank's");
}

#[test]
fn a_step_or_child_goes_by_its_own_name() {
    let shape = shape_of("shape");
    assert_eq!(
        shape["flows"]["renamed"]["graph"],
        json!([
            "step charge as first",
            "step charge as take",
            "step poll as type",
            "step charge as held",
            "child checkout as checked",
            "part helped",
        ])
    );
    assert_eq!(shape["parts"]["helped"]["graph"], json!(["step charge as deposit"]));
}

#[test]
fn it_holds_nothing_that_is_not_compiled() {
    let shape = shape_of("shape");
    let flow = &shape["flows"]["conditional"];
    assert_eq!(flow["graph"], json!(["step charge", {"branch": [["part pay"]]}]));
    assert_eq!(
        (&flow["gates"], &flow["messages"], &flow["parts"]),
        (&json!({}), &json!(null), &json!(["pay"]))
    );
}

#[test]
fn it_holds_nothing_of_other_crates_and_no_place() {
    assert_eq!(shape_of("shap")["flows"], json!({}));
    assert_eq!(shape_of("shape::till")["steps"], json!({}));
    assert_eq!(shape_of("shape::till")["agents"], json!({}));
    let text = shape::of(&registry(), "shape::till");
    assert!(!text.contains(".rs") && !text.contains("line") && !text.contains("amount > 0"), "{text}");
}

/// Holds this crate against a folder.
fn held(library: &str, folder: &Path) -> Result<Held, String> {
    shape::compare(&Registry::linked(), library, "shop", folder, false)
}

#[test]
fn what_is_out_of_date_is_said_with_its_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(shape::FILE);
    let missing = held("shape", folder.path()).unwrap_err();
    assert!(missing.contains("there is no ") && missing.contains("cargo loom shape -p shop"), "{missing}");

    let now = shape::of(&Registry::linked(), "shape");
    fs::write(&file, now.replace('\n', "\r\n")).unwrap();
    held("shape", folder.path()).unwrap();

    fs::write(&file, now.replace("at_most_once", "pure").replace("\"gate manager\",", "")).unwrap();
    let changed = held("shape", folder.path()).unwrap_err();
    for said in [
        "  part pay: graph changed\n",
        "  step charge: delivery pure → at_most_once\n",
        "steps › charge\n",
        "-       \"delivery\": \"pure\",\n",
        "+       \"delivery\": \"at_most_once\",\n",
        "parts › pay › graph\n",
        "+         \"gate manager\",\n",
        "LOOM_SHAPE=write cargo test -p shop",
    ] {
        assert!(changed.contains(said), "{said} is not in:\n{changed}");
    }

    let written = shape::compare(&Registry::linked(), "shape", "shop", folder.path(), true);
    assert_eq!((written, held("shape", folder.path())), (Ok(Held::Written), Ok(Held::Same)));

    let empty = held("nobody", folder.path()).unwrap_err();
    assert!(empty.contains("`nobody` registers nothing") && empty.contains("check!(my_library)"), "{empty}");
}
