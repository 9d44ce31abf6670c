//! Which rule a sample breaks. Not the wording or the place of the errors: `ui-tests` holds those.

use super::codes;

/// A flow with this body.
fn flow(body: &str) -> String {
    format!("#[flow] async fn f(ctx: Ctx, order: Order) -> Result<(), E> {{ {body} }}")
}

fn check(cases: &[(&str, &[&str])]) {
    for (body, expected) in cases {
        assert_eq!(codes(&flow(body)), *expected, "{body}");
    }
}

#[test]
fn of_tests() {
    let cases: &[(&str, &[&str])] = &[
        ("#[test] async fn f(test: Test) {}", &[]),
        ("#[test] async fn f(mut test: loom::testing::Test) -> Result<(), E> { Ok(()) }", &[]),
        (
            "#[test(crash = \"every-event\", replay = \"every-await\", faults)] #[ignore] async fn f(t: Test) {}",
            &[],
        ),
        ("#[test(faults(seed = 7))] async fn f(test: Test) {}", &[]),
        ("#[test] fn f(test: Test) {}", &["L1001"]),
        ("#[test] async fn f() {}", &["L1001"]),
        ("#[test] async fn f(test: Test);", &["L1001"]),
        ("#[test] async fn f(test: Test, more: u8) {}", &["L1001"]),
        ("#[test] async fn f<T>(&self) {}", &["L1001", "L1001"]),
        ("#[test] struct F;", &["L1001"]),
        ("#[test] #[step] async fn f(test: Test) {}", &["L0112"]),
        (
            "#[test(crash = \"every-evnt\", replay = \"every-event\")] async fn f(test: Test) {}",
            &["L1002", "L1002"],
        ),
        ("#[test(crash = 5)] async fn f(test: Test) {}", &["L0106"]),
        ("#[test(crsh = \"every-event\")] async fn f(test: Test) {}", &["L0106"]),
        ("#[test(faults(runs = 0))] async fn f(test: Test) {}", &["L1003"]),
        (
            "#[test(faults(seed = 99999999999999999999, runs = 9999999999))] async fn f(test: Test) {}",
            &["L1003", "L1003"],
        ),
        ("#[test(faults(seeds = 1))] async fn f(test: Test) {}", &["L0106"]),
    ];
    for (source, expected) in cases {
        assert_eq!(codes(source), *expected, "{source}");
    }
}

#[test]
fn of_steps() {
    let cases: &[(&str, &[&str])] = &[
        ("#[step] async fn f() -> Result<(), E> {}", &[]),
        ("#[step] async fn f() -> Outcome {}", &[]),
        ("#[step(retry)] async fn f(mut a: A, cx: StepCx, r: Res<R>) -> Result<(), E> {}", &[]),
        ("#[step] fn f() -> Result<(), E> {}", &["L0101"]),
        ("#[step] async fn f() {}", &["L0102"]),
        ("#[step] async fn f() -> u32 {}", &["L0102"]),
        ("#[step] async fn f<'a, T, const N: usize>() -> R {}", &["L0103", "L0103", "L0103"]),
        ("#[step] async fn f(a: impl Into<A>) -> R {}", &["L0103"]),
        ("#[step] async fn f(a: &str) -> R {}", &["L0104"]),
        ("#[step] async fn f(&self) -> R {}", &["L0104"]),
        ("#[step] async fn f(a: Vec<&str>, b: Option<&'static str>, c: Cow<'_, str>) -> R {}", &["L0104"; 3]),
        ("#[step] async fn f(a: Cow<'static, str>, r: Res<&'static str>) -> R {}", &[]),
        ("#[step(pure, reads)] async fn f() -> R {}", &["L0108"]),
        ("#[step(timeout = \"10s\", heartbeat = \"1m\")] async fn f() -> R {}", &["L0107"]),
        ("#[step(timeout = \"1m\", heartbeat = \"60s\")] async fn f() -> R {}", &[]),
        ("#[step(retry(initial = \"1m\", max = \"1s\"))] async fn f() -> R {}", &["L0107"]),
        ("#[step] async fn f(ctx: loom::Ctx) -> R {}", &["L0105"]),
        (
            "#[step(retires = 2, timeout = \"1s\", timeout = \"2s\")] async fn f() -> R {}",
            &["L0106", "L0106"],
        ),
        ("#[step(timeout = \"1 week\")] async fn f() -> R {}", &["L0107"]),
        ("#[step(timeout = 10)] async fn f() -> R {}", &["L0106"]),
        ("#[step(timeout = \"0s\")] async fn f() -> R {}", &["L0107"]),
        ("#[step(pure, at_most_once, retry)] async fn f() -> R {}", &["L0108", "L0108"]),
        ("#[step] async fn f((a, b): (A, B), _: C) -> R {}", &["L0109", "L0109"]),
        ("#[step(retry(attempts = 0))] async fn f() -> R {}", &["L0110"]),
        ("#[step(name = \"A b\", effects(\"Http\"))] async fn F() -> R {}", &["L0111", "L0111"]),
        ("#[step] async fn Ship() -> R {}", &["L0111"]),
        ("#[step] async fn f(a: A, a: B, a: Res<C>) -> R {}", &["L0109", "L0109"]),
        ("#[step] async fn f<'a>(a: &'a A) -> R {}", &["L0104"]),
        ("#[step] async fn f<'a>(a: A) -> R {}", &["L0103"]),
        ("#[step] async fn f(#[cfg(unix)] a: A) -> R {}", &["L0109"]),
        ("#[step] async fn f(a: A) -> R { Self::g(a) }", &["L0104"]),
        ("#[step] async fn f(a: Self) -> R {}", &["L0104"]),
        ("#[step] async fn f(a: A) -> R { struct S; impl S { fn new() -> Self { S } } }", &[]),
        ("#[step(\"x\")] async fn f() -> R {}", &["L0106"]),
        ("#[step(\"x\", 3, timeout = \"1 week\")] async fn f() -> R {}", &["L0106", "L0106", "L0107"]),
    ];
    for (source, expected) in cases {
        assert_eq!(codes(source), *expected, "{source}");
    }
}

