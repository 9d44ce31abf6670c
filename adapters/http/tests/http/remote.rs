//! Workers that have the code of flows and no database: B28, B29 and B31 across the wire.
//! Not the store's contract: `conformance.rs` has all of it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use loom::{
    Memory, Status, Timestamp,
    kernel::Digest,
    ports::{Append, ClaimRequest, EventStore, Inbox, LeaseStore, ListFilter, NewItem, Posted, StoreError},
};
use loom_http::{Client, RemoteStore};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::support::{Shop, WORK, app, config, id, patiently};

fn store(url: &str) -> RemoteStore {
    Client::new(url).unwrap().token(WORK).store()
}

/// A claim of `a`.
fn claim(worker: &str, now: i64) -> ClaimRequest {
    ClaimRequest {
        worker: worker.into(),
        now: Timestamp::from_micros(now),
        until: Timestamp::from_micros(now + 10),
        limit: 1,
        execution: Some(id("a")),
        flows: None,
        program: None,
    }
}

/// An append to `a` of nothing.
fn append(next: u64, fence: u64) -> Append {
    Append {
        execution: id("a"),
        expected_next: next,
        fence,
        batch: Digest::of(&fence.to_le_bytes()),
        records: Vec::new(),
        at: Timestamp::EPOCH,
        progress: false,
        gates: Vec::new(),
        consumed: Vec::new(),
        posts: Vec::new(),
        run: None,
        close: None,
    }
}

/// A server that runs nothing.
async fn idle(memory: &Memory) -> Shop {
    Shop::on(app(memory.clone()), config().without_work()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_without_a_database_runs_flows() {
    patiently(async {
        let shop = idle(&Memory::new()).await;
        let client = shop.client();
        client.start("checkout", &json!({"sku": "tea", "qty": 2}), Some("a")).await.unwrap();
        assert_eq!(client.show(&id("a")).await.unwrap().status, Status::Running, "nobody works yet");
        let worker = app(store(&shop.url));
        worker.work();
        client.resume(&"a/manager".parse().unwrap(), &json!({"approved": true})).await.unwrap();
        assert_eq!(client.result::<String>(&id("a")).await.unwrap(), "2 of tea");
        client.start("adder", &(), Some("b")).await.unwrap();
        assert_eq!(client.update::<i64>(&id("b"), "numbers", &100).await.unwrap(), 100);
        worker.shutdown(Duration::from_secs(5)).await;
    })
    .await;
}

/// B31, B28: whoever was taken over appends nothing any more, whichever side it is on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b31_a_fence_holds_across_the_wire() {
    patiently(async {
        let memory = Memory::new();
        let shop = idle(&memory).await;
        let remote = store(&shop.url);
        shop.client().start("adder", &(), Some("a")).await.unwrap();
        let far = i64::MAX / 4;
        let first = remote.claim(&claim("far", far)).await.unwrap().remove(0);
        let second = memory.claim(&claim("near", far + 100)).await.unwrap().remove(0);
        assert!(second.fence > first.fence);
        let stale = remote.append(&append(first.row.next, first.fence)).await.unwrap_err();
        let expected =
            StoreError::Fenced { execution: id("a"), presented: first.fence, current: second.fence };
        assert_eq!(stale, expected);
        remote.append(&append(first.row.next, second.fence)).await.unwrap();
    })
    .await;
}

/// B29: answers are lost on the way, and nothing is done twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b29_lost_answers_change_nothing() {
    patiently(async {
        let memory = Memory::new();
        let shop = idle(&memory).await;
        let (proxy, lost) = lossy(shop.url.strip_prefix("http://").unwrap().to_owned(), 3).await;
        let worker = app(store(&proxy));
        worker.work();
        let client = shop.client();
        for n in 0..5 {
            let id = format!("order-{n}");
            client.start("checkout", &json!({"sku": "tea", "qty": n}), Some(&id)).await.unwrap();
            let gate = format!("{id}/manager").parse().unwrap();
            client.resume(&gate, &json!({"approved": true})).await.unwrap();
        }
        for n in 0..5 {
            let id = id(&format!("order-{n}"));
            assert_eq!(client.result::<String>(&id).await.unwrap(), format!("{n} of tea"));
            let log = client.log(&id, 0, 1_000).await.unwrap();
            let count = |kind: &str| log.iter().filter(|event| event.kind == kind).count();
            assert_eq!((count("GATE_ANSWERED"), count("EXECUTION_COMPLETED")), (1, 1), "{log:?}");
            let sequences: Vec<_> = log.iter().map(|event| event.sequence).collect();
            assert_eq!(sequences, (0..log.len() as u64).collect::<Vec<_>>());
        }
        assert!(lost.load(Ordering::Relaxed) > 10, "{lost:?} answers were lost");
    })
    .await;
}

