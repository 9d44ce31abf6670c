//! `shards`: what is where, what would move, and what has.
//! Not the moving: the adapter's tests have that.

use cli::Exit;
use loom::{
    App, Memory,
    ports::{EventStore, ListFilter, Slot},
    shards::{Shards, Stage},
};
use serde_json::{Value, json};

use crate::support::{Pipe, Said, Shell, words};

/// A shop on two databases, of which the first has everything.
struct Chain {
    b: Memory,
    store: Shards,
}

impl Chain {
    async fn open() -> Self {
        let (a, b) = (Memory::new(), Memory::new());
        Self { b: b.clone(), store: Shards::open([("a", a), ("b", b)]).await.unwrap() }
    }

    async fn run(&self, line: &str) -> Said {
        let (out, err) = (Pipe::default(), Pipe::default());
        let app = App::builder().store(self.store.clone()).build().unwrap();
        let exit = cli::run_with(app, words(line), &mut Shell::default().console(&out, &err, "")).await;
        Said { exit, out: out.text(), err: err.text() }
    }

    /// How many executions the second has.
    async fn in_b(&self) -> usize {
        self.b.list(&ListFilter::default()).await.unwrap().len()
    }
}

fn census(a: usize, b: usize) -> Value {
    json!({"databases": [{"name": "a", "slots": a}, {"name": "b", "slots": b}]})
}

#[tokio::test]
async fn executions_move_between_databases() {
    let chain = Chain::open().await;
    for n in 0..20 {
        chain.run(&format!("start till --id t-{n} --input 5 --detach")).await.ends(Exit::Done);
    }
    assert_eq!(chain.run("shards census --json").await.json(), census(1_024, 0));
    let would = chain.run("shards spread --dry-run --json").await.ends(Exit::Done).json();
    assert_eq!(chain.run("shards census --json").await.json(), census(1_024, 0), "nothing has moved");
    assert_eq!(chain.run("shards spread").await.ends(Exit::Done).out, "512 slots moved\n");
    let expected = json!({"from": "a", "to": "b", "slots": 512, "executions": chain.in_b().await});
    assert_eq!(would, json!({"rehearsal": true, "moves": [expected]}));
    assert_eq!(chain.run("shards census").await.out, "DATABASE  SLOTS\na         512\nb         512\n");
    chain.run("shards spread --dry-run").await.ends(Exit::Done).warns("nothing has to move");

    let moved = chain.run("shards move-slots 0-99 7 50-120 --to b --json").await.ends(Exit::Done).json();
    assert_eq!(moved, json!({"rehearsal": false, "slots": 121}));
    let drain = chain.run("shards drain b --dry-run").await.ends(Exit::Done);
    drain.says("FROM  TO  SLOTS  EXECUTIONS\nb     a   633    ").warns("a dry run: nothing was moved");
    assert_eq!(chain.run("shards drain b").await.ends(Exit::Done).out, "633 slots moved\n");
    assert_eq!((chain.run("shards census --json").await.json(), chain.in_b().await), (census(1_024, 0), 0));
    assert_eq!(chain.run("list --json").await.json()["executions"].as_array().unwrap().len(), 20);
}

#[tokio::test]
async fn what_a_mover_has_left_is_finished() {
    let chain = Chain::open().await;
    let mover = chain.store.clone();
    let killed = tokio::spawn(async move {
        let slots: Vec<Slot> = Slot::all().take(5).collect();
        mover.move_slots_watched(&slots, "b", |at, _| assert!(at != Stage::Frozen, "killed")).await
    });
    killed.await.expect_err("killed");
    let would = chain.run("shards finish --dry-run --json").await.ends(Exit::Done).json();
    assert_eq!(would["moves"], json!([{"from": "a", "to": "b", "slots": 5, "executions": 0}]));
    assert_eq!(chain.run("shards finish").await.ends(Exit::Done).out, "5 slots moved\n");
    assert_eq!(chain.run("shards finish").await.ends(Exit::Done).out, "0 slots moved\n");
    assert_eq!(chain.run("shards census --json").await.json(), census(1_019, 5));
}

#[tokio::test]
async fn what_cannot_move_is_told() {
    let shell = Shell::default();
    for verb in ["census", "spread", "drain a", "finish", "move-slots 7 --to b"] {
        let said = shell.run(&format!("shards {verb}")).await.ends(Exit::Refused);
        said.warns("the store of this program is one database").warns("Shards::open");
    }
    let chain = Chain::open().await;
    for line in ["drain c", "drain c --dry-run", "move-slots 7 --to c"] {
        let said = chain.run(&format!("shards {line}")).await.ends(Exit::Refused);
        said.warns("there is no database `c` in this fleet, which has `a`, `b`").warns("shards census");
    }
    for slots in ["1024", "7-", "9-7", "x"] {
        chain.run(&format!("shards move-slots {slots} --to b")).await.ends(Exit::Usage);
    }
}