#[test]
fn of_flow_signatures() {
    let cases: &[(&str, &[&str])] = &[
        ("#[flow] async fn f(ctx: Ctx) -> Result<(), E> {}", &[]),
        ("#[flow] async fn f(_: Ctx, a: A) -> R {}", &[]),
        ("#[flow] async fn f(ctx: Ctx) -> R { #![allow(unused)] ctx.run(a()).await }", &[]),
        ("#[flow(part)] async fn f(ctx: Ctx, a: A, b: B) {}", &[]),
        ("#[flow] fn f(ctx: Ctx) -> R {}", &["L0201"]),
        ("#[flow] async fn f() -> R {}", &["L0202"]),
        ("#[flow] async fn f(a: A) -> R {}", &["L0202"]),
        ("#[flow] async fn f(&self, ctx: Ctx) -> R {}", &["L0202"]),
        ("#[flow] async fn f(ctx: Ctx, a: A, b: B, c: C) -> R {}", &["L0203", "L0203"]),
        ("#[flow] async fn f(ctx: Ctx, (a, b): A) -> R {}", &["L0203"]),
        ("#[flow] async fn f<'a>(ctx: Ctx, a: &'a A) -> R {}", &["L0203"]),
        ("#[flow] async fn f(ctx: &Ctx, a: A) -> R {}", &["L0202"]),
        ("#[flow] async fn f(ctx: Ctx, other: Ctx) -> R {}", &["L0202"]),
        ("#[flow] async fn f(ctx: Ctx, other: app::Ctx) -> R {}", &[]),
        ("#[flow] async fn f(ctx: Ctx, #[cfg(unix)] a: A) -> R {}", &["L0203"]),
        ("#[flow(part)] async fn f(ctx: Ctx, a: &A) {}", &["L0203"]),
        ("#[flow] async fn f(ctx: Ctx, a: Vec<&str>) -> R {}", &["L0203"]),
        ("#[flow] async fn f(ctx: Ctx, bank: Res<Bank>, a: A) -> R {}", &["L0203"]),
        ("#[flow(part)] async fn f(ctx: Ctx, step: loom::StepCx) {}", &["L0203"]),
        ("/// x\n#[tool] #[step] async fn f() -> R {}", &["L0112"]),
        ("#[flow] #[loom::agent] async fn f(ctx: Ctx) -> R {}", &["L0112"]),
        ("#[flow] #[other::step] async fn f(ctx: Ctx) -> R {}", &[]),
        ("/// x\n#[agent(budget())] async fn f(ctx: Ctx) -> R {}", &["L0703"]),
        ("#[doc = include_str!(\"a.md\")]\n#[agent] async fn f(ctx: Ctx) -> R {}", &[]),
        ("#[flow] async fn f(ctx: Ctx) {}", &["L0204"]),
        ("#[flow] async fn f<T>(ctx: Ctx, a: T) -> R {}", &["L0205"]),
        ("#[flow(prat)] async fn f(ctx: Ctx) -> R {}", &["L0106"]),
        ("#[flow(part)] async fn f(ctx: Ctx, a: A, a: B) {}", &["L0203"]),
        ("#[flow] async fn f(ctx: Ctx, ctx: A) -> R { ctx.run(a()).await }", &["L0203"]),
        ("#[flow] async fn f(&self, ctx: Ctx) -> R {}", &["L0202"]),
        ("#[flow] async fn f(ctx: Ctx) -> R { Self::g() }", &["L0202"]),
    ];
    for (source, expected) in cases {
        assert_eq!(codes(source), *expected, "{source}");
    }
}

#[test]
fn of_what_nobody_awaits() {
    check(&[
        ("let _ = ctx.run(a());", &["L0225"]),
        ("ctx.run(a()).id(\"b\"); ctx.sleep(d);", &["L0225", "L0225"]),
        ("let _ = ctx.suspend::<A>(\"a\"); ctx.spawn(b());", &["L0225", "L0225"]),
        ("let _ = ctx.run(a()).await; let _later = ctx.run(b()); ctx.emit(&e); let _ = ctx.uuid();", &[]),
        ("let _ = ctx.run(a()).boxed();", &[]),
    ]);
}

