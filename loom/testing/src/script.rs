//! What gates are answered with, and the one who answers them. Not what they ask: that is the flow's.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use loom_runtime::{AnswerError, GateAddress, Payload, ports::GateRow};

use crate::world::World;

/// Who answers, in the logs.
pub(crate) const BY: &str = "test";

type Answer = Box<dyn FnMut(&GateRow) -> Payload + Send>;

/// The answers, by the names of the gates, or by their frames.
#[derive(Default)]
pub(crate) struct Script(Mutex<BTreeMap<String, Answer>>);

impl Script {
    pub(crate) fn set(&self, gate: &str, answer: Answer) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(gate.to_owned(), answer);
    }

    fn answer_to(&self, gate: &GateRow) -> Option<Payload> {
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = [gate.frame.as_str(), &gate.gate].into_iter().find(|key| answers.contains_key(*key))?;
        answers.get_mut(key).map(|answer| answer(gate))
    }
}

impl World {
    /// Answers what the script knows, as soon as it is asked.
    pub(crate) async fn answer(&self) {
        let mut changes = self.changes();
        let mut answered = Vec::new();
        loop {
            for gate in self.client().gates(None).await.unwrap_or_default() {
                let asked = (gate.execution.clone(), gate.run, gate.frame.clone());
                if answered.contains(&asked) {
                    continue;
                }
                let Some(answer) = self.script().answer_to(&gate) else { continue };
                let address = GateAddress { execution: gate.execution, frame: gate.frame };
                match self.client().resume(&address, answer, BY).await {
                    Ok(()) | Err(AnswerError::AlreadyAnswered(_) | AnswerError::Closed { .. }) => {}
                    Err(error) => {
                        let GateAddress { execution, frame } = &address;
                        self.fail(format!(
                            "the scripted answer to gate `{execution}/{frame}` was not taken: {error}"
                        ));
                    }
                }
                answered.push(asked);
            }
            if changes.changed().await.is_err() {
                return;
            }
        }
    }
}
