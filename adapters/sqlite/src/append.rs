//! Appends within a group: each gets its own verdict, from rows read inside the transaction.
//! Not the order between executions: there is none.

use std::collections::HashMap;

use loom_runtime::{
    kernel::{Digest, ExecutionId, Status, Timestamp},
    ports::{Append, Close, GateChange, InboxId, NewItem, Posted, StoreError},
};
use sqlx::Row;

use crate::{
    claim::AT_ONCE,
    gate,
    post::Posts,
    row,
    script::{EventRow, Script, Transaction, integer},
    writer::Asked,
};

/// What is known of each execution asked for that exists, its unconsumed inbox only where somebody closes. As
/// one JSON text: every row of an answer crosses between threads by itself, and costs more than all the rest.
const HEADS: &str = "SELECT json_group_array(json_array(e.id, e.key, e.next, e.worker IS NOT NULL, e.fence, \
     e.takeovers, e.base, hex(e.batch), hex(e.content), json(CASE WHEN w.value ->> 1 THEN \
     (SELECT json_group_array(i.id) FROM inbox AS i WHERE i.execution = e.key AND i.consumed = 0) \
     ELSE '[]' END))) \
     FROM json_each(?) AS w JOIN executions AS e ON e.id = w.value ->> 0;";

/// An item of [`HEADS`].
type HeadColumns = (String, i64, u64, u8, u64, i64, u64, Digest, Digest, Vec<InboxId>);

/// An append on its way to the writer: its content is digested, its records are shared by every attempt.
pub(crate) struct Transition {
    pub(crate) execution: ExecutionId,
    expected_next: u64,
    fence: u64,
    batch: Digest,
    content: Digest,
    dense: bool,
    events: Vec<EventRow>,
    at: Timestamp,
    progress: bool,
    gates: Vec<GateChange>,
    consumed: Vec<InboxId>,
    posts: Vec<NewItem>,
    run: Option<u64>,
    close: Option<Close>,
}

impl Transition {
    pub(crate) fn new(append: &Append) -> Self {
        debug_assert!(append.begins_own_run(), "`{}` begins a run elsewhere", append.execution);
        let events = append.records.iter().map(|record| EventRow::new(0, record));
        Self {
            execution: append.execution.clone(),
            expected_next: append.expected_next,
            fence: append.fence,
            batch: append.batch,
            content: append.content(),
            dense: append.is_dense(),
            events: events.collect(),
            at: append.at,
            progress: append.progress,
            gates: append.gates.clone(),
            consumed: append.consumed.clone(),
            posts: append.posts.clone(),
            run: append.run,
            close: append.close.clone(),
        }
    }

    /// How many events and posts it brings.
    pub(crate) fn len(&self) -> usize {
        self.events.len() + self.posts.len()
    }
}

/// What the transaction knows of an execution: read once, then kept current through the group.
struct Head {
    key: i64,
    next: u64,
    leased: bool,
    fence: u64,
    takeovers: i64,
    base: u64,
    batch: Digest,
    content: Digest,
    unconsumed: Vec<InboxId>,
    updated_at: Timestamp,
    close: Option<Close>,
    changed: bool,
}

/// An append that is applied, and the run that its execution is in afterwards.
struct Accepted<'a> {
    key: i64,
    run: u64,
    transition: &'a Transition,
}

