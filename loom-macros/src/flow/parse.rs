//! The arguments of `#[flow(..)]` and the item below it, as written. Nothing is judged here but
//! the keys.

use darling::FromMeta;
use darling::util::Flag;
use proc_macro2::TokenStream;
use syn::{LitStr, Path};

use crate::arguments::{self, EffectClasses, Paths};
use crate::diagnostics::Diagnostics;
use crate::item::FnItem;

const KEYS: &str = "`#[flow]` takes `part`, `effects(..)`, `policies = [..]`, `schedule`, `time_zone`, `overlap`, `catch_up`, `name` and \
     `crate`";

/// `#[flow(..)]`.
#[derive(Default, FromMeta)]
#[darling(default)]
pub(crate) struct FlowArgs {
    /// A part of a flow rather than one.
    pub(crate) part: Flag,
    /// The ceiling of effect classes.
    pub(crate) effects: Option<EffectClasses>,
    /// The policies that it is held to.
    pub(crate) policies: Option<Paths>,
    /// When it is started by itself: a cron expression.
    pub(crate) schedule: Option<LitStr>,
    /// In whose local time that is read.
    pub(crate) time_zone: Option<LitStr>,
    /// What happens when a run is due while another goes on.
    pub(crate) overlap: Option<LitStr>,
    /// What happens to instants that were missed.
    pub(crate) catch_up: Option<LitStr>,
    /// The name in logs, when it is not the function's.
    pub(crate) name: Option<LitStr>,
    #[darling(rename = "crate")]
    pub(crate) root: Option<Path>,
}

/// A flow as written.
pub(crate) struct Parsed {
    pub(crate) args: FlowArgs,
    pub(crate) item: FnItem,
}

/// Parses both halves. Bad arguments are reported and replaced by the defaults; an item that is
/// not a function is an error.
pub(crate) fn parse(
    args: TokenStream,
    item: TokenStream,
    diagnostics: &mut Diagnostics,
) -> syn::Result<Parsed> {
    let item = syn::parse2(item)?;
    let args = arguments::parse(args, KEYS, diagnostics).unwrap_or_default();
    Ok(Parsed { args, item })
}