#[test]
fn of_identities() {
    check(&[
        ("ctx.run(a()).await?; ctx.run(b()).await?;", &[]),
        ("ctx.run(a()).await?; ctx.run(m::a()).await?;", &["L0206"]),
        ("ctx.run(a()).await?; ctx.run(a()).id(\"second\").await?;", &[]),
        ("ctx.run(a()).await?; ctx.run(a()).memo().await?;", &[]),
        (
            "ctx.run(a()).await?; ((ctx).run(a())).id(\"b\").await?; (ctx.run(a())).id(\"b\").await?;",
            &["L0219"],
        ),
        ("ctx.run(a()).await?; ctx.run(b()).id(\"a\").await?;", &["L0219"]),
        ("ctx.sleep(d).await; ctx.sleep(d).await;", &["L0219"]),
        ("ctx.suspend::<A>(\"a\").await; ctx.decide(\"a\", || 1).await;", &["L0219"]),
        ("ctx.run(a()).id(\"x\").id(\"y\").await;", &["L0220"]),
        ("ctx.emit(&e).id(\"x\"); ctx.run(a()).id(name).await;", &["L0220", "L0220"]),
        ("ctx.emit(&e); ctx.emit(&e); ctx.uuid(); ctx.uuid();", &[]),
        ("ctx.run(a()).id(\"A b\").await;", &["L0111"]),
        (
            "ctx.suspend(\"ok\").await; ctx.receive::<T>(name).await; ctx.suspend::<_>(n).await;",
            &["L0216", "L0216", "L0216", "L0216"],
        ),
        ("ctx.receive::<T>(\"t\").update::<R>().await; ctx.receive::<T>(\"u\").update().await;", &["L0216"]),
        ("ctx.receive::<T>(\"t\").await; ctx.receive::<m::T>(\"t\").id(\"b\").await;", &[]),
        ("ctx.receive::<T>(\"t\").await; ctx.receive::<T>(\"t\").await;", &["L0219"]),
        ("ctx.receive::<T>(\"t\").await; ctx.receive::<U>(\"t\").id(\"b\").await;", &["L0216"]),
        ("ctx.receive::<T>(\"t\").update::<R>().await; ctx.receive::<T>(\"t\").id(\"b\").await;", &["L0216"]),
        ("ctx.receive::<T>(\"t\").await; ctx.receive::<T>(\"t\").id(\"b\").update::<R>().await;", &["L0216"]),
        (
            "ctx.receive::<T>(\"t\").update::<R>().await; ctx.receive::<T>(\"t\").id(\"b\").update::<S>().await;",
            &["L0216"],
        ),
        ("ctx.changed(\"new-tax\"); ctx.changed(\"new-tax\");", &[]),
        ("ctx.changed(NAME); ctx.changed(\"New tax\");", &["L0221", "L0111"]),
        ("let call = a(); ctx.run(call).await;", &["L0217"]),
        ("let call = a(); ctx.run(call).id(\"a\").await;", &[]),
        ("ctx.run(a(x).await).await; ctx.run((b(x)).await?).await;", &["L0218", "L0218"]),
        ("ctx.part(name, p()).await; ctx.decide(name, || 1).await;", &["L0221", "L0221"]),
        ("ctx.execute(name, \"effect\", json!({})).await;", &[]),
        ("ctx.execute(\"a\", s, 1).await; ctx.execute(\"a\", s, 2).await;", &["L0219"]),
        ("ctx.execute(\"A b\", s, 1).await;", &["L0111"]),
        ("ctx.negotiate_budget(name, ask).await;", &["L0221"]),
        ("ctx.negotiate_budget(\"a\", ask).await; ctx.decide(\"a\", || 1).await;", &["L0219"]),
    ]);
}

#[test]
fn of_continuations() {
    check(&[
        ("ctx.continue_as_new(f(order)).await", &[]),
        ("ctx.continue_as_new(crate::flows::f(order)).await", &[]),
        ("let next = f(order); ctx.continue_as_new(next).await", &[]),
        ("return ctx.continue_as_new(g(order)).await;", &["L0224"]),
    ]);
    let part = "#[flow(part)] async fn p(ctx: Ctx) -> R { ctx.continue_as_new(f(1)).await }";
    assert_eq!(codes(part), [""; 0]);
}

#[test]
fn of_repetition() {
    check(&[
        ("for x in xs { ctx.run(a(x)).await?; }", &[]),
        ("for x in xs { ctx.run(a(x)).key(&x.id).await?; }", &[]),
        ("xs.map(|x| ctx.run(a(x)))", &["L0207"]),
        ("xs.map(|x| ctx.run(a(x)).key(&x.id))", &[]),
        ("xs.map(|x| ctx.emit(&x))", &[]),
        ("xs.map(|x| ctx.execute(&x.id, &x.step, x.input))", &[]),
        ("xs.map(|x| ctx.execute(\"probe\", &x.step, x.input))", &["L0207"]),
        ("xs.map(|x| ctx.execute(&plan.id, &x.step, x.input))", &["L0207"]),
        ("for x in xs { v.push(async move { ctx.execute(x.id, \"s\", 1).await }); }", &[]),
        ("async { ctx.run(a()).await }.await", &[]),
        ("for x in xs { v.push(async move { ctx.run(a(x)).await }); }", &["L0207"]),
        ("for x in xs { ctx.run(a(x)).key(\"x\").await; }", &["L0208"]),
        ("for x in xs { ctx.run(a(x)).key(order.id).await; }", &["L0208"]),
        ("for x in xs { ctx.run(a(x)).key(format!(\"{x}\")).await; }", &[]),
        ("for x in xs { for y in x.ys() { ctx.run(a(y)).key(x).await; } }", &["L0208"]),
        ("let mut n = 0; loop { n += 1; ctx.run(a()).key(n).await; }", &[]),
        ("while let Some(x) = next() { ctx.run(a()).key(x).await; }", &[]),
        ("ctx.run(a()).key(&order.id).await", &[]),
    ]);
}

