//! Appends within a group: each gets its own verdict, from rows locked inside the transaction.
//! Not the writing of the rows: that is `head`'s.

use std::collections::BTreeSet;

use loom_runtime::{
    kernel::{Digest, ExecutionId},
    ports::{Append, InboxId, StoreError},
};
use sqlx::PgConnection;

use crate::{
    gate,
    head::{Events, Head, Heads},
    post::{self, Post, Posts},
    queue::{Answers, Kind},
    row::integer,
};

/// Appends.
#[derive(Debug)]
pub(crate) struct Appends;

/// An append on its way: its content is digested once.
pub(crate) struct Transition {
    append: Append,
    posts: Vec<Post>,
    content: Digest,
    dense: bool,
}

impl Transition {
    pub(crate) fn new(append: &Append) -> Self {
        debug_assert!(append.begins_own_run(), "`{}` begins a run elsewhere", append.execution);
        let (content, dense) = (append.content(), append.is_dense());
        let posts = append.posts.iter().cloned().map(Post::new).collect();
        Self { append: append.clone(), posts, content, dense }
    }
}

impl Kind for Appends {
    type Question = Transition;
    type Answer = ();

    fn rows(transition: &Transition) -> usize {
        transition.append.records.len() + transition.posts.len()
    }

    fn subject(transition: &Transition) -> &ExecutionId {
        &transition.append.execution
    }

    async fn apply(transaction: &mut PgConnection, transitions: &[Transition]) -> sqlx::Result<Answers<()>> {
        let items: Vec<&Post> = transitions.iter().flat_map(|transition| &transition.posts).collect();
        post::await_early(transaction, &items).await?;
        let mut ids: BTreeSet<&str> = items.iter().map(|post| post.item.execution.as_str()).collect();
        ids.extend(transitions.iter().map(|transition| transition.append.execution.as_str()));
        let mut heads = Heads::lock(transaction, &ids).await?;
        let closing = |of: &Transition| Some((of.append.execution.clone(), of.append.close.as_ref()?.seen));
        let closing: Vec<_> = transitions.iter().filter_map(closing).collect();
        let mut posts = Posts::read(transaction, &mut heads, items, &closing).await?;
        let mut post = 0..;
        let mut verdicts = Vec::with_capacity(transitions.len());
        let mut accepted = Vec::with_capacity(transitions.len());
        for transition in transitions {
            let verdict = heads.of(&transition.append.execution).and_then(|head| {
                let fresh = head.judge(transition)?;
                if fresh {
                    head.advance(transition);
                    accepted.push(Accepted { key: head.key, run: head.base, transition });
                }
                Ok(fresh)
            });
            for n in post.by_ref().take(transition.posts.len()) {
                if verdict == Ok(true) {
                    deliver(&mut posts, n, &mut heads);
                }
            }
            verdicts.push(verdict.map(drop));
        }
        let mut events = Events::default();
        accepted.iter().for_each(|of| events.add(of.key, &of.transition.append.records));
        heads.write(transaction, &events).await?;
        let changes = accepted.iter().map(|Accepted { key, run, transition }| gate::Changes {
            execution: *key,
            run: *run,
            at: transition.append.at,
            changes: &transition.append.gates,
        });
        gate::write(transaction, changes).await?;
        write_consumed(transaction, &accepted).await?;
        write_unfit(transaction, &accepted).await?;
        posts.write(transaction).await?;
        Ok(verdicts)
    }
}

/// An append that is applied, and the run that its execution is in afterwards.
struct Accepted<'a> {
    key: i64,
    run: u64,
    transition: &'a Transition,
}

/// One item of an accepted append, as of now: its execution may have closed in this group, or be about to.
fn deliver(posts: &mut Posts<'_>, n: usize, heads: &mut Heads) {
    match posts.judge(n, heads) {
        Ok(_) | Err(StoreError::Unknown(_) | StoreError::Terminal { .. }) => {}
        // The sender must not suffer from the damage of another.
        Err(error) => tracing::error!(%error, "a post was dropped"),
    }
}

impl Head {
    /// Whether it is to be applied (true) or was before (false); the checks in the documented order.
    fn judge(&self, Transition { append, content, dense, .. }: &Transition) -> Result<bool, StoreError> {
        let execution = || append.execution.clone();
        if self.batch == append.batch {
            let same = self.content == *content;
            return if same { Ok(false) } else { Err(StoreError::BatchReused(execution())) };
        }
        if !self.leased || self.fence != append.fence {
            let (presented, current) = (append.fence, self.fence);
            return Err(StoreError::Fenced { execution: execution(), presented, current });
        }
        if self.next != append.expected_next || !dense {
            let (expected, found) = (append.expected_next, self.next);
            return Err(StoreError::Conflict { execution: execution(), expected, found });
        }
        if let Some(close) = &append.close {
            let unread = |id: &InboxId| *id > close.seen && !append.consumed.contains(id);
            if self.unread.iter().any(unread) {
                return Err(StoreError::InboxMoved(execution()));
            }
        }
        Ok(true)
    }

    /// The head after the transition.
    fn advance(&mut self, Transition { append, content, .. }: &Transition) {
        self.next += append.records.len() as u64;
        (self.batch, self.content) = (append.batch, *content);
        self.updated_at = append.at.as_micros();
        self.base = append.run.unwrap_or(self.base);
        if append.progress {
            self.takeovers = 0;
        }
        self.unread.retain(|id| !append.consumed.contains(id));
        self.changed = true;
        if let Some(close) = &append.close {
            self.close(close);
        }
    }
}

/// The log holds the item from now on; its key stays, to be recognised.
async fn write_consumed(transaction: &mut PgConnection, accepted: &[Accepted<'_>]) -> sqlx::Result<()> {
    let (mut executions, mut ids) = (Vec::new(), Vec::new());
    for Accepted { key, transition, .. } in accepted {
        executions.extend(transition.append.consumed.iter().map(|_| *key));
        ids.extend(transition.append.consumed.iter().map(|id| integer(*id)));
    }
    if ids.is_empty() {
        return Ok(());
    }
    let consume = "UPDATE inbox AS i SET consumed = true, payload = '' \
         FROM unnest($1::bigint[], $2::bigint[]) AS w (id, execution) \
         WHERE i.id = w.id AND i.execution = w.execution";
    sqlx::query(consume).bind(ids).bind(executions).execute(transaction).await.map(drop)
}

/// Programs whose code does not fit. One that did not fit the earlier run may fit the new one.
async fn write_unfit(transaction: &mut PgConnection, accepted: &[Accepted<'_>]) -> sqlx::Result<()> {
    let begun = accepted.iter().filter(|of| of.transition.append.run.is_some());
    let begun: Vec<i64> = begun.map(|of| of.key).collect();
    if !begun.is_empty() {
        let forget = "DELETE FROM unfit WHERE execution = ANY($1)";
        sqlx::query(forget).bind(begun).execute(&mut *transaction).await?;
    }
    for Accepted { key, transition, .. } in accepted {
        if let Some(program) = transition.append.close.as_ref().and_then(|close| close.unfit) {
            let note = "INSERT INTO unfit (execution, program) VALUES ($1, $2) ON CONFLICT DO NOTHING";
            sqlx::query(note).bind(*key).bind(program.bytes().to_vec()).execute(&mut *transaction).await?;
        }
    }
    Ok(())
}
