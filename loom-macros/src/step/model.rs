//! What a step is, once its syntax is out of the way. The model holds faults as well: `check.rs`
//! reports them.

use proc_macro2::Span;
use syn::{FnArg, LitStr, Type};

use crate::arguments::{DurationText, EffectClasses, Read};
use crate::item::{self, FnItem, Param};
use crate::names;
use crate::runtime_path::RuntimePath;

use super::parse::{Parsed, RetryArgs, StepArgs};

/// A step.
pub(crate) struct Step {
    /// The attribute that made it: `step` or `tool`.
    pub(crate) attribute: &'static str,
    pub(crate) item: FnItem,
    pub(crate) runtime: RuntimePath,
    /// The name in logs.
    pub(crate) name: String,
    pub(crate) written_name: Option<LitStr>,
    /// Every flag of the delivery that was written, with its key.
    pub(crate) deliveries: Vec<(Delivery, Span)>,
    /// Whether it reads the world outside.
    pub(crate) reads: bool,
    pub(crate) retry: Option<RetryArgs>,
    pub(crate) timeout: Option<DurationText>,
    pub(crate) heartbeat: Option<DurationText>,
    pub(crate) effects: EffectClasses,
    pub(crate) params: Vec<StepParam>,
}

/// How often a step's body may start.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    Pure,
    AtLeastOnce,
    AtMostOnce,
}

/// A parameter and who fills it.
pub(crate) enum StepParam {
    /// A resource of this type, injected.
    Resource(Param, Box<Type>),
    /// The step's own context.
    Context(Param),
    /// A field of the input.
    Input(Param),
    /// Something that cannot be a parameter of a step.
    Unusable(FnArg),
}

impl Step {
    pub(crate) fn new(parsed: Parsed, attribute: &'static str) -> Self {
        let Parsed { args: Read { args, .. }, item } = parsed;
        let StepArgs {
            pure,
            reads,
            at_most_once,
            retry,
            timeout,
            heartbeat,
            effects,
            name: written_name,
            root,
        } = args;
        let flags = [(Delivery::Pure, pure), (Delivery::Pure, reads), (Delivery::AtMostOnce, at_most_once)];
        Self {
            attribute,
            runtime: RuntimePath::new(root.as_ref()),
            name: written_name.as_ref().map_or_else(|| names::of(&item.sig.ident), LitStr::value),
            written_name,
            deliveries: flags
                .into_iter()
                .filter(|(_, flag)| flag.is_present())
                .map(|(delivery, flag)| (delivery, flag.span()))
                .collect(),
            reads: reads.is_present(),
            retry,
            timeout,
            heartbeat,
            effects: effects.unwrap_or_default(),
            params: item.sig.inputs.iter().map(StepParam::new).collect(),
            item,
        }
    }

    /// The delivery mode: the one that was written, else at least once.
    pub(crate) fn delivery(&self) -> Delivery {
        self.deliveries.first().map_or(Delivery::AtLeastOnce, |(delivery, _)| *delivery)
    }

    /// Every parameter that has a name.
    pub(crate) fn named(&self) -> impl Iterator<Item = &Param> {
        self.params.iter().filter_map(|param| match param {
            StepParam::Resource(param, _) | StepParam::Context(param) | StepParam::Input(param) => {
                Some(param)
            }
            StepParam::Unusable(_) => None,
        })
    }

    /// The parameters that make up the input.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &Param> {
        self.params.iter().filter_map(|param| match param {
            StepParam::Input(param) => Some(param),
            _ => None,
        })
    }
}

impl StepParam {
    fn new(arg: &FnArg) -> Self {
        let FnArg::Typed(typed) = arg else { return Self::Unusable(arg.clone()) };
        match Param::new(typed) {
            None => Self::Unusable(arg.clone()),
            Some(param) => match item::only_argument(&param.ty, "Res").cloned() {
                Some(resource) => Self::Resource(param, Box::new(resource)),
                None if item::type_is(&param.ty, "StepCx") => Self::Context(param),
                None => Self::Input(param),
            },
        }
    }
}
