//! Posts within a group, of their own and of appends: keys, positions, and who is woken.
//! Not the reading of inboxes.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::atomic::{AtomicU64, Ordering},
};

use loom_runtime::{
    kernel::{Digest, ExecutionId, Status, Timestamp},
    ports::{InboxId, NewItem, Posted, StoreError},
};
use sqlx::{PgConnection, Row};

use crate::{
    head::{AT_ONCE, Events, Heads},
    queue::{Answers, Kind},
    row::{AWAITED, integer},
};

/// Holds the place of what items come for early. A row that another transaction is about to make is waited for.
const AWAIT: &str = "INSERT INTO executions (id, flow, input, created_at, first_batch, first_content, status, fence, \
        base, takeovers, next, updated_at, batch, content) \
     SELECT w.id, '', z, 0, z, z, 'awaited', 0, 0, 0, 0, 0, z, z \
     FROM unnest($1::text[]) AS w (id), decode(repeat('00', 16), 'hex') AS z \
     WHERE NOT EXISTS (SELECT 1 FROM executions AS e WHERE e.id = w.id) \
     ORDER BY w.id COLLATE \"C\" ON CONFLICT (id) DO NOTHING";

/// What has to be known of inboxes, by kind of fact ([`UNREAD`] and so on): the number of whom it is about, a
/// position, a content.
const FACTS: &str = "SELECT 0, w.n, i.id, NULL::bytea \
        FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS w (execution, seen, n) \
        JOIN inbox AS i ON i.execution = w.execution AND i.id > w.seen AND NOT i.consumed \
     UNION ALL SELECT 1, w.n, i.id, i.content FROM unnest($3::bigint[], $4::bigint[], $5::bytea[]) AS w (n, execution, item_key) \
        JOIN inbox AS i ON i.execution = w.execution AND i.item_key IS NOT NULL AND sha256(i.item_key) = sha256(w.item_key) \
     UNION ALL SELECT 2, w.n, i.id, NULL FROM unnest($6::bigint[], $7::bigint[]) AS w (n, id) JOIN inbox AS i ON i.id = w.id \
     UNION ALL SELECT 3, 0, nextval('inbox_ids'), NULL FROM generate_series(1, $8)";

/// An unconsumed item, newer than what the `n`-th closing owner has seen. The first is 1.
const UNREAD: i32 = 0;
/// The item that has the key of the `n`-th one.
const USED: i32 = 1;
/// The `n`-th item is in: the acknowledgement of its post was lost.
const ARRIVED: i32 = 2;

const INSERT: &str = "INSERT INTO inbox (id, execution, at, kind, item_key, payload, content) \
     SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bytea[], $6::bytea[], $7::bytea[])";

const COUNT_EARLY: &str = "SELECT count(*) FROM executions AS e JOIN inbox AS i ON i.execution = e.key \
     WHERE e.status = 'awaited' AND e.id NOT LIKE 'loom:%' AND i.at < $1";

/// One that is created meanwhile is waited for, and keeps its items.
const PRUNE_EARLY: &str = "WITH awaited AS (\
        SELECT key FROM executions WHERE status = 'awaited' AND id NOT LIKE 'loom:%' ORDER BY id FOR NO KEY UPDATE\
     ) DELETE FROM inbox AS i USING awaited WHERE i.execution = awaited.key AND i.at < $1";

/// An item on its way.
pub(crate) struct Post {
    pub(crate) item: NewItem,
    content: Digest,
    /// The position of the last attempt, 0 when there was none: by it a lost acknowledgement is recognised.
    attempted: AtomicU64,
}

impl Post {
    pub(crate) fn new(item: NewItem) -> Self {
        let content = Digest::of_parts(&[item.kind.as_bytes(), item.payload.as_bytes()]);
        Self { item, content, attempted: AtomicU64::new(0) }
    }
}

/// Posts from outside.
#[derive(Debug)]
pub(crate) struct Incoming;

impl Kind for Incoming {
    type Question = Post;
    type Answer = Posted;

