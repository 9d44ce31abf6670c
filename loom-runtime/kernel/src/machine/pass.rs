//! Who wakes the flow: the pass token, and the flow's waker.
//! Not a scheduler: the machine polls, this only tells the flow's own wakes from foreign ones.

use std::{
    cell::Cell,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::Wake,
};

thread_local! {
    /// The machine whose pass (poll or delivery) runs on this thread; 0 for none.
    static CURRENT: Cell<u64> = const { Cell::new(0) };
}

/// Tells machines apart within the process. Never recorded, so it need not be reproducible.
static NEXT_TOKEN: AtomicU64 = AtomicU64::new(1);

pub(super) fn new_token() -> u64 {
    NEXT_TOKEN.fetch_add(1, Ordering::Relaxed)
}

pub(super) fn current() -> u64 {
    CURRENT.get()
}

/// A pass of one machine on this thread, until it is dropped.
pub(super) struct Pass {
    outer: u64,
}

impl Pass {
    pub(super) fn enter(token: u64) -> Self {
        Self { outer: CURRENT.replace(token) }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        CURRENT.set(self.outer);
    }
}

/// Called when something that is not recorded touches a flow, from whatever thread.
pub type Alarm = Arc<dyn Fn() + Send + Sync>;

pub(super) struct FlowWaker {
    token: u64,
    woken: AtomicBool,
    foreign: AtomicBool,
    alarm: Alarm,
}

impl FlowWaker {
    pub(super) fn new(token: u64, alarm: Alarm) -> Self {
        Self { token, woken: AtomicBool::new(false), foreign: AtomicBool::new(false), alarm }
    }

    /// Whether the flow woke itself since the last call.
    pub(super) fn take_own(&self) -> bool {
        self.woken.swap(false, Ordering::Relaxed)
    }

    pub(super) fn is_foreign(&self) -> bool {
        self.foreign.load(Ordering::Acquire)
    }

    pub(super) fn ring(&self) {
        (self.alarm)();
    }
}

impl Wake for FlowWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if current() == self.token {
            self.woken.store(true, Ordering::Relaxed);
        } else {
            self.foreign.store(true, Ordering::Release);
            self.ring();
        }
    }
}
