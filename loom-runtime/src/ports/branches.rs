//! The port to branches: names that people give to executions, and move from one to another.
//! Not a part of any log: an execution does not know which branches point to it.

use async_trait::async_trait;
use kernel::{ExecutionId, Timestamp};
use serde::{Deserialize, Serialize};

use super::StoreError;

/// Names that point to executions.
#[async_trait]
pub trait BranchRegistry: Send + Sync {
    /// The branch with exactly this name.
    async fn branch(&self, name: &str) -> Result<Option<BranchRow>, StoreError>;

    /// Every branch, in byte order of the names.
    async fn branches(&self) -> Result<Vec<BranchRow>, StoreError>;

    /// Creates a branch, or moves it, if it points to what `set` expects, and answers its new row. Durable
    /// when it returns.
    ///
    /// Checked in this order: the execution exists ([`StoreError::Unknown`]); the branch was set to it `by` the
    /// same `at` the same instant (then this is the retry of a lost acknowledgement: a success without effect
    /// that answers the row, whatever was expected); the branch points to `expected`
    /// ([`StoreError::BranchMoved`]).
    async fn set_branch(&self, set: &SetBranch) -> Result<BranchRow, StoreError>;
}

/// One branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchRow {
    /// Its name.
    pub name: String,
    /// What it points to.
    pub execution: ExecutionId,
    /// How often it was set: 1, 2, …
    pub version: u64,
    /// When it was set last.
    pub set_at: Timestamp,
    /// By whom.
    pub by: String,
}

/// A change of one branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetBranch {
    /// Its name.
    pub name: String,
    /// What it has to point to before; `None` when there must be no such branch yet.
    pub expected: Option<ExecutionId>,
    /// What it is to point to.
    pub execution: ExecutionId,
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub by: String,
}

impl SetBranch {
    /// The rule of [`BranchRegistry::set_branch`] for an execution that exists: whether the row that comes back
    /// is to be written (true), or is there already (false).
    ///
    /// # Errors
    /// [`StoreError::BranchMoved`] when `current` is not what was expected.
    pub fn on(&self, current: Option<&BranchRow>) -> Result<(BranchRow, bool), StoreError> {
        if let Some(row) = current
            && (&row.execution, &row.by, row.set_at) == (&self.execution, &self.by, self.at)
        {
            return Ok((row.clone(), false));
        }
        let found = current.map(|row| &row.execution);
        if found != self.expected.as_ref() {
            return Err(StoreError::BranchMoved { name: self.name.clone(), found: found.cloned() });
        }
        let row = BranchRow {
            name: self.name.clone(),
            execution: self.execution.clone(),
            version: current.map_or(0, |row| row.version) + 1,
            set_at: self.at,
            by: self.by.clone(),
        };
        Ok((row, true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_where_the_branch_is() {
        let moved = |found| StoreError::BranchMoved { name: "main".into(), found }.to_string();
        let found = "b".parse().expect("a valid id");
        let rest = "the change expected otherwise: read it, then decide anew";
        assert_eq!(moved(Some(found)), format!("branch `main` points to `b`, {rest}"));
        assert_eq!(moved(None), format!("branch `main` does not exist, {rest}"));
    }
}
