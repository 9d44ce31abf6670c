//! What ids and indices the calls of a body get. Not which are refused: that is `rules`.

use quote::ToTokens as _;

use crate::body::Survey;
use crate::runtime_path::RuntimePath;

fn survey(body: &str) -> Survey {
    let block = syn::parse_str(&format!("{{ {body} }}")).expect("the sample parses");
    Survey::new(block, &syn::parse_str("ctx").expect("a name"), &[], &RuntimePath::new(None), &|_, _| None)
}

fn ids(body: &str) -> Vec<String> {
    survey(body).calls.iter().map(|call| call.id.clone()).collect()
}

/// The arguments of each `__at` in the rewritten body, without white space.
fn indices(body: &str) -> Vec<String> {
    let text: String = survey(body).block.to_token_stream().to_string().split_whitespace().collect();
    text.split("__at(&__LOOM_SITES")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once(",&[")?.1.split_once(']')?.0.to_owned()))
        .collect()
}

#[test]
fn a_call_is_named_after_what_it_calls() {
    assert_eq!(ids("ctx.run(a::b::reserve(x)).await"), ["reserve"]);
    assert_eq!(ids("ctx.run(reserve(x)).timeout(d).id(\"first\").await"), ["first"]);
    assert_eq!(ids("ctx.run(r#type(x)).await"), ["type"]);
    assert_eq!(ids("ctx.part(\"pay\", pay(x)).await"), ["pay"]);
    assert_eq!(ids("ctx.suspend::<A>(\"manager\").timeout(d).await"), ["manager"]);
    assert_eq!(ids("ctx.decide(\"way\", || 1).await"), ["way"]);
    assert_eq!(ids("ctx.sleep_until(t).await"), ["sleep"]);
}

#[test]
fn synchronous_calls_are_numbered_from_the_second_on() {
    assert_eq!(
        ids("ctx.uuid(); ctx.emit(&e); ctx.uuid(); ctx.random(); ctx.uuid(); ctx.changed(\"x\");"),
        ["uuid", "emit", "uuid~2", "random", "uuid~3", "changed"]
    );
}

#[test]
fn calls_are_found_inside_macros_and_chains() {
    assert_eq!(
        ids("let (x, y) = join!(ctx.run(a()), async { ctx.run(b()).await });
             if matches!(ctx.run(c()).await, Ok(n) if n > 1) { format!(\"{}\", ctx.run(d()).await?.e()); }
             ctx.run(f(ctx.uuid())).await.map(|x| x).unwrap_or(json!({\"k\": ctx.random()}));"),
        ["a", "b", "c", "d", "uuid", "f", "random"]
    );
}

#[test]
fn loops_count_and_nest() {
    assert_eq!(indices("ctx.run(a()).await"), [""]);
    assert_eq!(indices("for x in xs { ctx.run(a()).await; }"), ["__loom_i0"]);
    assert_eq!(
        indices("for x in xs { while b { ctx.run(a()).await; } ctx.run(b()).await; }"),
        ["__loom_i0,__loom_i1", "__loom_i0"]
    );
}

#[test]
fn a_condition_counts_as_inside_and_an_iterator_does_not() {
    assert_eq!(indices("while ctx.run(a()).await? { ctx.run(b()).await; }"), ["__loom_n0", "__loom_i0"]);
    assert_eq!(indices("for x in ctx.run(a()).await? { ctx.run(b()).await; }"), ["", "__loom_i0"]);
}

#[test]
fn a_closure_leaves_room_for_its_key() {
    assert_eq!(indices("xs.map(|x| ctx.run(a(x)).key(x))"), ["0"]);
    assert_eq!(indices("for b in bs { b.map(|x| ctx.run(a(x)).key(x)); }"), ["__loom_i0,0"]);
    assert_eq!(indices("for x in xs { async { ctx.run(a(x)).key(x).await }; }"), ["__loom_i0"]);
}

#[test]
fn a_loop_without_calls_is_left_as_it_is() {
    let body = "for x in xs { total += x; }";
    let before: syn::Block = syn::parse_str(&format!("{{ {body} }}")).expect("parses");
    assert_eq!(survey(body).block.to_token_stream().to_string(), before.to_token_stream().to_string());
}

#[test]
fn lines_are_noted_only_where_ctx_is_at_hand() {
    let notes = |body: &str| survey(body).block.to_token_stream().to_string().matches("__near").count();
    assert_eq!(notes("ctx.run(a()).await"), 1);
    assert_eq!(notes("async { other.await }.await"), 1);
    assert_eq!(notes("async { ctx.run(a()).await }.await"), 2);
    assert_eq!(notes("async { let f = async move { ctx.run(a()).await }; f.await }.await"), 2);
    assert_eq!(notes("f(|| other)"), 0);
}