/// Answers every append, in order.
pub(crate) async fn apply(
    transaction: &mut Transaction<'_>,
    asked: &[Asked<Transition, ()>],
) -> sqlx::Result<Vec<Result<(), StoreError>>> {
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let mut heads = heads(transaction, asked).await?;
    let items = asked.iter().flat_map(|asked| &asked.question.posts).collect();
    let mut posts = Posts::read(transaction, items).await?;
    let mut post = 0;
    let mut verdicts = Vec::with_capacity(asked.len());
    let mut accepted = Vec::with_capacity(asked.len());
    for Asked { question: transition, .. } in asked {
        let first = accepted.len();
        let verdict = match heads.get_mut(transition.execution.as_str()) {
            None => Err(StoreError::Unknown(transition.execution.clone())),
            Some(Err(corrupt)) => Err(corrupt.clone()),
            Some(Ok(head)) => head.judge(transition).inspect(|fresh| {
                if *fresh {
                    head.advance(transition);
                    accepted.push(Accepted { key: head.key, run: head.base, transition });
                }
            }),
        };
        verdicts.push(verdict.map(drop));
        for item in &transition.posts {
            if first < accepted.len() {
                deliver(&mut posts, post, item, &mut heads);
            }
            post += 1;
        }
    }
    for Accepted { key, transition, .. } in &accepted {
        for event in &transition.events {
            transaction.event(EventRow { execution: *key, ..event.clone() });
        }
    }
    let script = transaction.script();
    let changes = accepted.iter().map(|Accepted { key, run, transition }| gate::Changes {
        execution: *key,
        run: *run,
        at: transition.at,
        changes: &transition.gates,
    });
    gate::write(script, changes);
    write_consumed(script, &accepted);
    let changed: Vec<&Head> = heads.values().flatten().filter(|head| head.changed).collect();
    write_heads(script, &changed);
    write_runs(script, &accepted);
    posts.write(script);
    Ok(verdicts)
}

/// One item of an accepted append, as of now: its execution may have closed in this group, or be about to.
fn deliver(
    posts: &mut Posts<'_>,
    n: usize,
    item: &NewItem,
    heads: &mut HashMap<String, Result<Head, StoreError>>,
) {
    let target = heads.get_mut(item.execution.as_str()).and_then(|head| head.as_mut().ok());
    let since = target.as_ref().and_then(|head| head.close.as_ref()).map(|close| close.status);
    match (posts.judge(n, since), target) {
        (Ok(Posted::Accepted(id)), Some(target)) => target.unconsumed.push(id),
        (Ok(_) | Err(StoreError::Unknown(_) | StoreError::Terminal { .. }), _) => {}
        // The sender must not suffer from the damage of another.
        (Err(error), _) => tracing::error!(%error, "a post was dropped"),
    }
}

async fn heads(
    transaction: &mut Transaction<'_>,
    asked: &[Asked<Transition, ()>],
) -> sqlx::Result<HashMap<String, Result<Head, StoreError>>> {
    let mut wanted: HashMap<&str, bool> = HashMap::new();
    for Asked { question, .. } in asked {
        *wanted.entry(question.execution.as_str()).or_default() |= question.close.is_some();
    }
    let wanted: Vec<_> = wanted.into_iter().collect();
    transaction.script().sql(HEADS).bind(serde_json::json!(wanted).to_string());
    let rows = transaction.fetch().await?;
    let found: &str = rows.first().ok_or(sqlx::Error::RowNotFound)?.try_get(0)?;
    let found: Vec<serde_json::Value> =
        serde_json::from_str(found).map_err(|error| sqlx::Error::Decode(error.into()))?;
    Ok(found
        .into_iter()
        .map(|head| (head[0].as_str().unwrap_or_default().into(), Head::read(head)))
        .collect())
}

impl Head {
    fn read(head: serde_json::Value) -> Result<Self, StoreError> {
        let execution = head[0].clone();
        let (_, key, next, leased, fence, takeovers, base, batch, content, unconsumed): HeadColumns =
            serde_json::from_value(head)
                .map_err(|error| row::corrupt(execution.as_str().unwrap_or_default(), &error.to_string()))?;
        Ok(Self {
            key,
            next,
            leased: leased != 0,
            fence,
            takeovers,
            base,
            batch,
            content,
            unconsumed,
            updated_at: Timestamp::EPOCH,
            close: None,
            changed: false,
        })
    }

    /// Whether it is to be applied (true) or was before (false); the checks in the documented order.
    fn judge(&self, transition: &Transition) -> Result<bool, StoreError> {
        let execution = || transition.execution.clone();
        if self.batch == transition.batch {
            let same = self.content == transition.content;
            return if same { Ok(false) } else { Err(StoreError::BatchReused(execution())) };
        }
        if !self.leased || self.fence != transition.fence {
            let (presented, current) = (transition.fence, self.fence);
            return Err(StoreError::Fenced { execution: execution(), presented, current });
        }
        if self.next != transition.expected_next || !transition.dense {
            let (expected, found) = (transition.expected_next, self.next);
            return Err(StoreError::Conflict { execution: execution(), expected, found });
        }
        if let Some(close) = &transition.close {
            let unread = |id: &InboxId| *id > close.seen && !transition.consumed.contains(id);
            if self.unconsumed.iter().any(unread) {
                return Err(StoreError::InboxMoved(execution()));
            }
        }
        Ok(true)
    }

