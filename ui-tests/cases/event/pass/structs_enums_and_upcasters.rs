//! Any serde type, and every form of an upcaster.
#![deny(warnings, missing_docs, unused_qualifications)]
#![forbid(unsafe_code)]

use loom::DomainEvent;
use loom::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Without data.
#[event(name = "opened")]
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Opened;

/// One of several, and within a `derive` above it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[event(name = "order.changed", version = 5, upcast(
    1 => json,
    2 => old::fallible_json,
    3 => typed,
    4 => old::fallible,
))]
pub enum Changed {
    /// Of so many.
    Qty {
        /// How many.
        qty: u32,
    },
    /// Of this.
    Note(String),
}

fn json(old: Value) -> Value {
    old
}

#[derive(Serialize, Deserialize)]
struct Old {
    qty: u32,
}

fn typed(old: Old) -> Old {
    old
}

mod old {
    use super::{Changed, Old, Value};

    pub(super) fn fallible_json(old: Value) -> Result<Value, String> {
        if old.is_null() { Err("nothing".to_owned()) } else { Ok(old) }
    }

    pub(super) fn fallible(old: Old) -> Result<Changed, std::num::TryFromIntError> {
        Ok(Changed::Qty { qty: u32::from(u8::try_from(old.qty)?) })
    }
}

/// Emits them.
#[flow]
pub async fn order(ctx: Ctx) -> loom::Result<()> {
    ctx.emit(&Opened);
    ctx.emit(&Changed::Note(String::new()));
    Ok(())
}

fn main() {
    assert_eq!((Opened::NAME, Opened::VERSION), ("opened", 1));
    let old = serde_json::json!({ "qty": 3 });
    let new = (1..5).fold(old, |data, version| Changed::upcast(version, data).unwrap());
    assert!(matches!(serde_json::from_value(new), Ok(Changed::Qty { qty: 3 })));
    assert!(Changed::upcast(2, Value::Null).is_err());
    assert!(Changed::upcast(4, serde_json::json!({ "qty": 300 })).is_err());
    assert!(Changed::upcast(5, Value::Null).is_err());
}
