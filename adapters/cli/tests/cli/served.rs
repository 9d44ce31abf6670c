//! `serve`: a process that works and answers over HTTP, whose token is its own affair.
//! Not the routes: the adapter's tests have those.

use std::{
    net::TcpListener,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use cli::{Console, Exit};
use loom::{
    App, ExecutionId,
    http::{Client, Code},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
};

use crate::support::{Shell, words};

/// Says what the process is to do.
const LINE: &str = "LOOM_TEST_SHOP";

/// The shop as a process, when the tests below start it; nothing, when it runs as one of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shop() {
    let Ok(line) = std::env::var(LINE) else { return };
    let exit = cli::main_with(async || Ok(App::builder()), words(&line), &mut Console::process()).await;
    std::process::exit(exit.code().into());
}

/// The process.
struct Shop {
    process: Child,
    out: Lines<BufReader<ChildStdout>>,
    /// All that it has said.
    said: String,
    url: String,
    token: Option<String>,
}

impl Shop {
    async fn open(line: &str, token: Option<&str>) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["served::shop", "--exact", "--nocapture"]).env(LINE, line).env_remove("LOOM_TOKEN");
        command.envs(token.map(|token| ("LOOM_TOKEN", token)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut process = command.spawn().unwrap();
        let out = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut shop = Self { process, out, said: String::new(), url: String::new(), token: None };
        let listening = shop.next("listening").await;
        shop.url = format!("http://{}", listening["address"].as_str().unwrap());
        shop.token = listening["token"].as_str().map(str::to_owned);
        shop
    }

    /// What it says of this event.
    async fn next(&mut self, event: &str) -> Value {
        while let Some(line) = self.out.next_line().await.unwrap() {
            self.said.push_str(&line);
            // The harness begins lines of its own.
            let json = line.find('{').and_then(|at| serde_json::from_str::<Value>(&line[at..]).ok());
            if let Some(json) = json.filter(|json| json["event"] == event) {
                return json;
            }
        }
        panic!("it has ended, and never said {event}: {}", self.said);
    }

    fn client(&self, token: &str) -> Client {
        Client::new(&self.url).unwrap().token(token)
    }

    /// Asks it to stop; answers how it ended, and all that it has said.
    async fn close(mut self) -> (ExitStatus, String) {
        let pid = self.process.id().unwrap().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().await.unwrap().success());
        assert_eq!(self.next("stopped").await["clean"], true);
        let mut errors = String::new();
        self.process.stderr.take().unwrap().read_to_string(&mut errors).await.unwrap();
        (self.process.wait().await.unwrap(), self.said + &errors)
    }
}

async fn patiently<T>(case: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), case).await.expect("this hangs")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_answers_until_it_is_told_to_stop() {
    patiently(async {
        let shop = Shop::open("serve --http 127.0.0.1:0 --json", None).await;
        let made = shop.token.clone().expect("one was made");
        let (client, order): (_, ExecutionId) = (shop.client(&made), "order-7".parse().unwrap());
        client.start("checkout", &json!({"sku": "tea", "qty": 11}), Some("order-7")).await.unwrap();
        let gate = "order-7/manager".parse().unwrap();
        while client.resume(&gate, &json!({"approved": true, "note": null})).await.is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(client.result::<u32>(&order).await.unwrap(), 1);
        assert_eq!(client.query::<Value>(&order, "questions").await.unwrap(), json!({"asked": 1}));
        let stranger = shop.client("somebody else's token").show(&order).await;
        assert_eq!(stranger.err().and_then(|refused| refused.code()), Some(Code::Unauthorized));
        let (ended, said) = shop.close().await;
        assert_eq!((ended.code(), said.matches(&made).count()), (Some(0), 1), "{said}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_was_given_is_never_told() {
    patiently(async {
        let (dir, in_file, in_env) =
            (tempfile::tempdir().unwrap(), "the token in a file", "the token of the shell");
        let file = dir.path().join("token");
        std::fs::write(&file, format!("{in_file}\n")).unwrap();
        let serve = "serve --http 127.0.0.1:0 --json";
        for (line, token) in
            [(serve.to_owned(), in_env), (format!("{serve} --token-file {}", file.display()), in_file)]
        {
            let shop = Shop::open(&line, Some(in_env)).await;
            assert_eq!(shop.token, None);
            shop.client(token).gates(None).await.unwrap();
            let (ended, said) = shop.close().await;
            assert_eq!(ended.code(), Some(0), "{said}");
            assert!(!said.contains(in_file) && !said.contains(in_env), "{said}");
        }
    })
    .await;
}

#[tokio::test]
async fn what_cannot_be_served_is_told() {
    let shell = Shell::default();
    let open = shell.run("serve --http 0.0.0.0:0").await.ends(Exit::Usage);
    open.warns("0.0.0.0:0 can be reached from outside, and there is no token").warns("--token-file");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let said = shell.run(&format!("serve --http {address}")).await.ends(Exit::Refused);
    let said = said.warns(&format!("{address} cannot be listened on: ")).warns("--http");
    assert!(!said.err.contains("token") && !said.err.contains("Config"), "{}", said.err);
    shell.run("serve --http localhost").await.ends(Exit::Usage).warns("as in 127.0.0.1:7766");

    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("token");
    let serve = format!("serve --http 127.0.0.1:0 --token-file {}", file.display());
    shell.run(&serve).await.ends(Exit::Usage).warns("cannot be read");
    std::fs::write(&file, "\n").unwrap();
    shell.run(&serve).await.ends(Exit::Usage).warns("is empty").warns("openssl rand");
    std::fs::write(&file, "s3cret").unwrap();
    let said = shell.run(&serve).await.ends(Exit::Usage).warns("6 characters, expected 16");
    assert!(!said.err.contains("s3cret"), "{}", said.err);
}