    fn rows(_: &Post) -> usize {
        1
    }

    fn subject(post: &Post) -> &ExecutionId {
        &post.item.execution
    }

    async fn apply(transaction: &mut PgConnection, posts: &[Post]) -> sqlx::Result<Answers<Posted>> {
        let items: Vec<&Post> = posts.iter().collect();
        await_early(transaction, &items).await?;
        let ids: BTreeSet<&str> = posts.iter().map(|post| post.item.execution.as_str()).collect();
        let mut heads = Heads::lock(transaction, &ids).await?;
        let mut judged = Posts::read(transaction, &mut heads, items, &[]).await?;
        let verdicts = (0..posts.len()).map(|n| judged.judge(n, &mut heads)).collect();
        heads.write(transaction, &Events::default()).await?;
        judged.write(transaction).await?;
        Ok(verdicts)
    }
}

/// Forgets the early items before an instant, or counts them; answers how many. The rows that hold the place of their
/// executions stay: whoever posts may be waiting for one.
pub(crate) async fn prune_early(
    connection: &mut PgConnection,
    before: Timestamp,
    rehearsal: bool,
) -> sqlx::Result<u64> {
    let before = before.as_micros();
    if rehearsal {
        let count: i64 = sqlx::query_scalar(COUNT_EARLY).bind(before).fetch_one(connection).await?;
        return Ok(count.unsigned_abs());
    }
    Ok(sqlx::query(PRUNE_EARLY).bind(before).execute(connection).await?.rows_affected())
}

/// Makes rows for the executions of early items that have none. Before any lock is taken.
pub(crate) async fn await_early(transaction: &mut PgConnection, posts: &[&Post]) -> sqlx::Result<()> {
    let early = posts.iter().filter(|post| post.item.early);
    let ids: BTreeSet<&str> = early.map(|post| post.item.execution.as_str()).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let ids: Vec<&str> = ids.into_iter().collect();
    sqlx::query(AWAIT).bind(ids).execute(transaction).await.map(drop)
}

/// Items to judge, and what the transaction knows of where they go: read once, then kept current.
pub(crate) struct Posts<'a> {
    posts: Vec<&'a Post>,
    /// The content of the item that has the key of the `n`-th.
    used: HashMap<usize, Digest>,
    arrived: BTreeSet<usize>,
    /// Positions that nobody else gets.
    positions: VecDeque<InboxId>,
    /// The content of what this group accepted, by execution and key.
    keys: HashMap<(&'a str, &'a str), Digest>,
    accepted: Vec<(InboxId, i64, &'a Post)>,
}

impl<'a> Posts<'a> {
    /// Reads what the items have to be judged by, and for each of `closing` what its owner has not seen; the heads
    /// of all are locked. Asks nothing when there is nothing to know.
    pub(crate) async fn read(
        transaction: &mut PgConnection,
        heads: &mut Heads,
        posts: Vec<&'a Post>,
        closing: &[(ExecutionId, InboxId)],
    ) -> sqlx::Result<Self> {
        let (mut closers, mut closing_keys, mut seen) = (Vec::new(), Vec::new(), Vec::new());
        for (id, newest) in closing {
            if let Ok(head) = heads.of(id)
                && head.inbox > *newest
            {
                closers.push(id);
                closing_keys.push(head.key);
                seen.push(integer(*newest));
            }
        }
        let (mut keyed, mut executions, mut keys) = (Vec::new(), Vec::new(), Vec::new());
        let (mut again, mut attempted, mut positions) = (Vec::new(), Vec::new(), 0);
        for (post, n) in posts.iter().zip(0_i64..) {
            let Ok(head) = heads.of_awaited(&post.item.execution) else { continue };
            positions += 1;
            if let Some(key) = &post.item.key {
                keyed.push(n);
                executions.push(head.key);
                keys.push(key.as_bytes());
            }
            let earlier = post.attempted.load(Ordering::Relaxed);
            if earlier > 0 {
                again.push(n);
                attempted.push(integer(earlier));
            }
        }
        let mut read = Self {
            posts,
            used: HashMap::new(),
            arrived: BTreeSet::new(),
            positions: VecDeque::new(),
            keys: HashMap::new(),
            accepted: Vec::new(),
        };
        if closers.is_empty() && positions == 0 {
            return Ok(read);
        }
        let facts = sqlx::query(FACTS).bind(closing_keys).bind(seen).bind(keyed).bind(executions).bind(keys);
        for fact in facts.bind(again).bind(attempted).bind(positions).fetch_all(transaction).await? {
            let n = usize::try_from(fact.try_get::<i64, _>(1)?).unwrap_or(usize::MAX);
            let id = fact.try_get::<i64, _>(2)?.unsigned_abs();
            match fact.try_get(0)? {
                UNREAD => drop(heads.of(closers[n - 1]).map(|head| head.unread.insert(id))),
                USED => {
                    let content: &[u8] = fact.try_get(3)?;
                    // One that is no digest equals none.
                    let content = content.try_into().map_or(Digest::from_bytes([0; 16]), Digest::from_bytes);
                    read.used.insert(n, content);
                }
                ARRIVED => drop(read.arrived.insert(n)),
                _ => read.positions.push_back(id),
            }
        }
        Ok(read)
    }

