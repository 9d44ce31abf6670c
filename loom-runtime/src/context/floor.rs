//! The run-time floor of effect ceilings: what no constant held, since the call is made by a name or on a copy of the
//! context that the macro did not follow, is held here.
//! Not the compile-time check of the calls that the macro sees: that is [`crate::Ceiling`].

use kernel::EffectError;

use crate::{FlowDescriptor, StepDescriptor, ceiling::allows};

type Classes = &'static [&'static str];

/// The ceilings of a flow and of the parts that lead to a call, as far as they declare one.
#[derive(Clone, Default)]
pub(super) struct Floor(Vec<Classes>);

impl Floor {
    pub(super) fn of(ceiling: Option<Classes>) -> Self {
        Self(Vec::from_iter(ceiling))
    }

    /// Within a part, which may have a ceiling of its own.
    pub(super) fn within(mut self, ceiling: Option<Classes>) -> Self {
        self.0.extend(ceiling);
        self
    }

    /// The denial, when a ceiling does not cover a class of the step.
    pub(super) fn refuse_step(&self, step: &StepDescriptor) -> Option<EffectError> {
        self.over("step", step.name, step.effects)
    }

    /// The same of a child, which answers for what it declares.
    pub(super) fn refuse_flow(&self, flow: &FlowDescriptor) -> Option<EffectError> {
        match flow.effects {
            Some(classes) => self.over("child flow", flow.name, classes),
            None if self.0.is_empty() => None,
            None => Some(EffectError::Denied {
                reason: format!(
                    "child flow `{}` declares no effect classes, and the flow that calls it has a ceiling",
                    flow.name
                ),
            }),
        }
    }

    fn over(&self, noun: &str, name: &str, classes: &[&str]) -> Option<EffectError> {
        let beyond = |class: &&&str| self.0.iter().any(|ceiling| !allows(ceiling, class));
        let class = classes.iter().find(beyond)?;
        Some(EffectError::Denied {
            reason: format!("`{class}` of {noun} `{name}` is over the flow's ceiling"),
        })
    }
}
