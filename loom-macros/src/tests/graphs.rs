//! The static graph of sample bodies, in a compact notation. Not its tokens: the snapshots show those.

use crate::body::{Node, Survey};

fn graph(body: &str) -> String {
    let block = syn::parse_str(&format!("{{ {body} }}")).expect("the sample parses");
    render(&Survey::new(block, &syn::parse_str("ctx").expect("a name")).graph)
}

fn render(nodes: &[Node]) -> String {
    let arms = |arms: &[crate::body::Arm]| {
        let arms: Vec<_> = arms.iter().map(|arm| format!("{} => {}", arm.label, render(&arm.body))).collect();
        arms.join("; ")
    };
    let nodes: Vec<_> = nodes
        .iter()
        .map(|node| match node {
            Node::Step { id, step, .. } if id == step => id.clone(),
            Node::Step { id, step, .. } => format!("{step} as {id}"),
            Node::Gate { id, .. } => format!("gate {id}"),
            Node::Timer { id, .. } => format!("timer {id}"),
            Node::Decision { id, .. } => format!("decision {id}"),
            Node::Emit { id, .. } => id.clone(),
            Node::Part { id, part, .. } => format!("part {part} as {id}"),
            Node::Loop { label, body, .. } => format!("loop [{label}] {{ {} }}", render(body)),
            Node::Branch { label, arms: ways, .. } => format!("branch [{label}] {{ {} }}", arms(ways)),
            Node::Parallel { arms: sides, .. } => format!("parallel {{ {} }}", arms(sides)),
            Node::Return { .. } => "return".to_owned(),
        })
        .collect();
    nodes.join(", ")
}

#[test]
fn calls_come_in_the_order_of_evaluation() {
    assert_eq!(
        graph(
            "ctx.run(charge(ctx.part(\"p\", pay()).await)).id(\"x\").await; ctx.emit(&e); ctx.sleep(d).await;"
        ),
        "part pay as p, charge as x, emit, timer sleep"
    );
}

#[test]
fn branches_and_returns() {
    assert_eq!(
        graph(
            "if order.qty > 100 { ctx.suspend::<A>(\"ok\").await; return Err(x); } else if y { ctx.run(a()).await; }"
        ),
        "branch [order.qty > 100] { then => gate ok, return; else => branch [y] { then => a } }"
    );
    assert_eq!(
        graph("match kind { Kind::A if x => ctx.run(a()).await, _ => {} }"),
        "branch [kind] { Kind::A if x => a; _ =>  }"
    );
    assert_eq!(
        graph("let Some(x) = ctx.run(a()).await else { return ctx.run(b()).await; };"),
        "a, branch [let Some(x)] { else => b, return }"
    );
    assert_eq!(graph("if x { y() }"), "");
}

#[test]
fn loops_and_closures() {
    assert_eq!(
        graph(
            "for x in &xs { while ctx.run(a()).await { ctx.run(b()).await; } } join_all(ys.map(|y| ctx.run(c(y)))).await;"
        ),
        "loop [for x in &xs] { loop [while ctx.run(a()).await] { a, b } }, loop [|y|] { c }"
    );
}

#[test]
fn joins_and_selects() {
    assert_eq!(
        graph("join!(ctx.run(a()), other()); select! { x = ctx.run(b()) => ctx.run(c()).await, else => 1 };"),
        "parallel { ctx.run(a()) => a; other() =>  }, parallel { ctx.run(b()) => b, c; else =>  }"
    );
}