#[test]
fn of_keys_that_are_the_same() {
    let in_loop = |body: &str| flow(&format!("let limit = 3; for line in order.lines {{ {body} }}"));
    let of = |key: &str| in_loop(&format!("ctx.run(a()).key({key}).await;"));
    for key in [
        "\"x\"",
        "7",
        "KEY",
        "shop::KEY",
        "limit",
        "&order.id",
        "order.line.clone()",
        "\"{line}\"",
        "format!(\"x\")",
        "format!(\"{limit}-{}\", order.id)",
        "\"x\".to_string()",
        "String::from(KEY)",
        "(order.id, limit + 1)",
        "OrderId(order.id)",
        "&order.names[0]",
        "if limit > 2 { 1 } else { 2 }",
        "{ let id = order.id; id }",
        "order.id.to_string().as_str()",
    ] {
        assert_eq!(codes(&of(key)), ["L0208"], "{key}");
    }
    for key in [
        "line",
        "&line.id",
        "format!(\"{line}\")",
        "format!(\"{}\", line.id)",
        "ctx.uuid()",
        "next_id()",
        "order.next()",
        "COUNTER.fetch_add(1)",
        "custom!(order)",
        "order.names[line]",
        "(order.id, line.id)",
        "later.await",
        "match order.kind { _ => line.id }",
        "{ let id = line.id; id }",
        "Key::new(order.id)",
    ] {
        assert_eq!(codes(&of(key)), [""; 0], "{key}");
    }
    for body in [
        "let k = order.id.clone(); ctx.run(a()).key(k).await;",
        "let (k, _) = (order.id, 1); let l = format!(\"{k}\"); ctx.run(a()).key(l).await;",
        "if let Some(k) = &order.id { ctx.run(a()).key(k).await; }",
        "match order.kind { Kind::A(k) => ctx.run(a()).key(k).await, _ => {} }",
        "for part in line.parts { let k = line.id; ctx.run(a()).key(k).await; }",
        "join_all(line.parts.iter().map(|part| ctx.run(a()).key(line.id)));",
    ] {
        assert_eq!(codes(&in_loop(body)), ["L0208"], "{body}");
    }
    for body in [
        "let k = line.id.clone(); ctx.run(a()).key(k).await;",
        "let line = line.clone(); ctx.run(a()).key(line).await;",
        "let k; if limit > 2 { k = line.id } else { k = 0 } ctx.run(a()).key(k).await;",
        "let mut k = 0; k += line.id; ctx.run(a()).key(k).await;",
        "let k = names.next(); ctx.run(a()).key(k).await;",
        "while let Some(k) = queue.pop() { ctx.run(a()).key(k).await; }",
        "let Some(k) = line.id else { continue }; ctx.run(a()).key(k).await;",
        "let k = ctx.run(b()).await?; ctx.run(a()).key(k).await;",
        "if let Some(k) = line.id && k > limit { ctx.run(a()).key(k).await; }",
    ] {
        assert_eq!(codes(&in_loop(body)), [""; 0], "{body}");
    }
}

#[test]
fn of_keys_that_count() {
    for body in [
        "let mut n = 0; loop { ctx.run(a()).key(n).await; n += 1; }",
        "let mut n = 0; while { n += 1; n < 3 } { ctx.run(a()).key(n).await; }",
        "let n = &mut order.n; loop { ctx.run(a()).key(*n).await; *n = next(*n); }",
        "let (mut n, mut m) = (0, 1); loop { ctx.run(a()).key(n).await; (n, m) = (m, n + m); }",
        "let mut s = String::new(); for x in xs { ctx.run(a()).key(&s).await; s.push('x'); }",
        "let mut s = String::new(); for x in xs { ctx.run(a()).key(&s).await; write!(s, \"x\"); }",
        "let mut n = 0; for x in xs { ctx.run(a()).key(n).await; step(&mut n); }",
        "let mut s = state(); for x in xs { ctx.run(a()).key(s.n).await; s.n += 1; }",
        "let mut s = state(); for x in xs { ctx.run(a()).key(s.n).await; let S { ref mut n } = s; *n += 1; }",
        "let mut n = 0; xs.map(|x| { n += 1; ctx.run(a(x)).key(n) });",
        "loop { ctx.run(a()).key(order.n).await; order.n += 1; }",
    ] {
        assert_eq!(codes(&flow(body)), [""; 0], "{body}");
    }
    for body in [
        "let mut n = 0; loop { ctx.run(a()).key(n).await; } n += 1;",
        "let mut n = 0; n += 1; for x in xs { ctx.run(a(n)).key(n).await; }",
        "let mut n = 0; for x in xs { n += 1; for y in ys { ctx.run(a()).key(n).await; } }",
        "let mut n = 0; for x in xs { n += 1; join_all(ys.map(|y| ctx.run(a()).key(n))); }",
        "let mut s = String::new(); for x in xs { ctx.run(a()).key(s.trim()).await; }",
        "loop { ctx.run(a()).key(order.n).await; order.total(); }",
    ] {
        assert_eq!(codes(&flow(body)), ["L0208"], "{body}");
    }
    let mutable = "#[flow] async fn f(ctx: Ctx, mut order: Order) -> R {
        loop { ctx.run(a()).key(order.n).await; order.count(); } }";
    assert_eq!(codes(mutable), [""; 0]);
}

