//! What happens in a world: which executions, which faults, which disasters, and when. Data, so that it can be made
//! smaller and printed.
//! Not its doing: that is [`crate::world`].

use serde::{Deserialize, Serialize};

use crate::{Dice, Faults, Program, Rates, Strike};

/// One world. Instants are milliseconds after its beginning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// What decides whatever is not said here.
    pub seed: u64,
    /// How many processes work.
    pub processes: usize,
    /// Whether calls to the store take time.
    pub delays: bool,
    /// What is started.
    pub executions: Vec<Planned>,
    /// What goes wrong with calls to the store.
    pub faults: Faults,
    /// What happens to processes besides.
    pub disasters: Vec<Disaster>,
}

/// An execution, and what clients do with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// Its number: it is `e7`.
    pub number: u64,
    /// When it is started.
    pub at: u64,
    /// What it does.
    pub program: Program,
    /// What clients do.
    pub acts: Vec<Act>,
}

/// What a client does with an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Act {
    /// Sends it a message, maybe before it is started.
    Message {
        /// When.
        at: u64,
    },
    /// Cancels it.
    Cancel {
        /// When.
        at: u64,
        /// Whether by force.
        force: bool,
    },
    /// Forks it.
    Fork {
        /// When.
        at: u64,
        /// After how much of its log, in a thousandth.
        cut: u64,
    },
}

/// What happens to a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disaster {
    /// When.
    pub at: u64,
    /// To which process.
    pub process: usize,
    /// What.
    pub what: What,
}

/// What happens to a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// It dies.
    Crash,
    /// It stands still for so long.
    Pause(u64),
    /// It does not reach the store for so long.
    Cut(u64),
    /// It is shut down, with so much grace, and another one takes its place.
    Deploy(u64),
}

/// How long clients and disasters go on.
pub(crate) const SPAN: u64 = 12_000;

impl Plan {
    /// The world of a seed.
    pub fn random(seed: u64, executions: u64) -> Self {
        let mut dice = Dice::at(seed, "plan");
        let processes = 1 + dice.below(4) as usize;
        let planned = (0..executions).map(|number| planned(&mut dice, number, executions)).collect();
        let faults = Faults::Drawn(match dice.below(4) {
            // Some worlds have one kind of trouble, so that the others do not hide it.
            0 => Rates { reject: 0, lost: 150, twice: 150, slow: 0, dies: 0 },
            1 => Rates { reject: 50, lost: 50, twice: 50, slow: 60, dies: 4 },
            2 => Rates { reject: 20, lost: 30, twice: 30, slow: 10, dies: 30 },
            _ => Rates { reject: 0, lost: 0, twice: 0, slow: 0, dies: 0 },
        });
        let disasters = match dice.below(4) {
            0 => Vec::new(),
            // Processes that stand still for longer than their leases hold, again and again.
            1 => (0..6 + dice.below(8)).map(|_| pause(&mut dice, processes)).collect(),
            _ => (0..dice.below(6)).map(|_| disaster(&mut dice, processes)).collect(),
        };
        Self { seed, processes, delays: true, executions: planned, faults, disasters }
    }

    /// The same, with these faults and no others.
    #[must_use]
    pub fn with(&self, strikes: Vec<Strike>) -> Self {
        Self { faults: Faults::Listed(strikes), ..self.clone() }
    }

    /// How large it is: what is made smaller.
    pub fn size(&self) -> usize {
        let executions: usize = self.executions.iter().map(|e| 1 + e.program.size() + e.acts.len()).sum();
        let faults = match &self.faults {
            Faults::Drawn(_) => 0,
            Faults::Listed(strikes) => strikes.len(),
        };
        executions + faults + self.disasters.len() + usize::from(self.delays) + self.processes
    }
}

fn planned(dice: &mut Dice, number: u64, executions: u64) -> Planned {
    let at = dice.below(SPAN / 2);
    let program = Program::random(dice, executions);
    let mut acts: Vec<_> = (0..dice.below(4)).map(|_| Act::Message { at: dice.below(SPAN) }).collect();
    if dice.below(8) == 0 {
        acts.push(Act::Cancel { at: at + dice.below(SPAN / 2), force: dice.below(5) == 0 });
    }
    if dice.below(12) == 0 {
        acts.push(Act::Fork { at: at + dice.below(SPAN / 2), cut: dice.below(1_001) });
    }
    Planned { number, at, program, acts }
}

fn pause(dice: &mut Dice, processes: usize) -> Disaster {
    let (at, process) = (dice.below(SPAN), dice.below(processes as u64) as usize);
    Disaster { at, process, what: What::Pause(2_200 + dice.below(3_000)) }
}

fn disaster(dice: &mut Dice, processes: usize) -> Disaster {
    let (at, process) = (dice.below(SPAN), dice.below(processes as u64) as usize);
    let what = match dice.below(6) {
        0 | 1 => What::Crash,
        2 | 3 => What::Pause(200 + dice.below(6_000)),
        4 => What::Cut(200 + dice.below(6_000)),
        _ => What::Deploy(dice.below(2_000)),
    };
    Disaster { at, process, what }
}
