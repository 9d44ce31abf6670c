//! Random flows as data: what one does, how a seed makes one, and what it has to come to.
//! Not how it is run: that is [`crate::flow`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Dice;

/// How a step gives its result to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Mode {
    /// May run at any time, any number of times.
    Pure,
    /// May run again after a crash.
    Plain,
    /// Tried again when it fails; crashes count.
    Retried,
    /// At most once.
    Once,
}

/// A part of a program. Waits are in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Node {
    /// Runs a step that takes so long; its first attempts fail.
    Step {
        /// How.
        mode: Mode,
        /// How long its body takes.
        ms: u64,
        /// How many attempts fail.
        fails: u32,
    },
    /// Waits.
    Sleep {
        /// How long.
        ms: u64,
    },
    /// Asks a person.
    Gate {
        /// For how long, at most.
        within: Option<u64>,
    },
    /// Takes a message.
    Receive,
    /// Sends one.
    Tell {
        /// To whom: an execution's id.
        to: String,
    },
    /// Chooses.
    Decide,
    /// Records a fact.
    Emit,
    /// Looks at the clock, and draws.
    Read,
    /// Runs a child.
    Child {
        /// What it does.
        body: Vec<Node>,
        /// Whether it goes on when nobody waits for it.
        abandon: bool,
        /// Whether nobody waits for it but the end.
        spawn: bool,
    },
    /// Runs branches at once.
    All {
        /// Whether every branch runs to its end, whatever the others come to.
        drain: bool,
        /// How many at once.
        limit: usize,
        /// What they do.
        branches: Vec<Vec<Node>>,
    },
    /// Takes the first of several, and drops the others.
    Race {
        /// What they do.
        branches: Vec<Vec<Node>>,
    },
    /// Gives up after so long.
    Within {
        /// How long.
        ms: u64,
        /// What is given up.
        body: Vec<Node>,
    },
    /// Does it again.
    Repeat {
        /// How often.
        times: u32,
        /// What.
        body: Vec<Node>,
    },
    /// Goes on without it.
    Detach {
        /// What goes on.
        body: Vec<Node>,
    },
}

/// A flow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Program {
    /// How many runs it has: all but the last continue as new.
    pub runs: u32,
    /// Whether it tidies up when it is cancelled.
    pub heeds: bool,
    /// What each run does.
    pub body: Vec<Node>,
}

/// What a walk through nodes comes to: a value, or that it failed.
pub(crate) type Value = Result<u64, ()>;

pub(crate) fn mix(a: u64, b: u64) -> u64 {
    Dice::new(a.rotate_left(17) ^ b).any()
}

/// What a step returns, by its frame.
pub(crate) fn returned(frame: &str) -> u64 {
    // Numbers that every JSON reader keeps.
    Dice::at(7, frame).any() >> 12
}

/// What a walk comes to, whatever happens meanwhile: a function of the nodes alone. Where the outcome hangs on who is
/// first, it is left out of the value.
pub(crate) fn value(nodes: &[Node], path: &str) -> Value {
    let mut all = 1;
    for (nth, node) in nodes.iter().enumerate() {
        all = mix(all, value_of(node, &format!("{path}-{nth}"))?);
    }
    Ok(all)
}

fn value_of(node: &Node, path: &str) -> Value {
    Ok(match node {
        Node::Step { mode: Mode::Plain, fails: 1.., .. } => return Err(()),
        Node::Step { .. } => returned(path),
        Node::Child { spawn: true, .. } => 2,
        Node::Child { body, .. } => value(body, "c").map_or(3, |value| mix(0, value)),
        Node::All { drain, branches, .. } => {
            let each =
                branches.iter().enumerate().map(|(nth, branch)| value(branch, &format!("{path}-{nth}")));
            match each.collect::<Result<Vec<_>, ()>>() {
                Ok(values) => values.into_iter().fold(4, mix),
                Err(()) if *drain => 5,
                Err(()) => 6,
            }
        }
        Node::Repeat { times, body } => {
            let mut all = 7;
            for turn in 0..*times {
                all = mix(all, value(body, &format!("{path}-{turn}"))?);
            }
            all
        }
        _ => 8,
    })
}

