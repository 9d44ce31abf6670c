//! The plan: data that somebody wrote, and what of it can be said before anything runs.
//! Not its execution: that is `migrate.rs`.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What is to be done, and in which order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// For people.
    pub name: String,
    /// In any order: `after` says what comes before what.
    pub nodes: Vec<Node>,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Its name in the plan, and in the log.
    pub id: String,
    /// A registered step.
    pub step: String,
    /// The nodes that come before.
    #[serde(default)]
    pub after: Vec<String>,
    /// Do it for each of these, side by side.
    #[serde(default)]
    pub each: Vec<String>,
    /// Do it again as long as the outcome says `"more": true`.
    #[serde(default)]
    pub while_more: bool,
    /// What it takes cannot be given back: somebody is asked first.
    #[serde(default)]
    pub destructive: bool,
    /// The step's input; the text `$each` stands for what `each` is at.
    pub input: Value,
    /// What takes it back.
    #[serde(default)]
    pub undo: Option<Undo>,
}

/// A way back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Undo {
    /// A registered step.
    pub step: String,
    /// Its input, as for a node.
    pub input: Value,
}

/// The nodes in an order that keeps what `after` says, in two stages.
#[derive(Clone, Debug, PartialEq)]
pub struct Stages {
    /// What can be taken back.
    pub safe: Vec<Node>,
    /// What is destructive, and everything that comes after that.
    pub destructive: Vec<Node>,
}

impl Plan {
    /// The order.
    ///
    /// # Errors
    /// Two nodes of one name, a node that comes after one that is not there, or a circle: each by name.
    pub fn stages(&self) -> Result<Stages, String> {
        let mut names = BTreeSet::new();
        if let Some(twice) = self.nodes.iter().find(|node| !names.insert(node.id.as_str())) {
            return Err(format!("two nodes are named `{}`", twice.id));
        }
        for node in &self.nodes {
            if let Some(absent) = node.after.iter().find(|id| !names.contains(id.as_str())) {
                return Err(format!("`{}` comes after `{absent}`, which the plan does not have", node.id));
            }
        }
        let mut rest: Vec<&Node> = self.nodes.iter().collect();
        let mut stages = Stages { safe: Vec::new(), destructive: Vec::new() };
        // First everything that needs nothing destructive, then the others.
        for destructive in [false, true] {
            let placed = if destructive { &mut stages.destructive } else { &mut stages.safe };
            while let Some(next) = rest.iter().position(|node| {
                let waits = node.after.iter().any(|id| rest.iter().any(|other| other.id == *id));
                !waits && (destructive || !node.destructive)
            }) {
                placed.push(rest.remove(next).clone());
            }
        }
        match rest.first() {
            Some(stuck) => Err(format!("`{}` comes after itself, by way of others", stuck.id)),
            None => Ok(stages),
        }
    }
}

impl Node {
    /// What it is done for: itself once, when there is no `each`.
    pub fn targets(&self) -> Vec<String> {
        if self.each.is_empty() { vec!["once".into()] } else { self.each.clone() }
    }
}

/// An input for one of `each`.
pub fn input_for(input: &Value, each: &str) -> Value {
    match input {
        Value::String(text) if text == "$each" => each.into(),
        Value::Array(items) => items.iter().map(|item| input_for(item, each)).collect(),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(key, value)| (key.clone(), input_for(value, each))).collect())
        }
        other => other.clone(),
    }
}
