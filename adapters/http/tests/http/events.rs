//! The stream of events: resumable by sequence, live words between, an end, and no memory for slow readers. B96.
//! Not the parsing of SSE: that is a crate's.

use std::time::Duration;

use futures_util::StreamExt;
use loom_http::Heard;
use serde_json::{Value, json};

use crate::support::{Shop, TOKEN, app, config, id, patiently};

/// One message as it came.
#[derive(Debug, Default, PartialEq)]
struct Message {
    id: Option<u64>,
    event: Option<String>,
    data: Value,
}

/// Reads messages until there are enough, or the stream has ended.
async fn read(response: reqwest::Response, most: usize) -> (Vec<Message>, String) {
    let (mut bytes, mut text, mut messages) = (response.bytes_stream(), String::new(), Vec::new());
    let mut seen = 0;
    while messages.len() < most
        && let Some(Ok(chunk)) = bytes.next().await
    {
        text.push_str(std::str::from_utf8(&chunk).unwrap());
        while let Some(end) = text[seen..].find("\n\n") {
            let block = &text[seen..seen + end];
            seen += end + 2;
            let mut message = Message::default();
            for line in block.lines() {
                match line.split_once(": ") {
                    Some(("id", id)) => message.id = Some(id.parse().unwrap()),
                    Some(("event", name)) => message.event = Some(name.into()),
                    Some(("data", data)) => message.data = serde_json::from_str(data).unwrap(),
                    _ => {}
                }
            }
            if message.data != Value::Null {
                messages.push(message);
            }
        }
    }
    (messages, text)
}

fn sequences(messages: &[Message]) -> Vec<u64> {
    messages.iter().filter_map(|message| message.id).collect()
}

#[tokio::test]
async fn a_stream_resumes_by_sequence() {
    patiently(async {
        let shop = Shop::open().await;
        let client = shop.client();
        client.start("checkout", &json!({"sku": "tea", "qty": 2}), Some("a")).await.unwrap();
        let open = async |path: &str, last: Option<&str>| {
            let request = shop.request("get", path);
            let request =
                last.map_or_else(|| shop.request("get", path), |last| request.header("last-event-id", last));
            request.send().await.unwrap()
        };
        // Cut off after two.
        let response = open("/v1/executions/a/events", None).await;
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["x-accel-buffering"], "no");
        let (first, text) = read(response, 2).await;
        assert_eq!(sequences(&first), [0, 1]);
        assert!(text.starts_with("retry: 1000\n"), "{text}");
        assert_eq!(first[0].data["kind"], "EXECUTION_STARTED");
        assert_eq!(first[0].event, None, "browsers hand it to `onmessage`");
        client.resume(&"a/manager".parse().unwrap(), &json!({"approved": true})).await.unwrap();
        let (rest, _) = read(open("/v1/executions/a/events?after=0", Some("1")).await, usize::MAX).await;
        let log = client.log(&id("a"), 0, 1_000).await.unwrap();
        assert_eq!(
            sequences(&rest),
            (2..log.len() as u64).collect::<Vec<_>>(),
            "what the header says is newer"
        );
        let end = rest.last().unwrap();
        assert_eq!(
            (end.id, end.event.as_deref(), &end.data["status"]),
            (None, Some("end"), &json!("completed"))
        );
        let (again, _) = read(open("/v1/executions/a/events?after=2", None).await, usize::MAX).await;
        assert_eq!(sequences(&again), (3..log.len() as u64).collect::<Vec<_>>());
        // Whoever has seen the end is told not to come again.
        let last = (log.len() - 1).to_string();
        assert_eq!(open("/v1/executions/a/events", Some(&last)).await.status().as_u16(), 204);
    })
    .await;
}