impl Program {
    /// One that a seed makes, which may send messages to these executions.
    pub fn random(dice: &mut Dice, others: u64) -> Self {
        let runs = if dice.below(5) == 0 { 2 + dice.below(2) as u32 } else { 1 };
        let heeds = dice.below(4) == 0;
        let nodes = 2 + dice.below(if runs > 1 { 3 } else { 5 });
        let mut body: Vec<_> = (0..nodes).map(|_| node(dice, others, 2)).collect();
        // Its input holds everything that was seen before.
        body.push(Node::Step { mode: Mode::Plain, ms: 1, fails: 0 });
        Self { runs, heeds, body }
    }

    /// What it has to come to.
    pub(crate) fn value(&self) -> Value {
        (0..self.runs.max(1)).try_fold(0, |before, _| Ok(mix(before, value(&self.body, "r")?)))
    }

    /// How many nodes it has.
    pub(crate) fn size(&self) -> usize {
        size(&self.body)
    }
}

fn size(nodes: &[Node]) -> usize {
    nodes.iter().map(|node| 1 + node.bodies().into_iter().map(|body| size(body)).sum::<usize>()).sum()
}

impl Node {
    /// What is in it.
    pub(crate) fn bodies(&self) -> Vec<&Vec<Self>> {
        match self {
            Self::Child { body, .. }
            | Self::Within { body, .. }
            | Self::Repeat { body, .. }
            | Self::Detach { body } => vec![body],
            Self::All { branches, .. } | Self::Race { branches } => branches.iter().collect(),
            _ => Vec::new(),
        }
    }

    /// The same, to be changed.
    pub(crate) fn bodies_mut(&mut self) -> Vec<&mut Vec<Self>> {
        match self {
            Self::Child { body, .. }
            | Self::Within { body, .. }
            | Self::Repeat { body, .. }
            | Self::Detach { body } => vec![body],
            Self::All { branches, .. } | Self::Race { branches } => branches.iter_mut().collect(),
            _ => Vec::new(),
        }
    }
}

fn wait(dice: &mut Dice) -> u64 {
    match dice.below(6) {
        0 => 0,
        1..=3 => 1 + dice.below(120),
        4 => 100 + dice.below(1_500),
        _ => 1_000 + dice.below(4_000),
    }
}

fn step(dice: &mut Dice) -> Node {
    let ms = match dice.below(4) {
        0 => 0,
        1 | 2 => 1 + dice.below(40),
        _ => 50 + dice.below(900),
    };
    match dice.below(8) {
        0 => Node::Step { mode: Mode::Pure, ms, fails: 0 },
        1..=3 => Node::Step { mode: Mode::Plain, ms, fails: u32::from(dice.below(25) == 0) },
        4 => Node::Step { mode: Mode::Retried, ms, fails: dice.below(3) as u32 },
        _ => Node::Step { mode: Mode::Once, ms, fails: 0 },
    }
}

fn some(dice: &mut Dice, most: u64, others: u64, depth: u64) -> Vec<Node> {
    (0..=dice.below(most)).map(|_| node(dice, others, depth)).collect()
}

fn branches(dice: &mut Dice, others: u64, depth: u64) -> Vec<Vec<Node>> {
    (0..2 + dice.below(2)).map(|_| some(dice, 2, others, depth)).collect()
}

fn node(dice: &mut Dice, others: u64, depth: u64) -> Node {
    let leaf = depth == 0 || dice.below(3) != 0;
    if leaf {
        return match dice.below(20) {
            0..=8 => step(dice),
            9..=11 => Node::Sleep { ms: wait(dice) },
            12 | 13 => Node::Gate { within: (dice.below(3) == 0).then(|| wait(dice)) },
            14 | 15 => Node::Receive,
            16 => Node::Tell { to: format!("e{}", dice.below(others)) },
            17 => Node::Decide,
            18 => Node::Emit,
            _ => Node::Read,
        };
    }
    let inner = depth - 1;
    match dice.below(10) {
        0 | 1 => Node::All {
            drain: dice.below(2) == 0,
            limit: 1 + dice.below(4) as usize,
            branches: branches(dice, others, inner),
        },
        2 | 3 => Node::Race { branches: branches(dice, others, inner) },
        4 => Node::Within { ms: wait(dice), body: some(dice, 2, others, inner) },
        5 | 6 => Node::Repeat { times: 1 + dice.below(3) as u32, body: some(dice, 2, others, inner) },
        7 => Node::Detach { body: some(dice, 2, others, inner) },
        _ => {
            let (abandon, spawn) = (dice.below(4) == 0, dice.below(3) == 0);
            Node::Child { body: some(dice, 3, others, inner), abandon, spawn }
        }
    }
}
