//! What the user calls like a clock, a file or a thread is none.

use loom::prelude::*;

#[derive(Clone, Copy)]
struct Instant(usize);
impl Instant {
    fn now() -> Self {
        Instant(1)
    }
}

/// Times of the user's own, each of another kind.
struct Clock<T>(T);
impl<T: From<u8>> Clock<T> {
    fn now() -> Self {
        Clock(1.into())
    }
}

trait Tells: Sized {
    fn now(&self) -> usize;
    fn spawn<F: FnOnce() -> Self>(make: F) -> Self {
        make()
    }
}
impl Tells for usize {
    fn now(&self) -> usize {
        *self
    }
}

mod clock {
    pub async fn sleep<'a>(name: &'a str) -> &'a str {
        name
    }

    pub const fn now<const N: usize>() -> usize {
        N
    }
}

struct Command<T>(T);
impl<T: Clone> Command<T> {
    fn new(value: &T) -> Self {
        Command(value.clone())
    }
}

#[derive(Default)]
struct JoinSet(usize);

mod fs {
    pub fn read(path: impl AsRef<str>) -> usize {
        path.as_ref().len()
    }

    pub fn write<T>(value: T) -> T {
        value
    }
}

mod rand {
    pub fn random() -> usize {
        4
    }
}

mod thread {
    pub const MOST: usize = 8;

    pub fn spawn(name: &str) -> &str {
        name
    }
}

mod time {
    pub async fn sleep(pause: usize) -> usize {
        pause
    }

    pub fn timeout<F: Fn() -> usize>(limit: F) -> usize {
        limit()
    }
}

fn now() -> usize {
    1
}

#[flow]
async fn checkout(ctx: Ctx, path: String) -> loom::Result<usize> {
    let _ = ctx.now();
    let read = fs::read(&path) + fs::read("orders") + fs::write::<usize>(3) + fs::write(4);
    let each: Vec<usize> = ["a"].iter().map(fs::read).collect();
    let Command(command) = Command::new(&read);
    let random = self::rand::random() + crate::rand::random();
    let named = thread::spawn(&path).len() + thread::MOST + self::thread::spawn("one").len();
    let waited = time::sleep(3).await + time::timeout(|| random);
    let Clock(told) = Clock::now();
    let started: fn() -> Clock<u64> = Clock::now;
    let spawned = usize::spawn(|| told) + Tells::spawn(|| 2_usize) + started().0 as usize;
    let clocks = clock::now::<2>() + clock::sleep("a").await.len() + Tells::now(&told) + spawned;
    Ok(command + clocks + each.len() + named + waited + now() + Instant::now().0 + JoinSet::default().0)
}

#[flow]
async fn within(ctx: Ctx) -> loom::Result<usize> {
    use self::rand::random;
    mod env {
        pub fn args() -> usize {
            2
        }
    }
    let _ = ctx.now();
    Ok(random() + env::args())
}

fn main() {}
