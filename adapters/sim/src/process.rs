//! A process of the world: it can die, stand still, and lose its way to the store.
//! Not the program in it, nor what its calls come to: those are [`crate::world`] and [`crate::store`].

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

/// One boot of a process. A dead one is never heard of again: what it asks of the world is never answered, and so
/// everything in it comes to stand still, as if it had been killed there.
#[derive(Clone, Debug)]
pub struct Process(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Which of the world's processes, and its how-manieth boot: `1.0`.
    name: String,
    state: Mutex<State>,
    died: Notify,
}

#[derive(Debug, Default)]
struct State {
    dead: bool,
    stands_still: Option<Instant>,
    cut_off: Option<Instant>,
    /// How often each kind of call was made, for each execution.
    calls: BTreeMap<(&'static str, String), u32>,
}

impl Process {
    /// The nth boot of a process.
    pub fn new(process: usize, boot: u32) -> Self {
        Self::named(&format!("{process}.{boot}"))
    }

    pub(crate) fn named(name: &str) -> Self {
        let name = name.to_owned();
        Self(Arc::new(Inner { name, state: Mutex::default(), died: Notify::new() }))
    }

    /// `1.0`: process 1, its first boot.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Ends it where it stands: nothing is finished, nothing is handed back.
    pub fn kill(&self) {
        self.state().dead = true;
        self.0.died.notify_one();
    }

    /// Whether it was killed.
    pub fn is_dead(&self) -> bool {
        self.state().dead
    }

    /// Waits until it is. For one who waits.
    pub async fn died(&self) {
        while !self.is_dead() {
            self.0.died.notified().await;
        }
    }

    /// Lets it stand still for so long, as if somebody had stopped it.
    pub fn stop(&self, span: Duration) {
        self.state().stands_still = Some(Instant::now() + span);
    }

    /// Cuts it off from the store for so long.
    pub fn cut(&self, span: Duration) {
        self.state().cut_off = Some(Instant::now() + span);
    }

    /// Nothing hinders it any more.
    pub fn ease(&self) {
        let mut state = self.state();
        (state.stands_still, state.cut_off) = (None, None);
    }

    /// Whether it is cut off.
    pub fn is_cut(&self) -> bool {
        self.state().cut_off.is_some_and(|until| Instant::now() < until)
    }

    /// Goes on once it may: what passes here is still alive, and does not stand still.
    pub async fn goes_on(&self) {
        loop {
            let (dead, stands_still) = {
                let state = self.state();
                (state.dead, state.stands_still)
            };
            if dead {
                return std::future::pending().await;
            }
            match stands_still.filter(|until| Instant::now() < *until) {
                // Looked at again and again, since it may be eased.
                Some(until) => tokio::time::sleep_until(until.min(Instant::now() + STEP)).await,
                None => return,
            }
        }
    }

    /// Which call of this kind for this execution it is, from 0.
    pub(crate) fn nth(&self, kind: &'static str, execution: &str) -> u32 {
        let mut state = self.state();
        let count = state.calls.entry((kind, execution.to_owned())).or_default();
        *count += 1;
        *count - 1
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const STEP: Duration = Duration::from_millis(250);