#[test]
fn of_keys_in_closures_that_run_once() {
    for body in [
        "for x in xs { let send = async || ctx.run(a(x)).key(x).await; send().await; }",
        "for x in xs { let send = async |n| ctx.run(a(n)).key(x.id).await; send(1).await; }",
        "for x in xs { let send = async |n| ctx.run(a(n)).key(order.id).await; send(1).await; }",
        "let send = async |n| ctx.run(a(n)).key(\"one\").await; if order.odd { send(1).await; }",
        "let send = |n| ctx.run(a(n)).key(\"one\"); join!(send(1), other());",
        "for x in xs { within(\"span\", async || ctx.run(a(x)).key(x.id).await).await; }",
        "within(\"span\", async || ctx.run(a(1)).key(order.id).await).await;",
    ] {
        assert_eq!(codes(&flow(body)), [""; 0], "{body}");
    }
    for body in [
        "let send = async |n| ctx.run(a(n)).key(\"one\").await; for x in xs { send(x).await; }",
        "let send = async |n| ctx.run(a(n)).key(\"one\").await; join!(send(1), send(2));",
        "let send = async |n| ctx.run(a(n)).key(order.id).await; join_all(xs.map(send)).await;",
        "let send = |n| ctx.run(a(n)).key(order.id); xs.each(|x| send(x)).await;",
        "let send = |n| ctx.run(a(n)).key(order.id); any!(send(1));",
        "for x in xs { within(async |n| ctx.run(a(n)).key(x.id).await).await; }",
        "for x in xs { within(async || ctx.run(a(x)).key(order.id).await).await; }",
        "let send = async |n| { for x in xs { ctx.run(a(x)).key(n).await; } }; send(1).await;",
    ] {
        assert_eq!(codes(&flow(body)), ["L0208"], "{body}");
    }
    assert_eq!(codes(&flow("let send = async |n| ctx.run(a(n)).await; send(1).await;")), ["L0207"]);
}

#[test]
fn of_macros() {
    check(&[
        ("join!(ctx.run(a()), ctx.run(b()));", &[]),
        ("custom!(ctx.run(a()))", &["L0209"]),
        ("custom!(order.qty)", &[]),
        ("macro_rules! m { () => { ctx.run(a()) } }", &["L0209"]),
        ("info!(qty = ctx.random(), ?order, target.x = %order.id, \"{}\", ctx.uuid());", &[]),
        ("json!({ \"a\": ctx.uuid(), \"b\": [1, { \"c\": null }], key: order.f::<A, B>() })", &[]),
        ("assert!(matches!(ctx.run(a()).await, Ok(n) if n > ctx.random()), \"{}\", 1);", &[]),
        ("vec![ctx.uuid(); 3];", &[]),
        ("select! { x = ctx.run(a()) => x, y = ctx.run(b()), if x > 1 => { y } else => 1 }", &[]),
        ("select! { biased; x = ctx.run(a()) => x, y = ctx.run(a()) => y }", &["L0206"]),
        ("tokio::select! { x = ctx.run(a()) => x }", &["L0210"]),
        ("tokio::select! { biased; x = ctx.run(a()) => x }", &[]),
        ("futures::select_biased! { x = f => x }", &["L0210"]),
        ("futures::select! { x = ctx.run(a()) => x, complete => 1, default => 2 }", &["L0210"]),
        ("select! { x = ctx.run(a()) => x, complete => 1, default => { 2 } }", &["L0210", "L0210"]),
        ("select! { ctx.run(a()) => 1, _ = f => 2 }", &["L0210"]),
        ("select! { default = f => default, Some(x) | x = g => x, else => 2 }", &[]),
        ("select! { recv(r) -> x => 1 } select!(a, b from c);", &[]),
        ("join!(ctx.run(a()), ctx.run(a()))", &["L0206"]),
    ]);
}

#[test]
fn of_the_outside_world() {
    check(&[
        ("SystemTime::now();", &["clock?"]),
        ("std::time::SystemTime::now();", &["L0211"]),
        ("xs.map(thread::spawn); self::fs::read(p);", &["spawning?", "outside?"]),
        ("fs::read(p).await?; File::open(p).map(f).await;", &["L0215", "L0215"]),
        ("fs::read(q).await?.then(|| ctx.now()); self::fs::read(p).await;", &["L0215"]),
        ("let spawn_blocking = |f| f; spawn_blocking(1); fn thread_rng() {} thread_rng(); now();", &[]),
        ("mod rand {} mod fs {} rand::random(); use crate::Utc; Utc::now(); fs::nothing();", &[]),
        ("self::rand::random(); crate::Utc::now(); shop::Ulid::new(); thread::count();", &[]),
        ("Utc::now(); rand::random(); ulid::Ulid::new();", &["L0211", "L0212", "L0212"]),
        ("let f = rand::random::<u8>;", &["L0212"]),
        ("tokio::spawn(async {});", &["L0213"]),
        ("tokio::time::sleep(d).await;", &["L0214"]),
        ("println!(\"{:?}\", std::env::var(\"X\"));", &["L0215"]),
        ("ctx.decide(\"x\", || SystemTime::now()).await;", &[]),
        ("ctx.decide(\"x\", SystemTime::now).id(\"y\").await;", &[]),
        ("fn helper() { SystemTime::now(); }", &[]),
    ]);
}

