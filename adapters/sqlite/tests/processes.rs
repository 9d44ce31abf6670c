//! Several stores on one file, in one process and in two, and processes that are killed.
//! Not the power: a killed process leaves its writes with the kernel, only a lost machine tests the sync.

mod fixture;

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use fixture::*;
use loom_runtime::{
    FrameId, Status,
    kernel::Digest,
    ports::{
        Append, ClaimRequest, Close, EventStore, GateChange, GateIndex, GateState, Inbox, LeaseStore,
        ListFilter, NewExecution, Posted, StoreError,
    },
};
use sqlite::Sqlite;

/// What the child is to do, `role:path`; it runs the test [`as_a_child`] of this same program.
const ROLE: &str = "LOOM_SQLITE_TEST_ROLE";

fn spawn(role: &str, path: &Path) -> Child {
    Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "as_a_child", "--nocapture"])
        .env(ROLE, format!("{role}:{}", path.display()))
        .stdout(Stdio::piped())
        .spawn()
        .expect("the child starts")
}

/// Tells the parent, at once. The name of the test comes before the first line, without an end of its own.
fn say(words: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n> {words}").and_then(|()| out.flush()).expect("the parent listens");
}

/// What the child says, line by line, until it ends or is killed.
fn heard(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let out = BufReader::new(child.stdout.take().expect("piped"));
    let lines = out.lines().map_while(Result::ok);
    lines.filter_map(|line| line.strip_prefix("> ").map(str::to_owned))
}

/// Not a test: the child's part of the others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_a_child() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let (role, path) = role.split_once(':').expect("role:path");
    let store = open(Path::new(path)).await;
    match role.split_once(' ').unwrap_or((role, "")) {
        ("contend", _) => {
            say("ready");
            let done = contend(&store, "child").await;
            say(&serde_json::to_string(&done).expect("texts"));
            store.close().await;
        }
        ("stream", round) => {
            let streams: Vec<_> = (0..8)
                .map(|n| {
                    let (store, name) = (store.clone(), format!("r{round}-{n}"));
                    tokio::spawn(async move { stream(&store, &name).await })
                })
                .collect();
            for stream in streams {
                stream.await.expect("no panic");
            }
        }
        other => panic!("{other:?}"),
    }
}