/// B29, call by call: what may be repeated is, and where it may not, the loss is told.
#[tokio::test]
async fn b29_a_lost_answer_is_asked_for_again_where_that_is_safe() {
    patiently(async {
        let memory = Memory::new();
        let shop = idle(&memory).await;
        shop.client().start("adder", &(), Some("a")).await.unwrap();
        // Every second answer is lost.
        let (proxy, lost) = lossy(shop.url.strip_prefix("http://").unwrap().to_owned(), 2).await;
        let remote = store(&proxy);
        let item = |key: Option<&str>| NewItem {
            execution: id("a"),
            key: key.map(Into::into),
            kind: "of tomorrow".into(),
            payload: "1".into(),
            at: Timestamp::EPOCH,
            early: false,
        };
        let lost = || lost.load(Ordering::Relaxed);
        remote.get(&id("a")).await.unwrap();
        assert_eq!(remote.post(item(Some("k"))).await, Ok(Posted::Duplicate { same: true }));
        assert_eq!(lost(), 1);
        let told = remote.post(item(None)).await.unwrap_err();
        assert!(matches!(told, StoreError::Unavailable(_)), "{told}");
        assert_eq!((lost(), memory.pending(&id("a"), 0).await.unwrap().len()), (2, 2), "each once");
        let claim = memory.claim(&claim("w", i64::MAX / 4)).await.unwrap().remove(0);
        remote.get(&id("a")).await.unwrap();
        remote.append(&append(claim.row.next, claim.fence)).await.unwrap();
        assert_eq!(lost(), 3);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_lists_come_in_pages() {
    patiently(async {
        let memory = Memory::new();
        let shop = idle(&memory).await;
        for n in 0..2_100 {
            shop.app
                .start_dynamic("adder", loom::kernel::Payload::null())
                .id(format!("e-{n}"))
                .detached()
                .await
                .unwrap();
        }
        let remote = store(&shop.url);
        let all = remote.list(&ListFilter::default()).await.unwrap();
        assert_eq!(all, memory.list(&ListFilter::default()).await.unwrap());
        let some = ListFilter { limit: 1_500, ..ListFilter::default() };
        assert_eq!(remote.list(&some).await.unwrap(), all[..1_500]);
    })
    .await;
}

#[tokio::test]
async fn a_worker_with_another_token_is_told_so() {
    patiently(async {
        let shop = idle(&Memory::new()).await;
        let without = Client::new(&shop.url).unwrap();
        let wrong = [
            (shop.client(), "worker_token"),
            (without.clone().token("another"), "not known here"),
            (without, "Authorization: Bearer TOKEN"),
        ];
        for (client, why) in wrong {
            let error = app(client.store()).list(&ListFilter::default()).await.unwrap_err();
            assert!(matches!(&error, StoreError::Denied(said) if said.contains(why)), "{error}");
        }
    })
    .await;
}

/// A proxy that loses the answer to every `nth` request, once it was done; where it listens, and how many were lost.
async fn lossy(upstream: String, nth: usize) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (seen, lost) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counted = lost.clone();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let (upstream, seen, lost) = (upstream.clone(), seen.clone(), counted.clone());
            tokio::spawn(async move {
                let _ =
                    relay(client, &upstream, || seen.fetch_add(1, Ordering::Relaxed) % nth == nth - 1, &lost)
                        .await;
            });
        }
    });
    (url, lost)
}

async fn relay(
    mut client: TcpStream,
    upstream: &str,
    mut loses: impl FnMut() -> bool,
    lost: &AtomicUsize,
) -> std::io::Result<()> {
    let mut server = TcpStream::connect(upstream).await?;
    loop {
        let request = message(&mut client).await?;
        server.write_all(&request).await?;
        let response = message(&mut server).await?;
        if loses() {
            lost.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        client.write_all(&response).await?;
    }
}

/// One HTTP message that says how long it is.
async fn message(from: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        bytes.push(from.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&bytes).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    from.read_exact(&mut body).await?;
    bytes.extend(body);
    Ok(bytes)
}