#[test]
fn of_the_context() {
    check(&[
        ("helper(ctx).await;", &["L0222"]),
        ("helper(&ctx, 1).await; order.with(ctx.clone());", &["L0222", "L0222"]),
        (
            "ctx.part(\"h\", helper(ctx, 1)).await; ctx.run(a(&ctx)).await; ctx.call(b(ctx.clone())).await;",
            &["L0222"; 3],
        ),
        ("let c = ctx;", &["L0222"]),
        ("ctx.clone().run(a()).await;", &["L0222"]),
        ("let ctx = other();", &["L0222"]),
        ("xs.map(|ctx| 1);", &["L0222"]),
        ("let c = ctx.clone(); let _ = ctx;", &[]),
        ("{ let ctx = ctx.clone(); async move { ctx.run(a()).await } }.await;", &[]),
        ("ctx.now(); ctx.execution();", &[]),
    ]);
}

#[test]
fn of_failures() {
    let cases: &[(&str, &[&str])] = &[
        ("enum E { #[failure(engine)] Engine(EffectError), A { n: u32 } }", &[]),
        ("enum E { A }", &["L0302"]),
        ("enum E { #[failure(engin)] Engine(EffectError) }", &["L0305"]),
        ("enum E { #[failure(engine)] A(X), #[failure(engine)] B(X) }", &["L0303"]),
        ("enum E { #[failure(engine)] A { x: X } }", &["L0304"]),
        ("enum E { #[failure(engine)] A }", &["L0304"]),
        ("enum E { #[failure(engine)] A(X), #[failure(permanant)] B }", &["L0305"]),
        ("enum E { #[failure(engine, permanent)] A(X) }", &["L0305"]),
        ("enum E { #[failure(engine)] A(X), #[failure(retry_after = \"soon\")] B }", &["L0107"]),
    ];
    for (source, expected) in cases {
        assert_eq!(codes(source), *expected, "{source}");
    }
    let of_struct = crate::failure::failure("struct E;".parse().expect("tokens")).to_string();
    assert!(of_struct.contains("[L0301]"), "{of_struct}");
}

fn check_items(cases: &[(&str, &[&str])]) {
    for (source, expected) in cases {
        assert_eq!(codes(source), *expected, "{source}");
    }
}

#[test]
fn of_events() {
    check_items(&[
        ("#[event(name = \"a.b\")] struct E { a: A }", &[]),
        ("#[event(name = \"a\", version = 3, upcast(1 => f, 2 => m::g,))] enum E { A, B(C) }", &[]),
        ("#[event(name = \"a\", version = 3, upcast(2 => f))] struct E;", &[]),
        ("#[event(name = \"a\")] union E { a: A }", &["L0401"]),
        ("#[event(name = \"a\")] fn e() {}", &["L0401"]),
        ("#[event] struct E;", &["L0402"]),
        ("#[event(version = 1, nmae = \"a\")] struct E;", &["L0106"]),
        ("#[event(name = \"A b\")] struct E;", &["L0111"]),
        ("#[event(name = \"a\")] struct E<'a, T>(&'a T);", &["L0403", "L0403"]),
        ("#[event(name = \"a\", version = 0)] struct E;", &["L0404"]),
        ("#[event(name = \"a\", version = 2)] struct E;", &["L0405"]),
        ("#[event(name = \"a\", version = \"2\", upcast(1 => f))] struct E;", &["L0106"]),
        ("#[event(name = \"a\", version = 3, upcast(1 => f))] struct E;", &["L0405"]),
        ("#[event(name = \"a\", version = 3, upcast(2 => f, 1 => g))] struct E;", &["L0405"]),
        ("#[event(name = \"a\", version = 3, upcast(1 => f, 1 => g, 2 => h))] struct E;", &["L0405"]),
        ("#[event(name = \"a\", upcast(1 => f))] struct E;", &["L0405"]),
        ("#[event(name = \"a\", version = 2, upcast(0 => f, 1 => g))] struct E;", &["L0405"]),
        ("#[event(name = \"a\", version = 2, upcast(f))] struct E;", &["L0106"]),
        ("#[event(name = \"a\", version = 2, upcast)] struct E;", &["L0106"]),
        ("#[event(name = \"A\", version = 0)] struct E<T>(T);", &["L0404", "L0111", "L0403"]),
    ]);
}

#[test]
fn of_tools_and_skills() {
    let long = format!("/// D.\n#[tool(name = \"{}\")] async fn f() -> R {{}}", "x".repeat(65));
    check_items(&[
        ("/// D.\n#[tool(reads)] async fn f(a: A, s: StepCx, r: Res<R>) -> R {}", &[]),
        ("#[tool] async fn f() -> R {}", &["L0501"]),
        ("///\n#[tool] async fn f() -> R {}", &["L0501"]),
        ("/// D.\n#[tool(name = \"a.b\")] async fn f() -> R {}", &["L0502"]),
        (&long, &["L0502"]),
        ("#[tool(retires)] fn f(a: &str) {}", &["L0106", "L0101", "L0102", "L0104", "L0501"]),
        ("#[tool] struct S;", &["L0101"]),
        ("/// D.\n#[skill(file = \"a.md\")] struct Refunds;", &[]),
        ("/// D.\n#[skill(file = \"../a/b.md\", name = \"x\")] pub struct Refunds;", &[]),
        ("/// D.\n#[skill(file = \"a.md\")] fn f() {}", &["L0601"]),
        ("/// D.\n#[skill(file = \"a.md\")] struct S { a: A }", &["L0601"]),
        ("/// D.\n#[skill(file = \"a.md\")] struct S<T>;", &["L0601"]),
        ("#[skill(file = \"a.md\")] struct S;", &["L0602"]),
        ("/// D.\n#[skill] struct S;", &["L0603"]),
        ("/// D.\n#[skill(fiel = \"a.md\")] struct S;", &["L0106"]),
        ("/// D.\n#[skill(file = \"/etc/a.md\")] struct S;", &["L0603"]),
        ("/// D.\n#[skill(file = \"C:a.md\")] struct S;", &["L0603"]),
        ("#[skill(name = \"S\")] struct S(u8);", &["L0601", "L0602", "L0111", "L0603"]),
    ]);
}

