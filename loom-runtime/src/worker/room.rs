//! Room in memory for the logs of what runs here: so many bytes, however many executions are woken at once.
//! Not a count of every byte of the process: what flows and steps keep besides is theirs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// How many logs are read at once.
const READERS: usize = 16;

/// How many of what a log may take before anybody knows how long it is are in the whole room. Those that are being read
/// take half of it, and leave the other to those that run.
const STAKES: u64 = 2 * READERS as u64;

/// The room of one worker.
///
/// Nobody knows how long a log is before it is read, and one that has been read half cannot be put back. So each begins with
/// a small stake, and one at a time outgrows it. What is held is at most the whole, and one log and some pages more.
#[derive(Debug)]
pub(super) struct Room {
    all: u64,
    /// First come, first served; so is who outgrows its stake.
    readers: Arc<Semaphore>,
    outgrown: Arc<Semaphore>,
    table: Mutex<Table>,
    freed: Notify,
    ample: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Table {
    /// Bytes of logs that are being read, at least a stake each.
    read: u64,
    /// Bytes of logs of what runs.
    live: u64,
    /// How many wait for bytes.
    waiting: usize,
    /// Whether somebody has waited in vain since bytes were freed.
    given_up: bool,
}

/// What one execution has of the room, until this is dropped.
#[derive(Debug)]
pub(super) struct Share {
    room: Arc<Room>,
    bytes: u64,
    /// While its log is read.
    reading: Option<Reading>,
}

#[derive(Debug)]
struct Reading {
    _reader: OwnedSemaphorePermit,
    outgrown: Option<OwnedSemaphorePermit>,
}

/// One that waits for bytes, until this is dropped.
struct Waiting<'r> {
    room: &'r Room,
    in_vain: bool,
}

impl Table {
    fn is_short(&self) -> bool {
        self.waiting > 0 || self.given_up
    }
}

impl Room {
    /// `ample` hears of it when there is room again.
    pub(super) fn new(all: u64, ample: Arc<Notify>) -> Arc<Self> {
        Arc::new(Self {
            all,
            ample,
            readers: Arc::new(Semaphore::new(READERS)),
            outgrown: Arc::new(Semaphore::new(1)),
            table: Mutex::default(),
            freed: Notify::new(),
        })
    }

    /// Whether somebody waits for room, or has given up: then nothing more should be brought here.
    pub(super) fn is_short(&self) -> bool {
        self.table().is_short()
    }

    /// The share of an execution whose log begins here.
    pub(super) fn born(self: &Arc<Self>, bytes: u64) -> Share {
        let mut share = Share { room: self.clone(), bytes: 0, reading: None };
        share.grow(bytes);
        share
    }

    /// The share of one whose log is to be read, once there is room for it.
    pub(super) async fn share(self: &Arc<Self>) -> Share {
        let reader = permit(&self.readers).await;
        let stake = self.stake();
        self.once(|table| table.read + table.live + stake <= self.all, |table| table.read += stake).await;
        let reading = Some(Reading { _reader: reader, outgrown: None });
        Share { room: self.clone(), bytes: 0, reading }
    }

    fn stake(&self) -> u64 {
        self.all / STAKES
    }

    /// Changes the table as soon as it is fit for that.
    async fn once(&self, fit: impl Fn(&Table) -> bool, change: impl FnOnce(&mut Table)) {
        let mut waiting: Option<Waiting<'_>> = None;
        loop {
            let freed = self.freed.notified();
            {
                let mut table = self.table();
                if fit(&table) {
                    if let Some(waiting) = &mut waiting {
                        waiting.in_vain = false;
                    }
                    return change(&mut table);
                }
                if waiting.is_none() {
                    table.waiting += 1;
                }
            }
            waiting.get_or_insert_with(|| Waiting { room: self, in_vain: true });
            freed.await;
        }
    }

    /// Changes the table; who brings executions here hears of it when there is room again.
    fn ease(&self, change: impl FnOnce(&mut Table)) {
        let mut table = self.table();
        let was_short = table.is_short();
        change(&mut table);
        if was_short && !table.is_short() {
            self.ample.notify_one();
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Share {
    /// Of its log.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// So many bytes more of its log are here.
    pub(super) fn grow(&mut self, bytes: u64) {
        self.set(self.bytes + bytes);
    }

    /// It has this of its log, and no more.
    pub(super) fn set(&mut self, bytes: u64) {
        let mut table = self.room.table();
        let (of, least) = match self.reading {
            Some(_) => (&mut table.read, self.room.stake()),
            None => (&mut table.live, 0),
        };
        *of = *of - self.bytes.max(least) + bytes.max(least);
        self.bytes = bytes;
    }

    /// Waits, if it has to, until more of its log may be read.
    pub(super) async fn go_on(mut self) -> Self {
        let Some(reading) = &mut self.reading else { return self };
        if self.bytes <= self.room.stake() || reading.outgrown.is_some() {
            return self;
        }
        let outgrown = permit(&self.room.outgrown).await;
        // What the others are reading does not count: they may all be waiting for this one.
        self.room.once(|table| table.live <= self.room.all / 2, |_| ()).await;
        reading.outgrown = Some(outgrown);
        self
    }

    /// Its log has been read.
    pub(super) fn is_read(&mut self) {
        if self.reading.take().is_some() {
            let mut table = self.room.table();
            table.read -= self.bytes.max(self.room.stake());
            table.live += self.bytes;
            drop(table);
            self.room.freed.notify_waiters();
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        // One that gives up before it is read gives others room, but is due here as it was.
        let ran = self.reading.is_none();
        self.is_read();
        self.room.ease(|table| {
            table.live -= self.bytes;
            table.given_up &= !ran && table.read + table.live > 0;
        });
        self.room.freed.notify_waiters();
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.room.ease(|table| {
            table.waiting -= 1;
            table.given_up |= self.in_vain;
        });
    }
}

async fn permit(of: &Arc<Semaphore>) -> OwnedSemaphorePermit {
    // It is never closed.
    of.clone().acquire_owned().await.expect("a semaphore that stays open")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Nobody is kept from bringing executions here by one that has given up, once the room is empty.
    #[tokio::test(start_paused = true)]
    async fn an_empty_room_is_not_short() {
        let (ample, second) = (Arc::new(Notify::new()), Duration::from_secs(1));
        let room = Room::new(64, ample.clone());
        let mut large = room.share().await;
        large.grow(1_000);
        assert!(tokio::time::timeout(second, room.share()).await.is_err(), "there is no room");
        assert!(room.is_short(), "somebody has given up");
        drop(large); // its owner has lost it, and it never ran
        assert!(!room.is_short());
        assert!(tokio::time::timeout(second, ample.notified()).await.is_ok());
        drop(tokio::time::timeout(second, room.share()).await.expect("there is room"));
    }
}
