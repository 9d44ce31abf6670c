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

fn registry() -> Registry {
    Registry::of([Entry::flow::<till::checkout>(), Entry::step::<charge>(), Entry::step::<poll>()])
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
                {"unbounded loop": ["step poll", "timer sleep"]},
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
fn it_holds_nothing_of_other_crates_and_no_place() {
    assert_eq!(shape_of("shap")["flows"], json!({}));
    assert_eq!(shape_of("shape::till")["steps"], json!({}));
    let text = shape::of(&registry(), "shape");
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
    assert!(empty.contains("`nobody` registers no flows") && empty.contains("check!(my_library)"), "{empty}");
}