#[test]
fn of_agents_and_policies() {
    let agent = |args: &str| {
        format!("/// Do.\n#[agent({args})] async fn f(ctx: Ctx, a: A) -> R {{ ctx.run(s(a)).await }}")
    };
    let cases: &[(&str, &[&str])] = &[
        ("", &[]),
        ("model = \"m\", tools = [a, b::c], skills = [S], max_turns = 1, budget(tokens = 1, usd = 0.1)", &[]),
        ("policies = [P, q], effects(\"http\"), name = \"x\", crate = ::weft", &[]),
        ("tools = a", &["L0106"]),
        ("tools = [a(), b, \"c\"]", &["L0106", "L0106"]),
        ("tools = [a, b, a], skills = [S, S], policies = [P, P]", &["L0704", "L0704", "L0704"]),
        ("max_turns = 0, budget(tokens = 0, usd = 0)", &["L0703", "L0703", "L0703"]),
        ("budget(usd = 0.0000001)", &["L0703"]),
        ("budget(euro = 1)", &["L0106"]),
        ("model = \" \"", &["L0705"]),
        ("schedule = \"* * * * *\"", &["L0106"]),
    ];
    for (args, expected) in cases {
        assert_eq!(codes(&agent(args)), *expected, "{args}");
    }
    check_items(&[
        ("#[agent] async fn f(ctx: Ctx) -> R {}", &["L0701"]),
        ("/// Do.\n#[agent] async fn f(ctx: Ctx) -> R;", &["L0702"]),
        ("#[agent(model = \"\")] fn f(a: A);", &["L0201", "L0202", "L0204", "L0701", "L0702", "L0705"]),
        (
            "/// Do.\n#[agent] async fn f(ctx: Ctx) -> R { std::fs::read(p); ctx.run(s()).await; ctx.run(s()).await }",
            &["L0206", "L0215"],
        ),
        ("#[agent] const A: u8 = 1;", &["L0201"]),
        ("#[policy] const P: Policy = Policy::new();", &[]),
        ("#[policy(name = \"p\")] pub static P: Policy = Policy::new();", &[]),
        ("#[policy] fn p() -> Policy { Policy::new() }", &[]),
        ("#[policy] struct P;", &["L0904"]),
        ("#[policy] const _: Policy = Policy::new();", &["L0904"]),
        ("#[policy] async fn p<T>(a: A) -> Policy {}", &["L0904", "L0904", "L0904"]),
        ("#[policy(name = \"P\")] const P: Policy = x;", &["L0111"]),
    ]);
}

#[test]
fn of_projections() {
    let fold = |inside: &str| format!("#[projection] impl Totals {{ {inside} }}");
    let cases: &[(&str, &[&str])] = &[
        ("", &[]),
        ("#[on(E)] fn a(&mut self, e: &E) {} #[on(m::F)] fn b(&mut self, e: F) {}", &[]),
        (
            "#[on(step = charge)] fn a(&mut self, o: &R) {} #[on(lifecycle)] fn b(&mut self, s: Status) {}",
            &[],
        ),
        ("const N: u8 = 1; type T = u8;", &["L0801", "L0801"]),
        ("#[on(E)] async fn a(&mut self, e: &E) {}", &["L0802"]),
        ("#[on(E)] fn a(&self, e: &E) {}", &["L0803"]),
        ("#[on(E)] fn a(self, e: &E) {}", &["L0803"]),
        ("#[on(E)] fn a(e: &E) {}", &["L0803"]),
        ("#[on(E)] fn a() {}", &["L0803"]),
        ("#[on(E)] fn a(&mut self) {}", &["L0803"]),
        ("#[on(E)] fn a(&mut self, e: &E, db: &Db) {}", &["L0803"]),
        ("#[on(E)] fn a<T>(&mut self, e: &E) -> T {}", &["L0803", "L0803"]),
        ("#[on(E)] fn a(&mut self, e: &E) { self.at = SystemTime::now(); }", &["L0804"]),
        (
            "#[on(E)] fn a(&mut self, e: &E) { println!(\"{:?}\", std::env::var(\"X\")); }",
            &["L0804", "L0804"],
        ),
        ("#[on(E)] fn a(&mut self, e: &E) { e.lines.iter().map(|_| rand::random::<u8>()); }", &["L0804"]),
        ("fn a(&mut self, e: &E) {}", &["L0805"]),
        ("#[on] fn a(&mut self, e: &E) {}", &["L0805"]),
        ("#[on(E, F)] fn a(&mut self, e: &E) {}", &["L0805"]),
        ("#[on(stpe = charge)] fn a(&mut self, e: &E) {}", &["L0805"]),
        ("#[on(E)] #[on(F)] fn a(&mut self, e: &E) {}", &["L0805"]),
        ("#[on(E)] fn a(&mut self, e: &E) {} #[on(E)] fn b(&mut self, e: &E) {}", &["L0806"]),
        ("#[on(E)] fn a(&mut self, e: &E) {} #[on(step = E)] fn b(&mut self, e: &E) {}", &[]),
        ("#[on(lifecycle)] fn a(&mut self, s: S) {} #[on(lifecycle)] fn b(&mut self, s: S) {}", &["L0806"]),
        ("async fn a(&self) { tokio::spawn(x); }", &["L0805", "L0802", "L0804"]),
    ];
    for (inside, expected) in cases {
        assert_eq!(codes(&fold(inside)), *expected, "{inside}");
    }
    check_items(&[
        ("#[projection(name = \"x\", version = 2, crate = ::weft)] impl a::Totals {}", &[]),
        ("#[projection(version = 0, nmae = \"x\")] impl Totals {}", &["L0106", "L0404"]),
        ("#[projection(version = 0)] impl Totals {}", &["L0404"]),
        ("#[projection(name = \"X\")] impl Totals {}", &["L0111"]),
        ("#[projection] impl<T> Fold for Totals<T> {}", &["L0801", "L0801"]),
        ("#[projection] impl [u8] {}", &["L0801"]),
        ("#[projection] struct Totals;", &["L0801"]),
    ]);
}

