//! Changes to the index of gates within a group, of creations and of appends.
//! Not the reading of gates.

use std::collections::BTreeMap;

use loom_runtime::{
    kernel::Timestamp,
    ports::{GateChange, GateState},
};
use sqlx::PgConnection;

use crate::row::integer;

const OPEN: &str = "INSERT INTO gates (execution, run, opened_at, expires_at, state, frame, gate, schema) \
     SELECT w.execution, w.run, w.opened_at, w.expires_at, 'open', w.frame, w.gate, w.schema FROM unnest($1::bigint[], \
        $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[], $6::text[], $7::bytea[]) \
        AS w (execution, run, opened_at, expires_at, frame, gate, schema) \
     ON CONFLICT (execution, run, sha256(frame)) DO NOTHING";

const CLOSE: &str = "UPDATE gates AS g SET state = w.state \
     FROM unnest($1::bigint[], $2::bytea[], $3::text[]) AS w (execution, frame, state) \
     WHERE g.execution = w.execution AND g.frame = w.frame AND g.state = 'open'";

const ABANDON: &str = "UPDATE gates SET state = 'abandoned' WHERE state = 'open' AND execution = ANY($1)";

/// The changes of one creation or append.
pub(crate) struct Changes<'a> {
    pub(crate) execution: i64,
    /// That of the row once the append is applied.
    pub(crate) run: u64,
    pub(crate) at: Timestamp,
    pub(crate) changes: &'a [GateChange],
}

/// Changes of different executions, of which the order is free: three statements at most.
#[derive(Default)]
struct Round<'a> {
    opened: Vec<(&'a Changes<'a>, &'a GateChange)>,
    closed: Vec<(i64, &'a [u8], GateState)>,
    ended: Vec<i64>,
}

/// Writes them, those of each execution in order: the first of every one, then the second, and so on.
pub(crate) async fn write<'a>(
    transaction: &mut PgConnection,
    all: impl Iterator<Item = Changes<'a>>,
) -> sqlx::Result<()> {
    let all: Vec<Changes> = all.collect();
    let (mut rounds, mut turn) = (Vec::<Round>::new(), BTreeMap::<i64, usize>::new());
    for of in &all {
        for change in of.changes {
            let turn = turn.entry(of.execution).or_default();
            if rounds.len() == *turn {
                rounds.push(Round::default());
            }
            let round = &mut rounds[*turn];
            *turn += 1;
            match change {
                GateChange::Opened { .. } => round.opened.push((of, change)),
                GateChange::Closed { frame, state } => {
                    round.closed.push((of.execution, frame.as_str().as_bytes(), *state));
                }
                GateChange::AbandonAll => round.ended.push(of.execution),
            }
        }
    }
    for round in rounds {
        round.write(transaction).await?;
    }
    Ok(())
}

impl Round<'_> {
    async fn write(self, transaction: &mut PgConnection) -> sqlx::Result<()> {
        if !self.opened.is_empty() {
            let (mut executions, mut runs, mut instants) = (Vec::new(), Vec::new(), Vec::new());
            let (mut ends, mut frames, mut names, mut schemas) =
                (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            for (of, change) in &self.opened {
                let GateChange::Opened { frame, gate, schema, expires_at } = change else { continue };
                executions.push(of.execution);
                runs.push(integer(of.run));
                instants.push(of.at.as_micros());
                ends.push(expires_at.map(Timestamp::as_micros));
                frames.push(frame.as_str().as_bytes());
                names.push(gate.as_str());
                schemas.push(schema.as_bytes());
            }
            let open = sqlx::query(OPEN).bind(executions).bind(runs).bind(instants).bind(ends);
            open.bind(frames).bind(names).bind(schemas).execute(&mut *transaction).await?;
        }
        if !self.closed.is_empty() {
            sqlx::query(CLOSE)
                .bind(self.closed.iter().map(|(execution, _, _)| *execution).collect::<Vec<_>>())
                .bind(self.closed.iter().map(|(_, frame, _)| *frame).collect::<Vec<_>>())
                .bind(self.closed.iter().map(|(_, _, state)| state.name()).collect::<Vec<_>>())
                .execute(&mut *transaction)
                .await?;
        }
        if !self.ended.is_empty() {
            sqlx::query(ABANDON).bind(self.ended).execute(transaction).await?;
        }
        Ok(())
    }
}