    /// Answers the `n`-th item, and tells its execution of it.
    pub(crate) fn judge(&mut self, n: usize, heads: &mut Heads) -> Result<Posted, StoreError> {
        let post = self.posts[n];
        let item = &post.item;
        if self.arrived.contains(&n) {
            return Ok(Posted::Accepted(post.attempted.load(Ordering::Relaxed)));
        }
        let head = if item.early { heads.of_awaited(&item.execution)? } else { heads.of(&item.execution)? };
        let status = if head.status == AWAITED { None } else { Some(head.known_status(&item.execution)?) };
        let key = item.key.as_deref().map(|key| (item.execution.as_str(), key));
        if let Some(first) = self.used.get(&n).or_else(|| key.and_then(|key| self.keys.get(&key))) {
            return Ok(Posted::Duplicate { same: *first == post.content });
        }
        if let Some(status) = status.filter(|status| status.is_terminal()) {
            return Err(StoreError::Terminal { execution: item.execution.clone(), status });
        }
        let missing = || StoreError::Unavailable("a post got no position".into());
        let position = self.positions.pop_front().ok_or_else(missing)?;
        if let Some(key) = key {
            self.keys.insert(key, post.content);
        }
        head.inbox = position;
        head.unread.insert(position);
        head.changed = true;
        // Nobody closes with an item unread that is newer than what was seen, so whatever is posted to a closed
        // execution makes it due, until somebody claims it.
        if matches!(status, Some(Status::Suspended | Status::Parked)) {
            head.due_at = Some(AT_ONCE);
        }
        post.attempted.store(position, Ordering::Relaxed);
        self.accepted.push((position, head.key, post));
        Ok(Posted::Accepted(position))
    }

    /// Writes what was accepted.
    pub(crate) async fn write(self, transaction: &mut PgConnection) -> sqlx::Result<()> {
        if self.accepted.is_empty() {
            return Ok(());
        }
        let items = || self.accepted.iter().map(|(_, _, post)| &post.item);
        sqlx::query(INSERT)
            .bind(self.accepted.iter().map(|(id, _, _)| integer(*id)).collect::<Vec<_>>())
            .bind(self.accepted.iter().map(|(_, key, _)| *key).collect::<Vec<_>>())
            .bind(items().map(|item| item.at.as_micros()).collect::<Vec<_>>())
            .bind(items().map(|item| item.kind.as_str()).collect::<Vec<_>>())
            .bind(items().map(|item| item.key.as_deref().map(str::as_bytes)).collect::<Vec<_>>())
            .bind(items().map(|item| item.payload.as_bytes()).collect::<Vec<_>>())
            .bind(self.accepted.iter().map(|(_, _, post)| post.content.bytes().to_vec()).collect::<Vec<_>>())
            .execute(transaction)
            .await
            .map(drop)
    }
}