#[test]
fn of_schedules() {
    let flow = |args: &str, input: &str| format!("#[flow({args})] async fn f(ctx: Ctx{input}) -> R {{}}");
    let cases: &[(&str, &str, &[&str])] = &[
        ("schedule = \"0 9 * * MON-FRI\", time_zone = \"Europe/Zurich\", policies = [P]", "", &[]),
        ("schedule = \"0 9 * *\"", "", &["L0901"]),
        ("schedule = \"0 0 31 2 *\", time_zone = \"Zurich\"", "", &["L0901", "L0902"]),
        ("time_zone = \"UTC\"", "", &["L0903"]),
        ("schedule = \"* * * * *\", overlap = \"queue\", catch_up = \"all within 6h\"", "", &[]),
        (
            "schedule = \"* * * * *\", overlap = \"wait\", catch_up = \"all within six\"",
            "",
            &["L0905", "L0905"],
        ),
        ("overlap = \"queue\", catch_up = \"skip\"", "", &["L0903", "L0903"]),
        ("part, schedule = \"* * * * *\"", "", &["L0903"]),
        ("schedule = \"* * * * *\"", ", a: A", &["L0903"]),
        ("policies = [P, P]", "", &["L0704"]),
    ];
    for (args, input, expected) in cases {
        assert_eq!(codes(&flow(args, input)), *expected, "{args}");
    }
}

#[test]
fn several_mistakes_give_several_errors() {
    let source = "#[flow(nmae = \"x\")] fn f(a: A) { SystemTime::now(); }";
    assert_eq!(codes(source), ["L0106", "L0201", "L0202", "L0204"]);
    let source = "#[flow] fn f(ctx: Ctx, a: A, b: B) -> R {
        SystemTime::now(); ctx.run(a()).await; ctx.run(a()).await; helper(&ctx) }";
    assert_eq!(codes(source), ["L0201", "L0203", "L0206", "L0222", "clock?"]);
}

#[test]
fn of_names_that_the_body_imports() {
    check(&[
        ("use tokio::time::sleep; sleep(d).await;", &["L0214"]),
        ("sleep(d).await; use tokio::time::sleep;", &["L0214"]),
        ("{ use tokio::time::sleep; } sleep(d).await;", &[]),
        ("use tokio::time::{self as t, sleep as nap}; nap(d).await; t::sleep(d).await;", &["L0214", "L0214"]),
        ("use tokio::{task::{self, spawn}}; spawn(x); task::spawn(x);", &["L0213", "L0213"]),
        ("use std::time::SystemTime; ctx.decide(\"a\", || SystemTime::now()).await;", &[]),
        ("use tokio::time::sleep; let sleep = |d| d; sleep(d);", &[]),
        ("use tokio::time::sleep; { fn sleep() {} sleep(); }", &[]),
        ("use crate::time::sleep; sleep(d);", &[]),
        ("use shop::{Utc, fs}; Utc::now(); fs::read(p);", &["outside?"]),
        ("use time::OffsetDateTime; OffsetDateTime::now_utc();", &["L0211"]),
        ("use std::{fs::Metadata, time::Duration}; Duration::from_secs(1);", &[]),
        ("sleep(d).await; spawn(x);", &[]),
        (
            "ctx.run(sleep(d)).await?; ctx.run(time::timeout(d)).await?; ctx.part(\"a\", task::spawn(d)).await;",
            &[],
        ),
        ("ctx.run(time::sleep(Instant::now())).await?;", &["clock?", "clock?"]),
        ("ctx.run(tokio::spawn(x)).await?;", &["L0213"]),
    ]);
}

#[test]
fn of_other_names_of_the_context() {
    check(&[
        ("let c = ctx.clone(); c.run(a()).await?;", &["L0222"]),
        ("let c: Ctx = ctx.clone(); let d = c.clone(); d.sleep(x).await;", &["L0222"]),
        ("let c = ctx.clone(); join_all(xs.map(|x| c.run(a(x)).key(x))).await;", &["L0222"]),
        ("let c = ctx.clone(); c.run(a()).id(\"a\").await?;", &[]),
        ("let c = ctx.clone(); helper(c).await; helper(&c).await;", &["L0222", "L0222"]),
        ("let c = ctx.clone(); let _ = c.now();", &[]),
        ("let c = ctx.clone(); { let c = other(); c.run(a()); }", &[]),
        ("let ctx = ctx.clone(); ctx.run(a()).await?;", &[]),
        ("let c = runner(); c.run(a()).await?;", &[]),
    ]);
}
