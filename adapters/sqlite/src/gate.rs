//! Changes to the index of gates within a group, of creations and of appends.
//! Not the reading of gates.

use loom_runtime::{
    kernel::Timestamp,
    ports::{GateChange, GateState},
};

use crate::script::{Script, integer};

/// The changes of one creation or append.
pub(crate) struct Changes<'a> {
    pub(crate) execution: i64,
    /// That of the row once the append is applied.
    pub(crate) run: u64,
    pub(crate) at: Timestamp,
    pub(crate) changes: &'a [GateChange],
}

/// Writes them in order; runs of "abandon all", which every ending brings, become one statement.
pub(crate) fn write<'a>(script: &mut Script, all: impl Iterator<Item = Changes<'a>>) {
    let mut ended: Vec<i64> = Vec::new();
    let abandon = |script: &mut Script, ended: &mut Vec<i64>| {
        if !ended.is_empty() {
            script.sql(
                "UPDATE gates SET state = 'abandoned' \
                 WHERE state = 'open' AND execution IN (SELECT value FROM json_each(?));",
            );
            script.bind(serde_json::json!(std::mem::take(ended)).to_string());
        }
    };
    for Changes { execution, run, at, changes } in all {
        for change in changes {
            match change {
                GateChange::AbandonAll => ended.push(execution),
                GateChange::Opened { frame, gate, schema, expires_at } => {
                    abandon(script, &mut ended);
                    script.sql(
                        "INSERT INTO gates (execution, run, frame, gate, schema, opened_at, expires_at, state) \
                         VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (execution, run, frame) DO NOTHING;",
                    );
                    script.bind(execution).bind(integer(run)).bind(frame.as_str());
                    script.bind(gate.as_str()).bind(schema.as_str());
                    script.bind(at.as_micros()).bind(expires_at.map(Timestamp::as_micros));
                    script.bind(GateState::Open.name());
                }
                GateChange::Closed { frame, state } => {
                    abandon(script, &mut ended);
                    script.sql(
                        "UPDATE gates SET state = ? WHERE execution = ? AND frame = ? AND state = 'open';",
                    );
                    script.bind(state.name()).bind(execution).bind(frame.as_str());
                }
            }
        }
    }
    abandon(script, &mut ended);
}
