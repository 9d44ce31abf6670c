//! `retention run` and `archive`: what goes, what is said of it, and where it is then.
//! Not what is due or held: the runtime's tests have that.

use std::fs;

use cli::Exit;
use serde_json::json;

use crate::support::Shell;

#[tokio::test]
async fn old_orders_go_to_a_folder_and_are_read_there() {
    let shell = Shell::default();
    shell.run(r#"start checkout --id old --input '{"sku":"tea","qty":2}'"#).await.ends(Exit::Done);
    let before = shell.run("logs old --json").await.ends(Exit::Done).out;
    let events = before.lines().count();
    let outcome = shell.run("show old --json").await.json()["outcome"].clone();
    let dir = tempfile::tempdir().unwrap();
    let (policy, archive) = (dir.path().join("policy.json"), dir.path().join("archive"));
    fs::write(&policy, r#"{"completed":"0s"}"#).unwrap();
    let run = format!("retention run --policy {}", policy.display());

    shell.run(&run).await.ends(Exit::Refused).warns("--archive DIR");
    let said = shell.run(&format!("{run} --dry-run")).await.ends(Exit::Done).says("completed");
    said.warns("a dry run: nothing was changed");
    assert_eq!(shell.run("logs old --json").await.ends(Exit::Done).out, before);
    let at = format!("--archive {}", archive.display());
    let did = shell.run(&format!("{run} {at} --json")).await.ends(Exit::Done).json();
    let tally = &did["removed"]["completed"];
    assert_eq!((&tally["executions"], &tally["events"]), (&json!(1), &json!(events - 1)));
    assert_eq!((&did["rehearsal"], &did["held"]), (&json!(false), &json!([])));
    shell.run(&format!("{run} {at}")).await.ends(Exit::Done).warns("no execution is due");

    let gone = shell.run("logs old").await.ends(Exit::Refused).warns("archive show old");
    gone.warns("--archive DIR");
    // The closing event stays: what it came to is told, and where the rest is.
    let again =
        shell.run(r#"start checkout --id old --input '{"sku":"tea","qty":2}'"#).await.ends(Exit::Done);
    again.says("old completed: ");
    let shown = shell.run("show old").await.ends(Exit::Done).says("  output    ");
    shown.says(&format!("  archived  the events before {}: shop archive show old --archive DIR", events - 1));
    let json = shell.run("show old --json").await.ends(Exit::Done).json();
    assert_eq!((&json["status"], &json["archived"]), (&json!("completed"), &json!(events - 1)));
    assert_eq!(json["outcome"], outcome);
    let gone = shell.run("debug old").await.ends(Exit::Refused).warns("archive show old");
    assert!(!gone.err.contains("App::"), "{}", gone.err);
    let fork = shell.run("fork old --at 2").await.ends(Exit::Refused);
    let fork = fork.warns("cannot be forked any more").warns("archive show old");
    assert!(!fork.err.contains("App::"), "{}", fork.err);
    shell.run("list").await.ends(Exit::Done).says("old");
    let shown = shell.run(&format!("archive show old {at} --json")).await.ends(Exit::Done).out;
    let rest = shell.run(&format!("logs old --from {} --json", events - 1)).await.ends(Exit::Done).out;
    assert_eq!(shown + &rest, before);
    shell.run(&format!("archive show old {at}")).await.ends(Exit::Done).says("EXECUTION_STARTED");
    shell.run(&format!("archive list {at}")).await.ends(Exit::Done).says("old");
    shell.run(&format!("archive show new {at}")).await.ends(Exit::Refused).warns("nothing of `new`");
    shell.run("archive list").await.ends(Exit::Usage).warns("--archive DIR");
}

/// Whether it was taken is not in the log any more: that is said, and where to look.
#[tokio::test]
async fn an_update_of_one_that_was_archived() {
    let shell = Shell::default();
    shell.run("start account --id acc").await.ends(Exit::Waits);
    shell.run("update acc deposit 30 --key d1").await.ends(Exit::Done).says("30");
    shell.run(r#"send acc close '{"by":"ann"}'"#).await.ends(Exit::Waits);
    shell.run("send acc sure").await.ends(Exit::Done);
    let dir = tempfile::tempdir().unwrap();
    let policy = dir.path().join("policy.json");
    fs::write(&policy, r#"{"completed":"0s"}"#).unwrap();
    let run = format!("retention run --policy {} --archive {}", policy.display(), dir.path().display());
    shell.run(&run).await.ends(Exit::Done);
    let said =
        shell.run("update acc deposit 30 --key d1").await.ends(Exit::Refused).warns("archive show acc");
    assert!(!said.err.contains("App::"), "{}", said.err);
    shell
        .run("update acc deposit 30")
        .await
        .ends(Exit::Refused)
        .warns("has completed without taking the update");
}

#[tokio::test]
async fn a_policy_that_is_none_is_refused() {
    let shell = Shell::default();
    let dir = tempfile::tempdir().unwrap();
    let policy = dir.path().join("policy.json");
    let run = format!("retention run --policy {} --dry-run", policy.display());
    shell.run(&run).await.ends(Exit::Usage).warns("cannot be read");
    for (text, said) in [
        (r#"{"complete":"3d"}"#, "unknown field `complete`"),
        (r#"{"completed":"3 days"}"#, "`3 days` is not a duration"),
        (r#"{"flows":{"chekout":{"completed":"forever"}}}"#, "names flow `chekout`"),
    ] {
        fs::write(&policy, text).unwrap();
        shell.run(&run).await.ends(Exit::Usage).warns(said);
    }
}
