//! Bodies as a Rust engineer may write them, odd ones among them: all of it compiles.
#![allow(unused)]

use loom::prelude::*;
use std::collections::HashMap;

#[step]
async fn ship(n: u32) -> loom::Result<u32> {
    Ok(n)
}

#[step]
async fn r#type(n: u32) -> loom::Result<u32> {
    Ok(n)
}

#[step]
async fn groesse(n: u32) -> loom::Result<u32> {
    Ok(n)
}
fn err() -> loom::Error {
    loom::Error::msg("x")
}
macro_rules! nothing {
    ($($t:tt)*) => {};
}
macro_rules! twice {
    ($e:expr) => {
        $e + $e
    };
}
fn each<'a>(xs: &'a [u32]) -> impl Iterator<Item = &'a u32> + Send + 'a {
    xs.iter()
}

#[flow]
async fn let_else(ctx: Ctx, n: Option<u32>) -> loom::Result<u32> {
    let Some(n) = n else { return ctx.run(ship(0)).await };
    let Ok(m) = ctx.run(ship(n)).id("again").await else { return Err(err()) };
    Ok(m)
}

#[flow]
async fn if_let_chains(ctx: Ctx, n: Option<u32>) -> loom::Result<u32> {
    if let Some(n) = n
        && n > 3
        && let Ok(m) = ctx.run(ship(n)).await
        && m > 2
    {
        return Ok(m);
    }
    Ok(1)
}

#[flow]
async fn labels(ctx: Ctx, n: u32) -> loom::Result<u32> {
    let x = 'done: {
        if n > 2 {
            break 'done ctx.run(ship(n)).await?;
        }
        4
    };
    let y = 'outer: loop {
        for i in 0..n {
            if i == 3 {
                break 'outer ctx.run(ship(i)).id("b").await?;
            }
            if i == 2 {
                continue 'outer;
            }
        }
        break 7;
    };
    Ok(x + y)
}

#[flow]
async fn nested_closures(ctx: Ctx, n: u32) -> loom::Result<u32> {
    let f = |a: u32| move |b: u32| a + b;
    let xs: Vec<_> = (0..n).flat_map(|a| (0..2).map(move |b| (a, b))).collect();
    let all = try_join_all(xs.iter().map(|(a, b)| ctx.run(ship(f(*a)(*b))).key(format!("{a}-{b}")))).await?;
    Ok(all.len() as u32)
}

#[flow]
async fn async_blocks(ctx: Ctx, n: u32) -> loom::Result<u32> {
    let a = async { ctx.run(ship(n)).await };
    let b = {
        let ctx = ctx.clone();
        async move {
            let x = ctx.run(ship(2)).id("b").await?;
            Ok::<_, loom::Error>(x + 1)
        }
    };
    let (a, b) = try_join!(a, b)?;
    let c: loom::Result<u32> = async {
        let x = ctx.run(ship(3)).id("c").await?;
        Ok(x)
    }
    .await;
    Ok(a + b + c.unwrap_or_default())
}

#[flow]
async fn generics_behind_helpers(ctx: Ctx, xs: Vec<u32>) -> loom::Result<u32> {
    let mut t = 0;
    for x in each(&xs) {
        t += ctx.run(ship(*x)).await?;
    }
    Ok(t)
}

#[flow]
async fn shadowed(ctx: Ctx, n: u32) -> loom::Result<u32> {
    let ctx = &ctx;
    let n = n;
    let n = n + 1;
    {
        let ctx = ctx.clone();
        ctx.run(ship(n)).await?;
    }
    ctx.run(ship(n)).id("x").await
}

#[flow]
async fn guards(ctx: Ctx, n: u32) -> loom::Result<u32> {
    Ok(match n {
        n if ctx.run(ship(n)).await? > 3 => 1,
        2 | 3 if n > 2 => 2,
        x @ 4..=9 => x,
        _ => 3,
    })
}

#[flow]
async fn macros_that_are_nothing(ctx: Ctx, n: u32) -> loom::Result<u32> {
    nothing!();
    nothing! { a b c }
    nothing![1, 2];
    let m = twice!(n);
    ctx.run(ship(m)).await
}

#[flow]
async fn while_let(ctx: Ctx, xs: Vec<u32>) -> loom::Result<u32> {
    let mut it = xs.iter().peekable();
    let mut t = 0;
    while let Some(x) = it.next() {
        if let Some(&&y) = it.peek() {
            t += y;
        }
        t += ctx.run(ship(*x)).await?;
    }
    while let Ok(n) = ctx.run(ship(t)).id("w").await {
        if n < 9 {
            break;
        }
        t -= 1;
    }
    Ok(t)
}

#[flow]
async fn early_returns(ctx: Ctx, n: u32) -> loom::Result<u32> {
    if n == 0 {
        return Ok(0);
    }
    if n == 1 {
        return Err(err())?;
    }
    return ctx.run(ship(n)).await;
}

