//! `shards`: which database of a store has what, and the moving of it.
//! Not the moving itself: that is `adapters/shards`.

use std::collections::BTreeSet;

use loom_runtime::ports::Slot;
use serde_json::{Value, json};
use shards::{Change, MoveError};

use super::Verbs;
use crate::{
    args::{DryRun, Shards, SlotRange},
    error::CliError,
    exit::Exit,
    render::{table::Table, text::count},
};

impl Verbs<'_> {
    pub(super) async fn shards(&mut self, verb: Shards) -> Result<Exit, CliError> {
        let store = self.app.store();
        let store = (&*store as &dyn std::any::Any).downcast_ref::<shards::Shards>().ok_or_else(|| {
            CliError::refused("the store of this program is one database, so there is nothing to move")
                .help("`Shards::open` makes one store of several: the operations guide tells how")
        })?;
        match verb {
            Shards::Census => {
                let census = store.census().await?;
                let (mut table, mut databases) = (Table::new(&["DATABASE", "SLOTS"]), Vec::new());
                for of in census {
                    databases.push(json!({"name": of.name, "slots": of.slots}));
                    table.row([of.name, of.slots.to_string()]);
                }
                self.told(&json!({"databases": databases}), &table)?;
            }
            Shards::MoveSlots { slots, to, dry_run } => {
                let slots = numbered(slots);
                self.change(store, Change::MoveSlots(&slots, &to), dry_run).await?;
            }
            Shards::Spread { dry_run } => self.change(store, Change::Spread, dry_run).await?,
            Shards::Drain { database, dry_run } => {
                self.change(store, Change::Drain(&database), dry_run).await?;
            }
            Shards::Finish { dry_run } => self.change(store, Change::Finish, dry_run).await?,
        }
        Ok(Exit::Done)
    }

    async fn change(
        &mut self,
        store: &shards::Shards,
        change: Change<'_>,
        dry_run: DryRun,
    ) -> Result<(), CliError> {
        if dry_run.set {
            let (mut table, mut moves) = (Table::new(&["FROM", "TO", "SLOTS", "EXECUTIONS"]), Vec::new());
            for one in store.rehearse(change).await? {
                moves.push(
                    json!({"from": one.from, "to": one.to, "slots": one.slots, "executions": one.executions}),
                );
                table.row([one.from, one.to, one.slots.to_string(), one.executions.to_string()]);
            }
            self.told(&json!({"rehearsal": true, "moves": moves}), &table)?;
            if !self.json {
                self.console.say("a dry run: nothing was moved");
            }
            return Ok(());
        }
        let slots = store.change(change).await?;
        if self.json {
            return self.print_json(&json!({"rehearsal": false, "slots": slots}));
        }
        self.console.line(&format!("{} moved", count(slots as u64, "slot")));
        Ok(())
    }

    fn told(&mut self, json: &Value, table: &Table) -> Result<(), CliError> {
        if self.json {
            return self.print_json(json);
        }
        if table.is_empty() {
            self.console.say("nothing has to move");
        } else {
            let text = table.render(self.console.width);
            self.console.print(&text);
        }
        Ok(())
    }
}

/// Each slot once, whatever ranges it is in.
fn numbered(ranges: Vec<SlotRange>) -> Vec<Slot> {
    let numbers: BTreeSet<u16> = ranges.into_iter().flatten().collect();
    numbers.into_iter().filter_map(Slot::numbered).collect()
}

impl From<MoveError> for CliError {
    fn from(error: MoveError) -> Self {
        let message = error.to_string();
        match error {
            MoveError::Store(error) => error.into(),
            MoveError::NoSuchMember { .. } => Self::refused(message).help("`shards census` lists them"),
            MoveError::Nowhere { .. } => Self::refused(message)
                .help("see that every database runs, and that the program was given all of them"),
            _ => Self::refused(message),
        }
    }
}
