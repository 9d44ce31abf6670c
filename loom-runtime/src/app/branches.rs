//! Branches: names that people give to executions, and move by a recorded compare-and-set.
//! Not merges: a branch points to one execution at a time, and two logs never become one.

use kernel::ExecutionId;

use super::App;
use crate::ports::{BranchRow, SetBranch, StoreError};

/// Why a branch was not set. It still points to what it did.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BranchError {
    /// It cannot name a branch.
    #[error("{0:?} cannot name a branch: expected 1 to 200 visible characters without spaces")]
    Name(String),
    /// There is no such execution.
    #[error("there is no execution `{execution}` for branch `{branch}` to point to")]
    Unknown {
        /// The branch.
        branch: String,
        /// The execution.
        execution: ExecutionId,
    },
    /// There is no such branch to move.
    #[error("there is no branch `{branch}` to promote `{to}` on: set it first")]
    Missing {
        /// The branch.
        branch: String,
        /// What it was to point to.
        to: ExecutionId,
    },
    /// Somebody has set it before.
    #[error("branch `{branch}` points to `{found}`{}: read it, and decide anew", than(.expected.as_ref()))]
    Moved {
        /// The branch.
        branch: String,
        /// What it was expected to point to; `None` when it was to be new.
        expected: Option<ExecutionId>,
        /// What it points to.
        found: ExecutionId,
    },
    /// The store refused or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn than(expected: Option<&ExecutionId>) -> String {
    expected.map_or_else(|| ", and is not new".into(), |expected| format!(", not to `{expected}`"))
}

impl App {
    /// The branch with this name, if there is one: what it points to, since when, and by whom.
    ///
    /// # Errors
    /// The store fails.
    pub async fn branch(&self, name: &str) -> Result<Option<BranchRow>, StoreError> {
        self.engine.store.branch(name).await
    }

    /// Every branch, in byte order of the names.
    ///
    /// # Errors
    /// The store fails.
    pub async fn branches(&self) -> Result<Vec<BranchRow>, StoreError> {
        self.engine.store.branches().await
    }

    /// Names an execution: a new branch that points to it. The same again, by the same person, is no error.
    ///
    /// # Errors
    /// See [`BranchError`]: the name is taken, or there is no such execution.
    pub async fn set_branch(&self, name: &str, to: &ExecutionId, by: &str) -> Result<BranchRow, BranchError> {
        self.point(name, None, to, by).await
    }

    /// Moves a branch from the execution that it is expected to point to, to another; nothing is merged, and neither log
    /// learns of it. The row has who did it, when, and how often the branch was set. The same again, by the same person, is
    /// no error.
    ///
    /// ```no_run
    /// # async fn main_(app: loom_runtime::App) -> loom_runtime::Result<()> {
    /// let (live, winner) = ("incident-7".parse()?, "incident-7-rollback".parse()?);
    /// app.set_branch("incident-7", &live, "ann").await?;
    /// let row = app.promote("incident-7", &live, &winner, "ann").await?;
    /// assert_eq!(row.version, 2);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// See [`BranchError`]: it points elsewhere in the meantime ([`BranchError::Moved`] says where), or there is no such
    /// branch or execution.
    pub async fn promote(
        &self,
        name: &str,
        expected: &ExecutionId,
        to: &ExecutionId,
        by: &str,
    ) -> Result<BranchRow, BranchError> {
        self.point(name, Some(expected), to, by).await
    }

    async fn point(
        &self,
        name: &str,
        expected: Option<&ExecutionId>,
        to: &ExecutionId,
        by: &str,
    ) -> Result<BranchRow, BranchError> {
        let is_visible = |c: char| !c.is_whitespace() && !c.is_control();
        if name.is_empty() || name.len() > 200 || !name.chars().all(is_visible) {
            return Err(BranchError::Name(name.into()));
        }
        let (branch, at) = (name.to_owned(), self.engine.clock.now());
        let set = SetBranch {
            name: branch.clone(),
            expected: expected.cloned(),
            execution: to.clone(),
            at,
            by: by.into(),
        };
        match self.engine.store.set_branch(&set).await {
            Ok(row) => Ok(row),
            Err(StoreError::Unknown(execution)) => Err(BranchError::Unknown { branch, execution }),
            Err(StoreError::BranchMoved { found: None, .. }) => {
                Err(BranchError::Missing { branch, to: to.clone() })
            }
            Err(StoreError::BranchMoved { found: Some(found), .. }) => {
                // Whoever lost an acknowledgement asks again.
                let row = self.branch(name).await?.filter(|row| row.execution == *to && row.by == by);
                row.ok_or_else(|| BranchError::Moved { branch, expected: expected.cloned(), found })
            }
            Err(error) => Err(error.into()),
        }
    }
}