#[flow]
async fn const_blocks(ctx: Ctx, n: u32) -> loom::Result<u32> {
    const MOST: u32 = 3;
    static NAME: &str = "x";
    let k = const { MOST + 1 };
    let arr = [0u8; 4];
    ctx.run(ship(n + k + arr.len() as u32)).await
}

#[flow]
async fn nested_items(ctx: Ctx, n: u32) -> loom::Result<u32> {
    fn inner(n: u32) -> u32 {
        fn deeper(n: u32) -> u32 {
            n
        }
        deeper(n)
    }
    #[derive(Clone, Copy)]
    struct Point {
        x: u32,
    }
    impl Point {
        fn x(&self) -> u32 {
            self.x
        }
    }
    trait Named {
        fn name(&self) -> u32 {
            1
        }
    }
    impl Named for Point {}
    enum E {
        A(u32),
        B { b: u32 },
    }
    use E::*;
    mod m {
        pub fn f() -> u32 {
            1
        }
    }
    type N = u32;
    macro_rules! local {
        ($x:expr) => {
            $x
        };
    }
    let p = Point { x: n };
    let e = if n > 1 { A(n) } else { B { b: 2 } };
    let v: N = match e {
        A(x) => x,
        B { b } => b,
    };
    ctx.run(ship(inner(p.x()) + p.name() + v + m::f() + local!(2))).await
}

#[flow]
async fn attributes_on_statements(ctx: Ctx, n: u32) -> loom::Result<u32> {
    #[allow(unused_mut)]
    let mut x = 1;
    #[rustfmt::skip] let y = ctx.run(ship(n)).await?;
    #[allow(clippy::all)]
    {
        ctx.sleep(days(1)).await;
    }
    #[expect(unused_variables)]
    let z = 4;
    #[allow(clippy::never_loop)]
    for i in 0..2 {
        ctx.run(ship(i)).id("i").await?;
    }
    Ok(x + y)
}

