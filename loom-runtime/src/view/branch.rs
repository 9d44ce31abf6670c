//! Branches as programs read them.
//! Not how one is moved: [`App::promote`](crate::App::promote) does.

use kernel::{ExecutionId, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::instant;
use crate::ports::BranchRow;

/// A branch.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Branch {
    branch: String,
    #[schemars(with = "String")]
    execution: ExecutionId,
    version: u64,
    #[serde(serialize_with = "instant::exactly")]
    #[schemars(with = "String")]
    set_at: Timestamp,
    by: String,
}

impl Branch {
    /// Of its row.
    pub fn of(row: &BranchRow) -> Self {
        let (branch, execution, by) = (row.name.clone(), row.execution.clone(), row.by.clone());
        Self { branch, execution, version: row.version, set_at: row.set_at, by }
    }
}

/// Every branch.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Branches {
    /// In order of their names.
    pub branches: Vec<Branch>,
}