    /// The head after the transition.
    fn advance(&mut self, transition: &Transition) {
        self.next += transition.events.len() as u64;
        (self.batch, self.content) = (transition.batch, transition.content);
        self.updated_at = transition.at;
        self.base = transition.run.unwrap_or(self.base);
        if transition.progress {
            self.takeovers = 0;
        }
        self.unconsumed.retain(|id| !transition.consumed.contains(id));
        if let Some(close) = &transition.close {
            self.leased = false;
            self.close = Some(close.clone());
        }
        self.changed = true;
    }
}

/// The log holds the item from now on; its key stays, to be recognised.
fn write_consumed(script: &mut Script, accepted: &[Accepted]) {
    let consumed: Vec<(i64, i64)> = accepted
        .iter()
        .flat_map(|Accepted { key, transition, .. }| {
            transition.consumed.iter().map(|id| (*key, integer(*id)))
        })
        .collect();
    if !consumed.is_empty() {
        script.sql(
            "UPDATE inbox SET consumed = 1, payload = '' FROM json_each(?) AS w \
             WHERE inbox.id = w.value ->> 1 AND inbox.execution = w.value ->> 0;",
        );
        script.bind(serde_json::json!(consumed).to_string());
    }
}

/// Apart from [`write_heads`], so that the many appends that begin no run, and fit, do not pay for the few that do not.
fn write_runs(script: &mut Script, accepted: &[Accepted]) {
    for Accepted { key, run, transition } in accepted {
        if transition.run.is_some() {
            script.sql("UPDATE executions SET base = ? WHERE key = ?;").bind(integer(*run)).bind(*key);
            // Code that did not fit the earlier run may fit this one.
            script.sql("DELETE FROM unfit WHERE execution = ?;").bind(*key);
        }
        if let Some(program) = transition.close.as_ref().and_then(|close| close.unfit) {
            script.sql("INSERT OR IGNORE INTO unfit (execution, program) VALUES (?, ?);");
            script.bind(*key).bind(program.bytes().to_vec());
        }
    }
}

fn write_heads(script: &mut Script, changed: &[&Head]) {
    let (closed, open): (Vec<&Head>, Vec<&Head>) = changed.iter().partition(|head| head.close.is_some());
    if !open.is_empty() {
        script.sql("WITH v (key, next, updated_at, takeovers, batch, content) AS (VALUES ");
        script.rows(open.len(), 6).sql(
            ") UPDATE executions AS e SET next = v.next, updated_at = v.updated_at, takeovers = v.takeovers, \
             batch = v.batch, content = v.content FROM v WHERE e.key = v.key;",
        );
        open.iter().for_each(|head| bind_head(script, head));
    }
    if !closed.is_empty() {
        script.sql("WITH v (key, next, updated_at, takeovers, batch, content, status, wake_at, seen, due_at) AS (VALUES ");
        script.rows(closed.len(), 10).sql(
            ") UPDATE executions AS e SET next = v.next, updated_at = v.updated_at, takeovers = v.takeovers, \
             batch = v.batch, content = v.content, status = v.status, wake_at = v.wake_at, seen = v.seen, \
             due_at = v.due_at, worker = NULL, lease_until = NULL FROM v WHERE e.key = v.key;",
        );
        for head in closed {
            bind_head(script, head);
            let close = head.close.as_ref().expect("partitioned by it");
            let wake_at =
                close.wake_at.filter(|_| close.status == Status::Suspended).map(Timestamp::as_micros);
            let due_at = if close.status == Status::Running { Some(AT_ONCE) } else { wake_at };
            script.bind(close.status.name()).bind(wake_at).bind(integer(close.seen)).bind(due_at);
        }
    }
}

fn bind_head(script: &mut Script, head: &Head) {
    script.bind(head.key).bind(integer(head.next)).bind(head.updated_at.as_micros());
    script.bind(head.takeovers).bind(head.batch.bytes().to_vec()).bind(head.content.bytes().to_vec());
}
