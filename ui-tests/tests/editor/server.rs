//! A rust-analyzer with one file open, in a crate of its own.
//! Not a client for all of the language server protocol: two questions, one at a time.

use std::{
    env, fs,
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

/// It ends with the value.
pub(super) struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    file: String,
    asked: u64,
    version: u64,
}

impl Server {
    /// Starts it, and waits until it has read the crate and its dependencies.
    pub(super) fn start(text: &str) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("editor");
        fs::create_dir_all(folder.join("src")).expect("a folder");
        let manifest = format!(
            "[package]\nname = \"editor\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n\
             loom = {{ package = \"loom-durable\", path = {:?} }}\nschemars = \"1\"\n\
             serde = {{ version = \"1\", features = [\"derive\"] }}\n\n[workspace]\n",
            root.join("loom"),
        );
        fs::write(folder.join("Cargo.toml"), manifest).expect("written");
        fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).expect("copied");
        let path = folder.join("src/lib.rs");
        fs::write(&path, text).expect("written");
        let mut child = Command::new("rust-analyzer")
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("rust-analyzer: `rustup component add rust-analyzer` installs it");
        let (input, output) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let (output, file) = (BufReader::new(output), format!("file://{}", path.display()));
        let mut server = Self { child, input, output, file, asked: 0, version: 0 };
        let options = json!({
            "checkOnSave": false,
            "cachePriming": { "enable": false },
            "cargo": { "targetDir": true },
        });
        let capabilities = json!({ "experimental": { "serverStatusNotification": true } });
        let folder = format!("file://{}", folder.display());
        server.ask(
            "initialize",
            json!({ "rootUri": folder, "capabilities": capabilities, "initializationOptions": options }),
        );
        server.tell("initialized", json!({}));
        let document = json!({ "uri": server.file, "languageId": "rust", "version": 0, "text": text });
        server.tell("textDocument/didOpen", json!({ "textDocument": document }));
        server.wait_until_quiet();
        server
    }

    /// The labels of what is offered at a line and column of this text.
    pub(super) fn completions(&mut self, text: &str, at: (usize, usize)) -> Vec<String> {
        let answer = self.ask_at("textDocument/completion", text, at);
        let items = answer.get("items").unwrap_or(&answer).as_array().cloned().unwrap_or_default();
        items.iter().filter_map(|item| item["label"].as_str().map(str::to_owned)).collect()
    }

    /// What is shown of the word there.
    pub(super) fn hover(&mut self, text: &str, at: (usize, usize)) -> String {
        self.ask_at("textDocument/hover", text, at)["contents"]["value"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    fn ask_at(&mut self, method: &str, text: &str, (line, character): (usize, usize)) -> Value {
        self.version += 1;
        let document = json!({ "uri": self.file, "version": self.version });
        self.tell(
            "textDocument/didChange",
            json!({ "textDocument": document, "contentChanges": [{ "text": text }] }),
        );
        let position = json!({ "line": line, "character": character });
        self.ask(method, json!({ "textDocument": { "uri": self.file }, "position": position }))
    }

    fn wait_until_quiet(&mut self) {
        loop {
            let told = self.read();
            if told["method"] == "experimental/serverStatus" && told["params"]["quiescent"] == true {
                return assert_ne!(told["params"]["health"], "error", "{told}");
            }
        }
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let told = self.read();
            if told["id"] == id && told.get("method").is_none() {
                assert!(told.get("error").is_none(), "{method}: {told}");
                return told["result"].clone();
            }
        }
    }

    fn tell(&mut self, method: &str, params: Value) {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn write(&mut self, message: &Value) {
        let body = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{body}", body.len()).expect("it listens");
        self.input.flush().expect("it listens");
    }

    /// The next message; a question of the server gets an empty answer at once.
    fn read(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).expect("a line"), 0, "rust-analyzer has gone");
            match line.trim_end().strip_prefix("Content-Length: ") {
                Some(told) => length = told.parse().expect("a length"),
                None if line == "\r\n" => break,
                None => {}
            }
        }
        let mut body = vec![0; length];
        self.output.read_exact(&mut body).expect("the whole message");
        let told: Value = serde_json::from_slice(&body).expect("JSON");
        if told.get("id").is_some() && told.get("method").is_some() {
            self.write(&json!({ "jsonrpc": "2.0", "id": told["id"], "result": null }));
        }
        told
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have gone by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