/// Competes with another process, or another store, that does the same at the same time. Answers what it
/// claimed, and which of its records the shared log took.
async fn contend(store: &Sqlite, me: &str) -> (Vec<String>, Vec<String>) {
    let alone = async {
        let mut owner = Owner::create(store, &format!("own-{me}")).await;
        for _ in 0..60 {
            owner.append(2).await;
        }
    };
    let posting = async {
        for n in 0..60 {
            let posted = store.post(item("inbox", None, format!(r#""{me} {n}""#))).await;
            assert!(matches!(posted, Ok(Posted::Accepted(_))), "{posted:?}");
        }
    };
    let claiming = async {
        let mut claimed = Vec::new();
        loop {
            let (now, until) = (at(10), at(1_000_000));
            let flows = Some(vec!["shared".into()]);
            let request = ClaimRequest {
                worker: me.into(),
                now,
                until,
                limit: 3,
                execution: None,
                flows,
                program: None,
            };
            let taken = store.claim(&request).await.expect("claim");
            if taken.is_empty() {
                break claimed;
            }
            claimed.extend(taken.iter().map(|taken| taken.row.id.to_string()));
        }
    };
    // Both hold the fence, as after a mistake of an operator: the sequence alone decides.
    let racing = async {
        let mut won = Vec::new();
        for n in 0..60 {
            let next = row(store, "both").await.next;
            let words = format!("{me} {n}");
            let append = Append {
                execution: id("both"),
                expected_next: next,
                fence: 1,
                batch: Digest::of(words.as_bytes()),
                records: vec![record(next, format!("{words:?}"))],
                at: at(100),
                progress: false,
                gates: Vec::new(),
                consumed: Vec::new(),
                posts: Vec::new(),
                run: None,
                close: None,
            };
            match store.append(&append).await {
                Ok(()) => won.push(words),
                Err(StoreError::Conflict { .. }) => {}
                Err(other) => panic!("{other}"),
            }
        }
        won
    };
    let ((), (), claimed, won) = tokio::join!(alone, posting, claiming, racing);
    (claimed, won)
}

async fn prepare_contention(store: &Sqlite) {
    Owner::create(store, "inbox").await;
    Owner::create(store, "both").await;
    for n in 0..50 {
        let name = format!("shared-{n}");
        let new = NewExecution { flow: "shared".into(), claim: None, ..new(&name, "nobody") };
        store.create(new).await.expect("created");
    }
}

async fn check_contention(store: &Sqlite, one: (Vec<String>, Vec<String>), two: (Vec<String>, Vec<String>)) {
    let claimed: BTreeSet<_> = one.0.iter().chain(&two.0).collect();
    assert_eq!((claimed.len(), one.0.len() + two.0.len()), (50, 50), "each execution went to one of the two");
    let log = log(store, "both").await;
    let taken: BTreeSet<_> = log[1..].iter().map(|record| record.payload.trim_matches('"')).collect();
    let won: BTreeSet<_> = one.1.iter().chain(&two.1).map(String::as_str).collect();
    assert_eq!(taken, won, "what was acknowledged is in the log, once, and nothing else");
    assert_eq!(log.len(), 1 + one.1.len() + two.1.len());
    let items = store.pending(&id("inbox"), 0).await.expect("pending");
    assert_eq!(items.len(), 120);
    assert!(items.is_sorted_by(|a, b| a.id < b.id));
    for me in ["parent", "child"] {
        assert_eq!(self::log(store, &format!("own-{me}")).await.len(), 121);
        // Each sender's own order is kept.
        let own = items.iter().filter(|item| item.payload.contains(me));
        assert!(
            own.map(|item| &item.payload)
                .eq((0..60).map(|n| format!(r#""{me} {n}""#)).collect::<Vec<_>>().iter())
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_stores_share_a_file() {
    let path = fresh();
    let (first, second) = (open(&path).await, open(&path).await);
    prepare_contention(&first).await;
    let (one, two) = (first.clone(), second.clone());
    let (one, two) = tokio::join!(
        tokio::spawn(async move { contend(&one, "parent").await }),
        tokio::spawn(async move { contend(&two, "child").await })
    );
    check_contention(&second, one.expect("no panic"), two.expect("no panic")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_share_a_file() {
    let path = fresh();
    let store = open(&path).await;
    prepare_contention(&store).await;
    let mut child = spawn("contend", &path);
    let mut lines = heard(&mut child);
    assert_eq!(lines.next().as_deref(), Some("ready"));
    let one = contend(&store, "parent").await;
    let (last, lines) = tokio::task::spawn_blocking(move || (lines.next(), lines)).await.expect("no panic");
    let two = serde_json::from_str(&last.expect("the child reports")).expect("texts");
    check_contention(&store, one, two).await;
    drop(lines);
    assert!(child.wait().expect("it ends").success());
}

/// Whom a stream posts to.
fn mail_of(name: &str) -> String {
    format!("mail-{name}")
}

/// Transitions that touch everything, one after the other, for ever; each is reported when acknowledged.
async fn stream(store: &Sqlite, name: &str) {
    let mail = mail_of(name);
    Owner::create(store, &mail).await;
    let mut owner = Owner::create(store, name).await;
    for turn in 1_u64.. {
        let Ok(Posted::Accepted(item)) = store.post(item(name, None, format!("{turn}"))).await else {
            panic!("not posted")
        };
        say(&format!("posted {name} {item}"));
        // One record says everything that the transition does to the indexes.
        let open = GateChange::Opened {
            frame: FrameId::parsed(&format!("g{turn}")),
            gate: "g".into(),
            schema: "{}".into(),
            expires_at: None,
        };
        let answered = FrameId::parsed(&format!("g{}", turn - 1));
        let closes = turn.is_multiple_of(4);
        let (status, wake_at) = (Status::Suspended, Some(at(0)));
        let words = format!(r#"{{"opens":"g{turn}","consumes":{item},"closes":{closes}}}"#);
        let records = vec![record(owner.next, "0".into()), record(owner.next + 1, words)];
        let append = Append {
            records,
            gates: vec![GateChange::Closed { frame: answered, state: GateState::Answered }, open],
            consumed: vec![item],
            posts: vec![self::item(&mail, None, format!("{turn}"))],
            run: Some(owner.next),
            close: closes.then_some(Close { status, wake_at, seen: item, unfit: None }),
            ..owner.batch(0)
        };
        store.append(&append).await.expect("accepted");
        owner.next += 2;
        say(&format!("appended {name} {}", owner.next));
        if closes {
            let request = ClaimRequest {
                worker: "worker".into(),
                now: at(10),
                until: at(1_000),
                limit: 1,
                execution: Some(owner.id.clone()),
                flows: None,
                program: None,
            };
            let claimed = store.claim(&request).await.expect("claim");
            owner.fence = claimed[0].fence;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b35_b45_a_killed_writer_leaves_whole_transitions() {
    let path = fresh();
    let (mut appended, mut posted) = (BTreeMap::new(), BTreeMap::<String, Vec<u64>>::new());
    for round in 0..16_u64 {
        let mut child = spawn(&format!("stream {round}"), &path);
        // Every round ends at another point of the stream.
        for (n, line) in heard(&mut child).enumerate() {
            let words: Vec<&str> = line.split(' ').collect();
            let [what, name, number] = words[..] else { panic!("{line:?}") };
            let number: u64 = number.parse().expect("a number");
            match what {
                "appended" => drop(appended.insert(name.to_owned(), number)),
                _ => posted.entry(name.to_owned()).or_default().push(number),
            }
            if n as u64 == 40 + round * 17 {
                // An acknowledgement comes just after a commit, and some instants later it is in the next one.
                std::thread::sleep(Duration::from_micros(round * 211));
                // SIGKILL; what it said until then is still read.
                child.kill().expect("it runs");
            }
        }
        assert!(!child.wait().expect("it ends").success(), "it was killed");
        let store = open(&path).await;
        for row in store.list(&ListFilter::default()).await.expect("list") {
            if !row.id.as_str().starts_with("mail-") {
                check_streamed(&store, row.id.as_str(), &appended, &posted).await;
            }
        }
        store.close().await;
    }
    assert!(appended.len() > 100, "{} streams", appended.len());
}

/// Everything that was acknowledged is there, and rows, gates and inbox are what the events say.
async fn check_streamed(
    store: &Sqlite,
    name: &str,
    appended: &BTreeMap<String, u64>,
    posted: &BTreeMap<String, Vec<u64>>,
) {
    let (row, log) = (row(store, name).await, log(store, name).await);
    assert!(row.next >= appended.get(name).copied().unwrap_or(1), "`{name}` has lost an acknowledged append");
    assert_eq!(row.next, log.len() as u64);
    assert_eq!(log.len() % 2, 1, "`{name}` holds half a transition");
    let words: Vec<serde_json::Value> = log[1..]
        .iter()
        .filter(|record| record.sequence % 2 == 0)
        .map(|record| serde_json::from_str(&record.payload).expect("JSON"))
        .collect();
    let gates = store.gates(Some(&id(name))).await.expect("gates");
    let opened: Vec<_> = words.iter().map(|words| words["opens"].as_str().expect("a frame")).collect();
    assert!(gates.iter().map(|gate| gate.frame.as_str()).eq(opened.iter().copied()));
    for (n, gate) in gates.iter().enumerate() {
        let last = n + 1 == gates.len();
        assert_eq!(gate.run, 1 + 2 * n as u64, "each append begins a run");
        assert_eq!(gate.state, if last { GateState::Open } else { GateState::Answered });
    }
    assert_eq!(row.base, log.len().saturating_sub(2) as u64);
    let mail = store.pending(&id(&mail_of(name)), 0).await.expect("pending");
    assert!(mail.iter().map(|item| item.payload.clone()).eq((1..=words.len()).map(|turn| turn.to_string())));
    let consumed: BTreeSet<u64> = words.iter().filter_map(|words| words["consumes"].as_u64()).collect();
    let pending = store.pending(&id(name), 0).await.expect("pending");
    let pending: BTreeSet<u64> = pending.iter().map(|item| item.id).collect();
    assert!(pending.is_disjoint(&consumed), "`{name}` would get an item twice");
    for item in posted.get(name).into_iter().flatten() {
        assert!(pending.contains(item) || consumed.contains(item), "`{name}` has lost item {item}");
    }
    // Closed as the last event says, unless a claim came after it.
    let closes = words.last().is_some_and(|words| words["closes"] == true);
    match row.status {
        Status::Suspended => assert!(closes && row.lease.is_none() && row.wake_at == Some(at(0))),
        Status::Running => assert!(row.lease.is_some() && row.wake_at.is_none()),
        other => panic!("`{name}` is {other}"),
    }
    let claims = 1 + words.iter().filter(|words| words["closes"] == true).count() as u64;
    if let Some(lease) = row.lease {
        assert_eq!(lease.fence, claims, "one claim for each close");
    }
}