#[tokio::test]
async fn b96_live_words_have_their_attempt_and_no_id() {
    patiently(async {
        let shop = Shop::open().await;
        let client = shop.client();
        client.start("speech", &6, Some("s")).await.unwrap();
        let response = shop.request("get", "/v1/executions/s/events").send().await.unwrap();
        let reading = tokio::spawn(read(response, usize::MAX));
        client.resume(&"s/floor".parse().unwrap(), &true).await.unwrap();
        let (messages, _) = reading.await.unwrap();
        let live: Vec<_> =
            messages.iter().filter(|message| message.event.as_deref() == Some("live")).collect();
        assert!(
            live.iter().all(|message| message.id.is_none() && message.data["frame"] == "talk"),
            "{live:?}"
        );
        let said = live.iter().map(|message| match message.data["type"].as_str() {
            Some("chunk") => format!("{}:{}", message.data["attempt"], message.data["data"]),
            Some(other) => format!("{other} {}", message.data["attempt"]),
            None => panic!("{message:?}"),
        });
        let said: Vec<_> = said.collect();
        let expected =
            ["1:0", "1:1", "1:2", "superseded 1", "2:0", "2:1", "2:2", "2:3", "2:4", "2:5", "ended 2"];
        assert_eq!(said, expected);
        let log = client.log(&id("s"), 0, 1_000).await.unwrap();
        assert_eq!(sequences(&messages), (0..log.len() as u64).collect::<Vec<_>>(), "each durable one once");
        // Who wants none has none, and what is over is not said again.
        let quiet = shop.request("get", "/v1/executions/s/events?live=false").send().await.unwrap();
        let (quiet, _) = read(quiet, usize::MAX).await;
        assert!(quiet.iter().all(|message| message.event.as_deref() != Some("live")));
    })
    .await;
}

#[tokio::test]
async fn a_slow_reader_loses_live_words_and_no_event() {
    patiently(async {
        let shop = Shop::open().await;
        let client = shop.client();
        // More than a connection and the buffer of readers hold together.
        client.start("speech", &400_000, Some("s")).await.unwrap();
        let response = shop.request("get", "/v1/executions/s/events").send().await.unwrap();
        client.resume(&"s/floor".parse().unwrap(), &true).await.unwrap();
        assert_eq!(client.result::<u32>(&id("s")).await.unwrap(), 400_000);
        let (messages, _) = read(response, usize::MAX).await;
        let lagged = messages.iter().filter(|message| message.data["type"] == "lagged");
        let missed: u64 = lagged.map(|message| message.data["missed"].as_u64().unwrap()).sum();
        assert!(missed > 0, "of {} messages", messages.len());
        let log = client.log(&id("s"), 0, 1_000).await.unwrap();
        assert_eq!(sequences(&messages), (0..log.len() as u64).collect::<Vec<_>>());
        assert_eq!(messages.last().unwrap().event.as_deref(), Some("end"));
    })
    .await;
}

#[tokio::test]
async fn a_quiet_stream_says_that_it_lives_and_ends_with_the_server() {
    patiently(async {
        let config = config().keep_alive(Duration::from_millis(20));
        let shop = Shop::on(app(loom::Memory::new()), config).await;
        shop.client().start("adder", &(), Some("a")).await.unwrap();
        let request = shop.bare("get", "/v1/executions/a/events").bearer_auth(TOKEN);
        let mut bytes = request.send().await.unwrap().bytes_stream();
        let mut text = String::new();
        while text.lines().filter(|line| line.trim_end() == ":").count() < 3 {
            text.push_str(std::str::from_utf8(&bytes.next().await.unwrap().unwrap()).unwrap());
        }
        // Its readers end with it, though the execution has not.
        shop.close().await;
        while let Some(Ok(chunk)) = bytes.next().await {
            text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
        assert!(!text.contains("event: end"), "a reader comes again: {text}");
    })
    .await;
}

#[tokio::test]
async fn the_client_outlives_its_connections() {
    patiently(async {
        let store = loom::Memory::new();
        let shop = Shop::on(app(store.clone()), config()).await;
        let address = shop.url.strip_prefix("http://").unwrap().parse().unwrap();
        let client = shop.client();
        client.start("adder", &(), Some("a")).await.unwrap();
        let mut events = client.events(&id("a"), None);
        let Heard::Event(first) = events.next().await.unwrap().unwrap() else {
            panic!("not the first event")
        };
        assert_eq!(first.sequence, 0);
        let old = shop.app.clone();
        shop.close().await;
        old.shutdown(Duration::from_secs(5)).await;
        // The next release, on the same port.
        let shop = Shop::on(app(store), config().bind(address)).await;
        shop.client().update::<i64>(&id("a"), "numbers", &100).await.unwrap();
        let mut heard = vec![0];
        while let Some(item) = events.next().await {
            if let Heard::Event(event) = item.unwrap() {
                heard.push(event.sequence);
            }
        }
        let log = client.log(&id("a"), 0, 1_000).await.unwrap();
        assert_eq!(heard, (0..log.len() as u64).collect::<Vec<_>>());
    })
    .await;
}
