//! `export` and `replay-check`: logs are frozen, and held against the program.
//! Not the check itself: the runtime's tests have that.

use std::{fs, path::Path};

use cli::{Console, Exit};
use loom::Status;
use serde_json::json;

use crate::support::{Pipe, Said, Shell, words};

async fn three_orders() -> Shell {
    let shell = Shell::default();
    for (id, qty) in [("order-1", 2), ("order-2", 12), ("order-3", 1)] {
        shell.run(&format!(r#"start checkout --id {id} --input '{{"sku":"tea","qty":{qty}}}'"#)).await;
    }
    shell
}

/// Edits one frozen log so that the program no longer agrees with it.
fn tamper(dir: &Path, file: &str) {
    let path = dir.join(file);
    let text = fs::read_to_string(&path).unwrap();
    let other = text.replace(
        r#"\"frame\":\"reserve\",\"step\":\"reserve\""#,
        r#"\"frame\":\"reserve\",\"step\":\"ship\""#,
    );
    assert_ne!(text, other);
    fs::write(path, other).unwrap();
}

/// Runs the program where its store cannot be opened.
async fn without_store(line: &str) -> Said {
    let (out, err) = (Pipe::default(), Pipe::default());
    let mut console: Console = Shell::default().console(&out, &err, "");
    let open = async || Err(loom::Error::msg("no store here"));
    let exit = cli::main_with(open, words(line), &mut console).await;
    Said { exit, out: out.text(), err: err.text() }
}

#[tokio::test]
async fn logs_are_frozen_and_agree_without_a_store() {
    let shell = three_orders().await;
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("golden");
    let export = format!("export --dir {}", at.display());
    shell.run(&export).await.ends(Exit::Done).warns("3 logs in ");
    let said = without_store(&format!("replay-check --dir {}", at.display())).await.ends(Exit::Done);
    assert_eq!(said.out, "");
    assert!(said.err.starts_with("3 of 3 logs agree with this program ("), "{}", said.err);
    // What has grown is added; what has not is left as it is.
    let before = fs::read_to_string(at.join("order-2.jsonl")).unwrap();
    shell.run(r#"resume order-2/manager --answer '{"approved":true}'"#).await.ends(Exit::Done);
    let said = shell.run(&format!("{export} --json")).await.ends(Exit::Done);
    let new: Vec<_> =
        said.out.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()).collect();
    assert_eq!((&new[0]["new"], &new[2]["new"]), (&json!(0), &json!(0)));
    assert!(new[1]["new"].as_u64().unwrap() > 0);
    assert!(fs::read_to_string(at.join("order-2.jsonl")).unwrap().starts_with(&before));
    without_store(&format!("replay-check --dir {}", at.display())).await.ends(Exit::Done);
}

#[tokio::test]
async fn one_log_that_diverges_fails_the_check_and_is_named() {
    let shell = three_orders().await;
    let dir = tempfile::tempdir().unwrap();
    shell.run(&format!("export --dir {}", dir.path().display())).await.ends(Exit::Done);
    tamper(dir.path(), "order-2.jsonl");
    let check = format!("replay-check --dir {}", dir.path().display());
    let said = without_store(&check).await.ends(Exit::Diverged);
    let said = said.says("order-2.jsonl  order-2\n  divergence: ").says("near ").says("help: ");
    assert!(!said.out.contains("order-1") && said.err.starts_with("2 of 3 logs agree"), "{said:?}");
    let said = without_store(&format!("{check} --json")).await.ends(Exit::Diverged);
    let json = said.json();
    assert_eq!((&json["logs"], &json["diverged"][0]["execution"]), (&json!(3), &json!("order-2")));
    assert_eq!(json["diverged"][0]["report"]["fault"], "divergence");
    // A frozen log is never written over.
    let frozen = fs::read_to_string(dir.path().join("order-2.jsonl")).unwrap();
    shell
        .run(&format!("export --dir {}", dir.path().display()))
        .await
        .ends(Exit::Refused)
        .warns("order-2.jsonl");
    assert_eq!(fs::read_to_string(dir.path().join("order-2.jsonl")).unwrap(), frozen);
}

#[tokio::test]
async fn the_store_is_checked_in_place() {
    let shell = three_orders().await;
    crate::made::done(&shell.store).await; // its log begins with a parcel, and the flow with a reservation
    let said = shell.run("replay-check --json").await.ends(Exit::Diverged);
    assert_eq!(said.json()["logs"], 4);
    assert_eq!(said.json()["diverged"].as_array().unwrap().len(), 1);
    shell.run("replay-check --flow pay").await.ends(Exit::Done).warns("0 of 0 logs agree");
    let open = shell.run("replay-check --open --json").await.ends(Exit::Done);
    assert_eq!(open.json()["logs"], 1, "only order-2 has not ended: {open:?}");
    shell.run("replay-check --flow chekout").await.ends(Exit::Refused).warns("did you mean `checkout`");
}

#[tokio::test]
async fn the_log_of_a_schedule_agrees_without_a_store_too() {
    let shell = Shell::default();
    let (app, keeper) = (shell.app(), "schedule:tidy".parse().unwrap());
    app.work();
    while app.row(&keeper).await.is_err() {
        tokio::task::yield_now().await;
    }
    app.until(&keeper, &[Status::Suspended]).await.unwrap();
    app.shutdown(std::time::Duration::from_secs(5)).await;
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().display();
    shell.run(&format!("export schedule:tidy --dir {at}")).await.ends(Exit::Done).warns("1 logs in ");
    shell.run("replay-check").await.ends(Exit::Done);
    without_store(&format!("replay-check --dir {at}")).await.ends(Exit::Done).warns("1 of 1 logs agree");
}

#[tokio::test]
async fn a_check_of_nothing_does_not_pass() {
    let dir = tempfile::tempdir().unwrap();
    let said = without_store(&format!("replay-check --dir {}", dir.path().display())).await;
    said.ends(Exit::Refused).warns("there are no logs in ").warns("export --dir");
    without_store("replay-check --dir /nowhere/at/all").await.ends(Exit::Refused).warns("cannot be read");
}

#[tokio::test]
async fn single_executions_and_statuses_are_chosen() {
    let shell = three_orders().await;
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().display();
    shell.run(&format!("export order-3 --dir {at}")).await.ends(Exit::Done).warns("1 logs in ");
    shell.run(&format!("export --status suspended --dir {at}")).await.ends(Exit::Done);
    let mut files: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    files.sort();
    assert_eq!(files, ["order-2.jsonl", "order-3.jsonl"]);
    shell.run(&format!("export order-9 --dir {at}")).await.ends(Exit::Refused).warns("order-9");
}

#[tokio::test]
async fn a_directory_that_cannot_be_written_is_said() {
    let shell = Shell::default();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "no folder").unwrap();
    let said = shell.run(&format!("export --dir {}", file.join("logs").display())).await;
    assert_eq!(said.ends(Exit::Output).warns("cannot be written").exit.code(), 8);
}
