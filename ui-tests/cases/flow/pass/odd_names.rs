//! Names that are those of clocks, keys and calls, on things of the user: all of it compiles.
#![allow(unused)]

use loom::prelude::*;

#[step]
async fn ship(n: u32) -> loom::Result<u32> {
    Ok(n)
}
#[derive(Default, Clone, Copy)]
struct Timer;
impl Timer {
    fn sleep(&self) -> u32 {
        1
    }
    fn now() -> u32 {
        2
    }
}
mod time {
    #[derive(Default)]
    pub struct Instant(pub u32);
    impl Instant {
        pub fn now() -> Self {
            Self(1)
        }
        pub fn elapsed(&self) -> u32 {
            self.0
        }
    }
}
use time::Instant;
trait Clockish {
    fn now() -> u32;
}
impl Clockish for u8 {
    fn now() -> u32 {
        3
    }
}
struct Shop<T>(T);
impl<T: Default> Shop<T> {
    fn open() -> T {
        T::default()
    }
}
type File = Shop<u32>;
enum Command {
    New(u32),
}
impl Command {
    fn new(n: u32) -> Self {
        Self::New(n)
    }
}

#[flow]
async fn own_clocks(ctx: Ctx, n: u32) -> loom::Result<u32> {
    let t = Instant::now().elapsed() + <u8 as Clockish>::now() + <Instant as Default>::default().0;
    let f = File::open() + Shop::<u32>::open();
    let Command::New(c) = Command::new(n);
    let now = Timer::now;
    let g: fn() -> Instant = Instant::now;
    let ns: Vec<_> = (0..2).map(|_| Instant::now()).map(|i| i.elapsed()).collect();
    ctx.run(ship(t + f + c + now() + g().0 + Timer.sleep())).await
}
struct Runner;
impl Runner {
    fn run(&self, n: u32) -> u32 {
        n
    }
    fn sleep(self) -> u32 {
        1
    }
    async fn call(&self, n: u32) -> u32 {
        n
    }
}

#[flow]
async fn own_methods(ctx: Ctx, n: u32) -> loom::Result<u32> {
    let r = Runner;
    let k = r.run(1) + r.run(1) + r.call(2).await;
    for i in 0..2 {
        r.run(i);
    }
    ctx.run(ship(k + r.sleep())).await
}

#[flow]
async fn keys(ctx: Ctx, xs: Vec<(String, Vec<u32>)>) -> loom::Result<u32> {
    let counter = std::sync::atomic::AtomicU32::new(0);
    for (name, list) in &xs {
        for (i, x) in list.iter().enumerate() {
            ctx.run(ship(*x)).key(format!("{name}-{i}")).await?;
        }
        let next = counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        ctx.run(ship(1)).id("n").key(next).await?;
        let [first, ..] = list.as_slice() else { continue };
        ctx.run(ship(*first)).id("f").key(first).await?;
    }
    let mut names = xs.iter().map(|(n, _)| n.clone());
    while let Some(name) = names.next() {
        ctx.run(ship(1)).id("w").key(name).await?;
    }
    let mut k = 0;
    loop {
        k += 1;
        ctx.run(ship(k)).id("k").key(format!("{k:03}")).await?;
        if k > 3 {
            break;
        }
    }
    join_all(xs.into_iter().map(async |(name, _)| ctx.run(ship(1)).id("c").key(name).await)).await;
    Ok(1)
}

#[flow]
async fn selects(ctx: Ctx, n: u32) -> loom::Result<u32> {
    let mut late = ctx.sleep(days(1));
    let mut t = 0;
    loop {
        select! {
            biased;
            Ok(x) = ctx.run(ship(t)), if t < 3 => { t += x + 1; continue }
            () = &mut late => break,
            else => break,
        }
    }
    let r = select! { x = ctx.run(ship(1)).id("one") => x?, x = async { ctx.run(ship(2)).id("two").await } => { let y = x?; y } };
    select! { _ = ctx.sleep(days(2)).id("z") => return Ok(r), }
}

#[flow]
async fn chains_in_loops(ctx: Ctx, xs: Vec<Option<u32>>) -> loom::Result<u32> {
    let mut it = xs.into_iter();
    let mut t = 0;
    'a: while let Some(x) = it.next()
        && let Some(y) = x
    {
        'b: {
            if y == 2 {
                continue 'a;
            }
            if y == 3 {
                break 'b;
            }
            if y == 4 {
                break 'a;
            }
            t += ctx.run(ship(y)).await?;
        }
    }
    Ok(t)
}

#[flow]
async fn mapped(ctx: Ctx, n: u32) -> loom::Result<u32> {
    let id = || ctx.uuid();
    let a = id();
    let b = id();
    let x = ctx.run(ship(n)).await.map(|x| x + 1).unwrap_or(0);
    let y = if ctx.changed("new") { ctx.run(ship(x)).id("y").await? } else { 0 };
    let z = Some(ctx.run(ship(y)).id("z")).unwrap().await?;
    Ok(x + y + z)
}

#[flow]
async fn continued(ctx: Ctx, n: u32) -> loom::Result<u32> {
    if n > 3 {
        return ctx.continue_as_new(continued(n - 1)).await;
    }
    match n {
        0 => Ok(0),
        n => {
            ctx.run(ship(n)).await?;
            ctx.continue_as_new(continued(n - 1)).await
        }
    }
}

#[flow(part)]
async fn pushed(ctx: Ctx, mut xs: Vec<u32>) -> Result<Vec<u32>, loom::Error> {
    xs.push(ctx.run(ship(1)).await?);
    Ok(xs)
}

#[flow]
async fn mutable_inputs(ctx: Ctx, mut n: Vec<u32>) -> loom::Result<u32> {
    n = ctx.part("p", pushed(n)).await?;
    Ok(n.len() as u32)
}

#[flow]
async fn attributes(#[allow(unused)] ctx: Ctx, #[allow(unused)] n: u32) -> loom::Result<u32> {
    let f = |#[allow(unused)] x: u32| 1;
    match n {
        #[allow(unused)]
        1 => {}
        _ => {}
    }
    let s = Shipped {
        #[allow(unused)]
        a: ctx.run(ship(f(1))).await?,
    };
    Ok(s.a)
}
struct Shipped {
    a: u32,
}

#[flow]
async fn harmless_paths(ctx: Ctx, n: u32) -> loom::Result<u32> {
    let d = std::time::Duration::from_secs(1);
    let p = std::path::Path::new("/a");
    let e = std::env::VarError::NotPresent;
    let id = std::process::ExitCode::SUCCESS;
    let m = std::mem::take(&mut { n });
    let x = core::cmp::max(n, m);
    let s = std::iter::repeat(1).take(2).sum::<u32>();
    ctx.run(ship(x + s)).await
}
#[derive(Clone)]
struct Handle(u32);
impl Handle {
    fn current() -> Self {
        Self(1)
    }
}
mod thread {
    pub fn spawn<F: FnOnce() -> u32>(f: F) -> u32 {
        f()
    }
    pub mod pool {
        pub fn spawn(n: u32) -> u32 {
            n
        }
    }
    pub struct Builder;
    impl Builder {
        pub fn new() -> Self {
            Self
        }
    }
}

#[flow]
async fn own_threads(ctx: Ctx, n: u32) -> loom::Result<u32> {
    let b = thread::Builder::new();
    let y = n;
    let x = thread::spawn(|| y + 1) + thread::spawn(move || y) + thread::pool::spawn(y) + Handle::current().0;
    ctx.run(ship(x)).await
}
fn main() {}
