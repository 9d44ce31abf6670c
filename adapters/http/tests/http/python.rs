//! The whole ABI from Python's standard library: a client that shares no code with Loom.
//! Not the client: `abi.py` is.

use std::process::Stdio;

use crate::support::{Shop, TOKEN, patiently};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_drives_the_whole_abi() {
    let python = tokio::process::Command::new("python3").arg("--version").output().await;
    if !python.is_ok_and(|output| output.status.success()) {
        let how = "python3 is missing: `apt-get install python3` (or your system's like) installs it";
        assert!(std::env::var("CI").is_err(), "{how}");
        // A test may say why it was not made.
        #[allow(clippy::print_stderr, reason = "there is no other place")]
        {
            eprintln!("skipped: {how}");
        }
        return;
    }
    patiently(async {
        let shop = Shop::open().await;
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/http/abi.py");
        let mut command = tokio::process::Command::new("python3");
        command.args(["-I", "-B", script, &shop.url, TOKEN]).stdin(Stdio::null()).kill_on_drop(true);
        let output = command.output().await.unwrap();
        let (said, wrong) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && said.ends_with("all of it\n"), "{said}{wrong}");
    })
    .await;
}
