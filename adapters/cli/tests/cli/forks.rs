//! `fork`, `diff`, `branches` and `promote`, from the command line.
//! Not what forks do: the runtime's tests hold that.

use cli::Exit;
use serde_json::json;

use crate::support::{Shell, snapshot};

/// An order that the manager has approved, and a fork before that.
async fn forked() -> Shell {
    let shell = Shell::default();
    shell.run(r#"start checkout --id o --input '{"sku":"tea","qty":12}'"#).await.ends(Exit::Waits);
    shell.run(r#"resume o/manager --answer '{"approved":true}'"#).await.ends(Exit::Done);
    let said = shell.run("fork o --at 4 --id f").await.ends(Exit::Waits).says("gate manager");
    assert!(said.out.contains("resume f/manager"), "{said:?}");
    shell.run(r#"resume f/manager --answer '{"approved":false}'"#).await.ends(Exit::Failed);
    shell
}

#[tokio::test]
async fn a_fork_goes_another_way_and_the_difference_is_shown() {
    let shell = forked().await;
    let said = shell.run("diff o f").await.ends(Exit::Done);
    snapshot("diff", &said.out);
    let json = shell.run("diff o f --json").await.ends(Exit::Done).json();
    assert_eq!((&json["shared"], &json["runs"][0]["only_a"]), (&json!(4), &json!(["ship#0", "ship#1"])));
    assert_eq!(json["runs"][0]["changed"][0]["what"], json!(["outcome"]));
    shell.run("show o").await.ends(Exit::Done).says("completed");
}

#[tokio::test]
async fn what_was_open_is_said_on_the_command_line() {
    let shell = forked().await;
    let line = r#"fork o --at 4 --id g --stub manager='{"approved":true}' --rerun-all --json"#;
    let json = shell.run(line).await.ends(Exit::Done).json();
    assert_eq!((&json["execution"], &json["outcome"]), (&json!("g"), &json!({"completed": 1})));
    shell.run(line).await.ends(Exit::Done); // the same once more
    shell.run("fork o --at 4 --id h --copy-answers --detach").await.ends(Exit::Done).says("h");
    shell.run("fork o --at 2 --id g").await.ends(Exit::Refused).warns("a fork at another place");
    shell.run("fork o --at 99").await.ends(Exit::Usage).warns("after 1 to ").warns("logs o");
    shell.run("fork o --at 4 --rerun ship#0").await.ends(Exit::Usage).warns("open there: manager");
    shell.run("fork o --at 4 --stub manager").await.ends(Exit::Usage).warns("FRAME=JSON");
    shell.run("fork oo").await.ends(Exit::Refused).warns("did you mean");
    shell.run("diff o nobody").await.ends(Exit::Refused).warns("there is no execution `nobody`");
}

#[tokio::test]
async fn a_branch_is_promoted_if_it_is_where_it_was() {
    let shell = forked().await;
    shell.run("branches").await.ends(Exit::Done).warns("there are no branches");
    let said = shell.run("promote live o").await.ends(Exit::Done);
    assert_eq!(said.out, "live → o  v1\n");
    shell.run("promote live f --from o --by bob").await.ends(Exit::Done).says("live → f  v2");
    let late = shell.run("promote live o --from o").await.ends(Exit::Refused);
    late.warns("points to `f`, not to `o`").warns("--from f");
    shell.run("promote live o").await.ends(Exit::Refused).warns("is not new");
    shell.run("promote other f --from o").await.ends(Exit::Refused).warns("promote other f");
    shell.run("promote live nobody --from f").await.ends(Exit::Refused).warns("there is no execution");
    shell.run("branches").await.ends(Exit::Done).says("live → f  v2, by bob at ");
    let json = shell.run("branches --json").await.ends(Exit::Done).json();
    assert_eq!((&json["branches"][0]["by"], &json["branches"][0]["version"]), (&json!("bob"), &json!(2)));
}
