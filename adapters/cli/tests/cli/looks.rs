//! What people see, compared with readable files in `tests/snapshots`.
//! Not what programs read: `listing.rs` has that.

use cli::Exit;
use loom::kernel::{Event, ExecutionFailure, Failed};
use serde_json::json;

use crate::{
    made::{Made, anew, busy_order, divergent, done, doubtful, payload},
    support::{Shell, snapshot},
};

async fn shell() -> Shell {
    let shell = Shell::default();
    busy_order(&shell.store).await;
    doubtful(&shell.store).await;
    divergent(&shell.store).await;
    done(&shell.store).await;
    shell
}

/// Each command, and what it prints.
pub(crate) async fn session(shell: &Shell, commands: &[&str]) -> String {
    let mut text = String::new();
    for command in commands {
        let said = shell.run(command).await;
        text.push_str(&format!("$ shop {command}\n{}{}", said.out, said.err));
        if said.exit != Exit::Done {
            text.push_str(&format!("exit code {}\n", said.exit.code()));
        }
        text.push('\n');
    }
    text
}

#[tokio::test]
async fn executions() {
    let commands = ["show order-7", "show pay-1", "show order-8", "show order-9", "show order-6"];
    snapshot("show", &session(&shell().await, &commands).await);
}

#[tokio::test]
async fn runs() {
    let shell = Shell::default();
    anew(&shell.store).await;
    snapshot(
        "runs",
        &session(&shell, &["show order-5", "show order-5 --json", "logs order-5", "list --gates"]).await,
    );
}

#[tokio::test]
async fn logs() {
    snapshot(
        "logs",
        &session(&shell().await, &["logs order-7", "logs pay-1", "logs order-8 --from 4"]).await,
    );
}

#[tokio::test]
async fn lists() {
    let commands = [
        "list",
        "list --status parked --flow checkout",
        "list --limit 2",
        "list --limit 2 --after order-8",
        "list --gates",
        "list --status running",
        "list --flow chekout",
    ];
    snapshot("list", &session(&shell().await, &commands).await);
}

#[tokio::test]
async fn moments() {
    let commands = [
        "debug order-7 --at 0",
        "debug order-7 --at 1",
        "debug order-7 --at 3",
        "debug order-7 --at 13",
        "debug pay-1",
        "debug order-9 --at 5",
    ];
    snapshot("debug", &session(&shell().await, &commands).await);
}

#[tokio::test]
async fn graphs() {
    let commands = ["graph checkout", "graph pay", "graph tomorrow", "graph vote", "graph tidy"];
    snapshot("graph", &session(&Shell::default(), &commands).await);
}

#[tokio::test]
async fn flows_and_schemas() {
    // Fingerprints change with every token.
    let flows = session(&Shell::default(), &["flows"]).await;
    let without = flows.lines().filter(|line| !line.starts_with("  code     "));
    snapshot("flows", &without.map(|line| format!("{line}\n")).collect::<String>());
    let commands =
        ["schema checkout --gate manager", "schema checkout --step charge", "schema checkout --gate boss"];
    snapshot("schema", &session(&Shell::default(), &commands).await);
}

#[tokio::test]
async fn help() {
    snapshot("help", &session(&Shell::default(), &["--help", "verdict --help"]).await);
}

#[tokio::test]
async fn narrow_terminals_cut_the_last_column() {
    let shell = shell().await;
    let (out, err) = (crate::support::Pipe::default(), crate::support::Pipe::default());
    let mut console = shell.console(&out, &err, "");
    (console.width, console.colours) = (Some(80), true);
    cli::run_with(shell.app(), ["shop", "logs", "order-7"], &mut console).await;
    let widest = out.text().lines().map(|line| line.chars().count()).max().unwrap();
    assert!(widest <= 80, "{}", out.text());
    assert!(out.text().contains('…'));
}

#[tokio::test]
async fn a_failure_shows_its_fields() {
    let shell = Shell::default();
    for (id, error, fields) in [
        ("a", json!({"Short": {"left": 2}}), Some(r#"  fields    {"Short":{"left":2}}"#)),
        ("b", json!("Short"), None),
        ("c", json!({"message": "not enough"}), None),
    ] {
        let failure = Failed {
            code: "Short".into(),
            message: "not enough".into(),
            error: Some(payload(error)),
            engine: None,
        };
        let mut made = Made::new(&shell.store, id, "till", json!(1));
        made.event(Event::ExecutionFailed(ExecutionFailure { failure })).store().await;
        let said = shell.run(&format!("show {id}")).await.says("  error     Short: not enough\n");
        assert_eq!(said.out.lines().find(|line| line.contains("fields")), fields, "{}", said.out);
    }
}