#[flow]
async fn raw_identifiers(ctx: Ctx, r#match: u32) -> loom::Result<u32> {
    let r#fn = ctx.run(r#type(r#match)).await?;
    let r#loop = r#fn + 1;
    for r#in in 0..r#loop {
        ctx.run(ship(r#in)).key(r#in).await?;
    }
    Ok(r#loop)
}

#[flow]
async fn unicode(ctx: Ctx, länge: u32) -> loom::Result<u32> {
    let größer = länge + 1;
    for straße in 0..größer {
        ctx.run(groesse(straße)).key(format!("{straße}")).await?;
    }
    Ok(größer)
}

#[flow]
async fn parentheses(ctx: Ctx, n: u32) -> loom::Result<u32> {
    let x = (ctx.run((ship(n)))).await?;
    let y = (((ctx).run(ship(n))).id("y")).await?;
    let z = (vec![(ctx.run(ship(x)).id("z"))]).len();
    let w = (matches!(x, 1 | 2)) as u32;
    Ok(x + y + w)
}
struct Held {
    now: String,
    n: u32,
}

#[flow]
async fn fields(ctx: Ctx, n: u32) -> loom::Result<u32> {
    let h = Held { now: format!("{:?}", ctx.now()), n: ctx.run(ship(n)).await? };
    let Held { n: m, .. } = h;
    let g = Held { n: 3, ..h };
    Ok(m + g.n)
}

#[flow]
async fn assignments(ctx: Ctx, n: u32) -> loom::Result<u32> {
    let (mut a, mut b) = (1, 2);
    (a, b) = (b, ctx.run(ship(n)).await?);
    a += ctx.run(ship(b)).id("b").await?;
    [a, b] = [b, a];
    let mut m = HashMap::new();
    m.insert(1, a);
    *m.entry(2).or_insert(0) += ctx.run(ship(a)).id("c").await?;
    Ok(a + b + m[&1])
}

#[flow]
async fn matches_on_calls(ctx: Ctx, n: u32) -> loom::Result<u32> {
    match (ctx.run(ship(n)).await, n) {
        (Ok(x), 1 | 2) if x > 1 => Ok(x),
        (Ok(x), _) => Ok(x),
        (Err(e), _) => {
            ctx.run(ship(3)).id("e").await?;
            Err(e)
        }
    }
}

#[flow]
async fn async_closures(ctx: Ctx, n: u32) -> loom::Result<u32> {
    let go = async |k: u32| ctx.run(ship(k)).key(k).await;
    let a = go(1).await?;
    let b = go(2).await?;
    Ok(a + b)
}

#[flow]
async fn boxed_futures(ctx: Ctx, n: u32) -> loom::Result<u32> {
    let mut fs: Vec<std::pin::Pin<Box<dyn Future<Output = loom::Result<u32>> + Send>>> =
        vec![Box::pin(ctx.run(ship(n)))];
    fs.push(Box::pin(async { Ok(2) }));
    let mut t = 0;
    for f in fs {
        t += f.await?;
    }
    Ok(t)
}

#[flow]
async fn ranges_and_casts(ctx: Ctx, n: u32) -> loom::Result<u32> {
    let xs = (1..=n).rev().step_by(2).map(|x| x as u64).collect::<Vec<_>>();
    let s = &xs[..xs.len().min(2)];
    let total: u64 = s.iter().sum::<u64>() + unsafe { *xs.get_unchecked(0) };
    let r = ctx.run(ship(total as u32)).await? as f64 * -1.0;
    Ok(r as u32)
}
macro_rules! pat {
    () => {
        1 | 2
    };
}
macro_rules! ty {
    () => {
        u32
    };
}

#[flow]
async fn macros_in_patterns_and_types(ctx: Ctx, n: u32) -> loom::Result<u32> {
    let x: ty!() = ctx.run(ship(n)).await?;
    Ok(match x {
        pat!() => 1,
        _ => 2,
    })
}

#[flow]
async fn diverging(ctx: Ctx, n: u32) -> loom::Result<u32> {
    let x = if n > 3 { ctx.run(ship(n)).await? } else { panic!("no {n}") };
    let y: u32 = match x {
        1 => unreachable!(),
        x => x,
    };
    assert!(y > 0, "{}", y);
    Ok(y)
}

#[flow]
async fn loops_with_values(ctx: Ctx, n: u32) -> loom::Result<u32> {
    let mut tries = 0;
    let v = loop {
        tries += 1;
        match ctx.run(ship(tries)).await {
            Ok(v) => break v,
            Err(_) if tries < 3 => {
                ctx.sleep(seconds(1)).await;
                continue;
            }
            Err(e) => return Err(e),
        }
    };
    Ok(v)
}

#[flow]
async fn formats(ctx: Ctx, n: u32) -> loom::Result<String> {
    let s = format!("{n}-{0}-{x:>4}", ctx.run(ship(n)).await?, x = ctx.run(ship(1)).id("x").await?);
    let v = vec![format!("{}", ctx.run(ship(2)).id("y").await?); 2];
    Ok(s + &v.concat())
}

#[flow(part)]
async fn counted(ctx: Ctx, n: u32, m: Vec<u32>) -> loom::Result<u32> {
    ctx.run(ship(n + m.len() as u32)).await
}

#[flow]
async fn parts(ctx: Ctx, n: u32) -> loom::Result<u32> {
    let xs = vec![1, 2];
    let a = ctx.part("a", counted(n, xs.clone())).await?;
    let b = join_all((0..2).map(|i| ctx.part("b", counted(i, vec![])).key(i))).await;
    Ok(a + b.len() as u32)
}

#[flow]
async fn joins(ctx: Ctx, n: u32) -> loom::Result<u32> {
    let (a, b) = join!(ctx.run(ship(n)), async { ctx.run(ship(2)).id("b").await.map(|x| x + 1) });
    let c = join_all(vec![ctx.run(ship(1)).id("c"), ctx.run(ship(2)).id("d")])
        .await
        .into_iter()
        .flatten()
        .sum::<u32>();
    Ok(a? + b? + c)
}
struct Clock;
impl Clock {
    const fn now() -> u32 {
        1
    }
}
struct Instant;
impl Instant {
    const fn now() -> u32 {
        1
    }
}

#[flow]
async fn constants_of_own_clocks(ctx: Ctx, n: u32) -> loom::Result<u32> {
    let k = const { Instant::now() };
    const M: u32 = Instant::now();
    let arr = [0u8; Instant::now() as usize];
    ctx.run(ship(k + Clock::now() + M + arr.len() as u32)).await
}

#[flow]
async fn returns_in_closures(ctx: Ctx, xs: Vec<String>) -> loom::Result<u32> {
    let ns = xs
        .iter()
        .map(|x| {
            if x.is_empty() {
                return Ok(0);
            }
            let n = x.parse::<u32>()?;
            Ok(n)
        })
        .collect::<Result<Vec<_>, std::num::ParseIntError>>()
        .unwrap_or_default();
    ctx.run(ship(ns.len() as u32)).await
}

#[flow]
async fn patterns(ctx: Ctx, n: (u32, Option<(u32, String)>)) -> loom::Result<u32> {
    let (a, Some((ref b, c))) = n else { return Ok(0) };
    let &x = b;
    let answer = ctx.suspend::<Option<Vec<u32>>>("gate").timeout(days(1)).await?;
    ctx.run(ship(a + x + answer.map_or(0, |v| v.len() as u32) + c.len() as u32)).await
}
fn main() {}
