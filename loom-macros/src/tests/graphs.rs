//! The static graph of sample bodies, in a compact notation. Not its tokens: the snapshots show those.

use crate::body::{Bound, Node, Policy, Survey};
use crate::runtime_path::RuntimePath;

fn graph(body: &str) -> String {
    let block = syn::parse_str(&format!("{{ {body} }}")).expect("the sample parses");
    render(
        &Survey::new(
            block,
            &syn::parse_str("ctx").expect("a name"),
            &[],
            &RuntimePath::new(None),
            &|_, _| None,
        )
        .graph,
    )
}

fn jump(word: &str, name: Option<&String>) -> String {
    name.map_or_else(|| word.to_owned(), |name| format!("{word} {name}"))
}

fn render(nodes: &[Node]) -> String {
    let arms = |arms: &[crate::body::Arm]| {
        let arms: Vec<_> = arms
            .iter()
            .map(|arm| {
                format!(
                    "{}{} => {}",
                    if arm.cfgs.is_empty() { "" } else { "cfg " },
                    arm.label,
                    render(&arm.body)
                )
            })
            .collect();
        arms.join("; ")
    };
    let nodes: Vec<_> = nodes
        .iter()
        .map(|node| match node {
            Node::Step { id, step, .. } if id == step => id.clone(),
            Node::Step { id, step, .. } => format!("{step} as {id}"),
            Node::Message { id, .. } => format!("message {id}"),
            Node::Dispatch { id, .. } => format!("send {id}"),
            Node::Child { id, flow, .. } => format!("child {id}: {flow}"),
            Node::Gate { id, .. } => format!("gate {id}"),
            Node::Timer { id, .. } => format!("timer {id}"),
            Node::Decision { id, .. } => format!("decision {id}"),
            Node::Emit { id, event: None, .. } => id.clone(),
            Node::Emit { id, event: Some(event), .. } => format!("{id} {event}"),
            Node::Part { id, part, .. } => format!("part {part} as {id}"),
            Node::Loop { label, name, body, bound, .. } => {
                let mark = match bound {
                    Bound::Bounded => "",
                    Bound::Unknown => "maybe unbounded ",
                    Bound::Endless => "unbounded ",
                };
                let name = name.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
                format!("{mark}loop [{name}{label}] {{ {} }}", render(body))
            }
            Node::Block { name, body, .. } => format!("block [{name}] {{ {} }}", render(body)),
            Node::Conditional { body, .. } => format!("cfg {{ {} }}", render(body)),
            Node::Break { name, .. } => jump("break", name.as_ref()),
            Node::Continue { name, .. } => jump("continue", name.as_ref()),
            Node::Propagate { .. } => "?".to_owned(),
            Node::Branch { label, arms: ways, .. } => format!("branch [{label}] {{ {} }}", arms(ways)),
            Node::Parallel { arms: sides, together, .. } => {
                let policy = match together.policy {
                    None => "",
                    Some(Policy::All) => " all",
                    Some(Policy::FailFast) => " fail fast",
                    Some(Policy::Drain) => " drain",
                    Some(Policy::Detach) => " detach",
                };
                let limit =
                    together.limit.as_ref().map(|limit| format!(" limit {limit}")).unwrap_or_default();
                format!("parallel{policy}{limit} {{ {} }}", arms(sides))
            }
            Node::Return { .. } => "return".to_owned(),
            Node::Unreachable { body, .. } => format!("unreachable {{ {} }}", render(body)),
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
fn a_step_that_is_chosen_at_run_time() {
    assert_eq!(
        graph("ctx.execute(\"a\", step, 1).await; ctx.execute(id, \"probe\", 1).await;"),
        "* as a, probe as execute"
    );
}

#[test]
fn what_a_variable_holds_is_what_a_let_shows() {
    for (body, expected) in [
        ("let call = charge(x); ctx.run(call).id(\"deposit\").await;", "charge as deposit"),
        ("let call: StepCall<_> = charge(x); ctx.run(call.clone()).id(\"a\").await;", "charge as a"),
        ("let call = audit(x); ctx.call(call).id(\"a\").await;", "child a: audit"),
        ("let call = pay(x); ctx.part(\"p\", call).await;", "part pay as p"),
        ("let call = charge(x); { let call = pay(x); ctx.run(call).id(\"a\").await; }", "pay as a"),
        ("let call = if x { charge(1) } else { charge(2) }; ctx.run(call).id(\"a\").await;", "* as a"),
        ("let (call, other) = calls(); ctx.run(call).id(\"a\").await;", "* as a"),
        ("ctx.run(call).id(\"a\").await; ctx.call(call).id(\"b\").await;", "* as a, child b: *"),
        ("let charge = charge(x); ctx.run(charge).id(\"a\").await;", "* as a"),
        ("let make = charge; let call = make(x); ctx.run(call).id(\"a\").await;", "* as a"),
        ("let make = |x| charge(x); ctx.run(make(x)).await;", "* as make"),
        ("let call = charge(x); { use other::charge; ctx.run(call).id(\"a\").await; }", "* as a"),
        ("let call = charge(x); #[cfg(unix)] let call = pay(x); ctx.run(call).id(\"a\").await;", "* as a"),
        ("ctx.part(\"p\", parts.next()).await;", "part * as p"),
    ] {
        assert_eq!(graph(body), expected, "{body}");
    }
}

#[test]
fn what_a_condition_may_leave_out_is_marked() {
    for (body, expected) in [
        ("#[cfg(unix)] ctx.run(a()).await?; ctx.run(b()).await?;", "cfg { a }, b"),
        ("#[cfg(unix)] let x = ctx.run(a()).await?; ctx.run(b()).await?;", "cfg { a }, b"),
        ("#[cfg(unix)] let x = ctx.run(a()); x.await?;", "cfg { a }"),
        ("#[cfg(unix)] return ctx.run(a()).await; ctx.run(b()).await?;", "cfg { a, return }, b"),
        (
            "match way { #[cfg(unix)] 1 => ctx.run(a()).await, _ => ctx.run(b()).await }",
            "branch [way] { cfg 1 => a; _ => b }",
        ),
        (
            "match way { #[cfg(unix)] 1 => {} #[cfg(unix)] 2 => return ctx.run(a()).await, _ => return ctx.run(b()).await } ctx.run(c()).await;",
            "branch [way] { cfg 1 => ; cfg 2 => a, return; _ => b, return }, c",
        ),
        (
            "join_all([#[cfg(unix)] ctx.run(a()), ctx.run(b())]).await;",
            "parallel { cfg ctx.run(a()) => a; ctx.run(b()) => b }",
        ),
        ("helper(#[cfg(unix)] ctx.run(a()).await, ctx.run(b()).await);", "cfg { a }, b"),
        ("let x = order.f(1, #[cfg(unix)] ctx.run(a()).await);", "cfg { a }"),
        (
            "let x = (1, #[cfg(unix)] ctx.run(a()).await, [#[cfg(unix)] ctx.run(b()).await]);",
            "cfg { a }, cfg { b }",
        ),
        ("let x = S { #[cfg(unix)] a: ctx.run(a()).await, b: ctx.run(b()).await };", "cfg { a }, b"),
        (
            "let x = [#[cfg(unix)] ctx.run(a()), ctx.run(b())]; join_all(x).await;",
            "parallel { cfg ctx.run(a()) => a; ctx.run(b()) => b }",
        ),
        (
            "match way { n if ctx.run(a()).await => ctx.run(b()).await, _ => 1 }",
            "branch [way] { n if ctx.run(a()).await => a, b; _ =>  }",
        ),
    ] {
        assert_eq!(graph(body), expected, "{body}");
    }
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
        "loop [for x in &xs] { maybe unbounded loop [while ctx.run(a()).await] { a, b } }, \
         parallel { ys.map(|y| ctx.run(c(y))) => loop [|y|] { c } }"
    );
}

#[test]
fn joins_and_selects() {
    assert_eq!(
        graph("join!(ctx.run(a()), other()); select! { x = ctx.run(b()) => ctx.run(c()).await, else => 1 };"),
        "parallel { ctx.run(a()) => a; other() =>  }, parallel { ctx.run(b()) => b, c; else =>  }"
    );
}

#[test]
fn branches_of_parallel_and_the_future_of_a_timeout_stand_side_by_side() {
    assert_eq!(
        graph(
            "ctx.parallel(xs.map(|x| ctx.run(a(x)).key(x))).limit(8).fail_fast().await?; ctx.run(b()).await;"
        ),
        "parallel fail fast limit 8 { xs.map(|x| ctx.run(a(x)).key(x)) => loop [|x|] { a } }, b"
    );
    assert_eq!(
        graph("let all = vec![ctx.run(a()), ctx.run(b())]; ctx.parallel(all).drain().await;"),
        "parallel drain { ctx.run(a()) => a; ctx.run(b()) => b }"
    );
    assert_eq!(
        graph("ctx.timeout(days(1), ctx.call(f(n))).id(\"wait\").await; ctx.run(b()).await;"),
        "parallel { ctx.call(f(n)) => child f: f; days(1) => timer wait }, b"
    );
    assert_eq!(
        graph("let asked = ctx.run(a()); ctx.timeout(limit, asked).await;"),
        "parallel { asked => a; limit => timer timeout }"
    );
}

#[test]
fn what_is_added_to_a_scope_runs_side_by_side_where_it_is_awaited() {
    assert_eq!(
        graph(
            "let mut scope = ctx.scope(); scope.add(ctx.run(a())); scope.add(ctx.call(f(n))); ctx.run(b()).await; \
             scope.limit(2).fail_fast().await?; ctx.run(c()).await;"
        ),
        "b, parallel fail fast limit 2 { ctx.run(a()) => a; ctx.call(f(n)) => child f: f }, c"
    );
    assert_eq!(
        graph(
            "let mut hosts = ctx.scope::<u8, E>().limit(most); \
             for x in &xs { ctx.run(b(x)).await; if x.odd { hosts.add(ctx.run(a(x))); } } \
             let all = hosts.all(); ctx.sleep(d).await; all.await;"
        ),
        "loop [for x in &xs] { b }, timer sleep, \
         parallel all limit most { for x in &xs => loop [for x in &xs] { branch [x.odd] { then => a } } }"
    );
    assert_eq!(
        graph(
            "for x in &xs { let mut scope = ctx.scope(); scope.add(ctx.run(a(x))); let scope = scope.limit(3); \
             if x.odd { scope.detach(); continue } scope.drain().await; }"
        ),
        "loop [for x in &xs] { branch [x.odd] { then => parallel detach limit 3 { ctx.run(a(x)) => a }, continue }, \
         parallel drain limit 3 { ctx.run(a(x)) => a } }"
    );
    assert_eq!(
        graph(
            "let mut scope = ctx.scope(); scope.add(ctx.run(a())); finish(scope).await; ctx.run(b()).await;"
        ),
        "b, parallel { ctx.run(a()) => a }"
    );
}

#[test]
fn going_on_as_new_leaves() {
    assert_eq!(
        graph("if n > 9 { return ctx.continue_as_new(f(ctx.run(a()).await?)).await; } ctx.run(b()).await"),
        "branch [n > 9] { then => a, return }, b"
    );
    assert_eq!(
        graph("loop { if x { ctx.continue_as_new(f(n)).await? } ctx.run(a()).await; }"),
        "maybe unbounded loop [loop] { branch [x] { then => return }, a }"
    );
    assert_eq!(graph("ctx.continue_as_new(f(n)).await; ctx.run(b()).await"), "return, unreachable { b }");
}

#[test]
fn what_nobody_reaches_is_marked() {
    assert_eq!(
        graph("ctx.run(a()).await; return Ok(()); ctx.run(b()).await; ctx.sleep(d).await;"),
        "a, return, unreachable { b, timer sleep }"
    );
    assert_eq!(graph("panic!(\"no\"); ctx.run(b()).await"), "unreachable { b }");
    assert_eq!(
        graph("if x { return ctx.run(a()).await } else { todo!() } ctx.run(b()).await"),
        "branch [x] { then => a, return; else =>  }, unreachable { b }"
    );
    assert_eq!(
        graph("match x { A => return ctx.run(a()).await, B => {} } ctx.run(b()).await"),
        "branch [x] { A => a, return; B =>  }, b"
    );
    assert_eq!(
        graph(
            "for x in &xs { if x.odd { continue; ctx.run(a(x)).await } else { break } ctx.run(b(x)).await; }"
        ),
        "loop [for x in &xs] { branch [x.odd] { then => continue, unreachable { a }; else => break }, unreachable { b } }"
    );
}

#[test]
fn what_somebody_may_reach_is_not() {
    for reached in [
        "ok || return Err(x); ctx.run(b()).await",
        "let f = async { return ctx.run(a()).await }; f.await; ctx.run(b()).await",
        "if x { return Err(y) } ctx.run(b()).await",
        "let Some(x) = y else { return Err(z) }; ctx.run(b()).await",
        "loop { if done { break } ctx.run(a()).await; } ctx.run(b()).await",
        "'out: loop { loop { break 'out } } ctx.run(b()).await",
        "'found: { if x { break 'found; } return Err(y) } ctx.run(b()).await",
        "xs.iter().for_each(|x| panic!(\"{x}\")); ctx.run(b()).await",
        "for x in xs { return Err(x) } ctx.run(b()).await",
    ] {
        let graph = graph(reached);
        assert!(!graph.contains("unreachable") && graph.ends_with('b'), "{reached}: {graph}");
    }
}

#[test]
fn loops_without_a_known_bound_are_marked() {
    assert_eq!(
        graph("loop { ctx.run(poll()).await; ctx.sleep(d).await; } ctx.run(never()).await"),
        "unbounded loop [loop] { poll, timer sleep }, unreachable { never }"
    );
    assert_eq!(
        graph("while true { loop { ctx.run(a()).await; break } } ctx.run(never()).await"),
        "unbounded loop [while true] { maybe unbounded loop [loop] { a, break } }, unreachable { never }"
    );
    assert_eq!(
        graph("let mut n = 0; while n < 3 { n += 1; ctx.run(a()).await; }"),
        "loop [while n < 3] { a }"
    );
    assert_eq!(
        graph("for n in 0.. { if ctx.run(a(n)).await { break } }"),
        "maybe unbounded loop [for n in 0..] { a, branch [ctx.run(a(n)).await] { then => break } }"
    );
}

#[test]
fn lists_of_futures_run_side_by_side() {
    assert_eq!(
        graph(
            "join_all([ctx.run(a()), ctx.run(b())]).await; futures::future::try_join_all(vec![ctx.run(c())]).await;"
        ),
        "parallel { ctx.run(a()) => a; ctx.run(b()) => b }, parallel { ctx.run(c()) => c }"
    );
    assert_eq!(
        graph(
            "let all: Vec<_> = xs.iter().map(|x| ctx.run(a(x)).key(x)).collect(); ctx.run(b()).await; join_all(all).await;"
        ),
        "b, parallel { all => loop [|x|] { a } }"
    );
    assert_eq!(
        graph("let all = vec![ctx.run(a()), ctx.run(b())]; try_join_all(all).await"),
        "parallel { ctx.run(a()) => a; ctx.run(b()) => b }"
    );
}

#[test]
fn a_future_stands_where_it_is_awaited() {
    assert_eq!(
        graph(
            "let one = ctx.run(a()); let two = async { ctx.run(b()).await }; ctx.run(c()).await; join!(one, two);"
        ),
        "c, parallel { one => a; two => b }"
    );
    assert_eq!(
        graph("let timer = ctx.sleep(d); select! { x = ctx.run(a()) => x, () = timer => return Err(late) }"),
        "parallel { ctx.run(a()) => a; timer => timer sleep, return }"
    );
    assert_eq!(
        graph(
            "let x = ctx.run(a()).await; let y = { ctx.emit(&e); ctx.run(b()) }; ctx.run(c()).await; y.await"
        ),
        "a, emit, b, c"
    );
    // One that is made anew, and one that nobody awaits.
    assert_eq!(graph("let x = ctx.run(a()); let x = ctx.run(b()); ctx.run(c()).await;"), "a, c, b");
    assert_eq!(graph("let x = ctx.run(a()); ctx.run(b()).await; my_macro!(x);"), "b, a");
}

#[test]
fn a_select_ends_what_all_its_handlers_leave() {
    assert_eq!(
        graph(
            "select! { x = ctx.run(a()) => return x, _ = ctx.sleep(d) => return late }; ctx.run(b()).await"
        ),
        "parallel { ctx.run(a()) => a, return; ctx.sleep(d) => timer sleep, return }, unreachable { b }"
    );
}

#[test]
fn jumps_say_where_they_go() {
    assert_eq!(
        graph(
            "'all: for x in &xs { for y in &x.ys { if y.last { break 'all } if y.odd { continue } ctx.run(a(y)).await; } }"
        ),
        "loop ['all: for x in &xs] { loop [for y in &x.ys] { branch [y.last] { then => break 'all }, \
         branch [y.odd] { then => continue }, a } }"
    );
    assert_eq!(
        graph("'found: { if x { ctx.run(a()).await; break 'found } ctx.run(b()).await; } ctx.run(c()).await"),
        "block ['found] { branch [x] { then => a, break 'found }, b }, c"
    );
    assert_eq!(graph("'all: { ctx.run(a()).await; }"), "a");
    assert_eq!(
        graph("loop { if ctx.run(a()).await? { return Ok(()) } helper()?; other()?; ctx.run(b()).await?; }"),
        "maybe unbounded loop [loop] { a, ?, branch [ctx.run(a()).await?] { then => return }, ?, b, ? }"
    );
    assert_eq!(graph("ctx.run(a()).await?; helper()?;"), "a");
}

#[test]
fn jumps_alone_make_no_graph() {
    for silent in [
        "for x in &xs { if x.odd { continue } if x.last { break } n += x.parse()?; }",
        "'all: loop { loop { if done { break 'all } if odd { continue } } }",
        "let x = 'found: { if y { break 'found 1 } 2 };",
        "let all = async { loop { f()?; break } };",
    ] {
        assert_eq!(graph(silent), "", "{silent}");
    }
    assert_eq!(
        graph("for x in &xs { ctx.run(a(x)).await; for y in x { n += y.parse()?; } }"),
        "loop [for x in &xs] { a, ? }"
    );
    assert_eq!(
        graph("for x in &xs { let Some(y) = x else { continue }; let z = y?; ctx.run(a(z)).await; }"),
        "loop [for x in &xs] { branch [let Some(y)] { else => continue }, ?, a }"
    );
}

#[test]
fn events_are_named_as_far_as_the_source_shows_them() {
    for (body, emitted) in [
        ("ctx.emit(&Placed { sku });", "emit Placed"),
        ("ctx.emit(&(shop::Moved::North));", "emit shop::Moved::North"),
        ("ctx.emit(&Placed::of(order));", "emit Placed::of"),
        ("ctx.emit(&Placed::<u8>(order));", "emit Placed"),
        ("ctx.emit::<Placed>(&event);", "emit Placed"),
        ("let event = Placed { sku }; ctx.emit(&event);", "emit Placed"),
        (
            "let event: Placed = order.into(); if x { ctx.emit(&event); }",
            "branch [x] { then => emit Placed }",
        ),
        ("let event = Placed { sku }; let event = other(); ctx.emit(&event);", "emit"),
        ("let event = order.placed(); ctx.emit(&event);", "emit"),
        ("ctx.emit(&placed(order));", "emit"),
        ("ctx.emit();", "emit"),
    ] {
        assert_eq!(graph(body), emitted, "{body}");
    }
}
