//! Planted bugs, and how long it takes to find one.
//! Not the bugs: each is in the code that it spoils, behind the feature `planted-bugs`.

use std::fmt;

use loom_runtime::kernel::planted::{Bug, plant};

use crate::{Campaign, History, Plan, report, smallest};

/// A bug that was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Which.
    pub bug: Bug,
    /// The seed of the world that showed it.
    pub seed: u64,
    /// After how many executions.
    pub executions: u64,
    /// A small plan that shows it.
    pub plan: Plan,
    /// What happens in it.
    pub history: History,
}

/// Plants a bug, and lives through a campaign until it shows.
pub fn find(bug: Bug, campaign: &Campaign) -> Option<Found> {
    let tally = campaign.run(|| plant(Some(bug)), |_| {});
    let (plan, history) = tally.failed?;
    let (seed, rule) = (plan.seed, history.broken.first()?.rule);
    plant(Some(bug));
    let (plan, history) = smallest(&plan, history, rule);
    plant(None);
    Some(Found { bug, seed, executions: tally.executions, plan, history })
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bug, seed, executions, plan, history } = self;
        writeln!(f, "{bug:?}: found after {executions} executions, in the world of seed {seed}")?;
        f.write_str(&report(plan, history))
    }
}
