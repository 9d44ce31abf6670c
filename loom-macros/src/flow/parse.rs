//! The arguments of `#[flow(..)]` and the item below it, as written. Nothing is judged here but
//! the keys.

use darling::util::Flag;
use proc_macro2::TokenStream;
use syn::{LitInt, LitStr};

use crate::arguments::{self, EffectClasses, Paths};
use crate::diagnostics::Diagnostics;
use crate::item::FnItem;
use crate::keys::keys;
use crate::upcasts::Upcasts;

const KEYS: &str = "`#[flow]` takes `part`, `effects(..)`, `policies = [..]`, `schedule`, `time_zone`, `overlap`, `catch_up`, `version`, `upcast(1 => from_v1, ..)`, `name` and `crate`";

keys! {
    /// `#[flow(..)]`.
    pub(crate) struct FlowArgs {
        /// A part of flows rather than one: `part`.
        pub(crate) part: Flag,
        /// The ceiling of effect classes: `effects("http", "mail.*")`.
        pub(crate) effects: Option<EffectClasses>,
        /// The policies that it is held to: `policies = [READ_ONLY]`.
        pub(crate) policies: Option<Paths>,
        /// When it is started by itself, a cron expression: `schedule = "0 9 * * MON-FRI"`.
        pub(crate) schedule: Option<LitStr> = text,
        /// In whose local time that is read: `time_zone = "Europe/Zurich"`.
        pub(crate) time_zone: Option<LitStr> = text,
        /// What happens when a run is due while another goes on: `overlap = "queue"`.
        pub(crate) overlap: Option<LitStr> = text,
        /// What happens to instants that were missed: `catch_up = "all within 6h"`.
        pub(crate) catch_up: Option<LitStr> = text,
        /// The version of its input's shape as it is: `version = 2`.
        pub(crate) version: Option<LitInt>,
        /// What reads inputs of older versions: `upcast(1 => from_v1)`.
        pub(crate) upcast: Option<Upcasts>,
        /// The name in logs, when it is not the function's: `name = "check-out"`.
        pub(crate) name: Option<LitStr> = text,
        ..root
    }
}

/// A flow as written.
pub(crate) type Parsed = arguments::Parsed<FlowArgs, FnItem>;

/// Parses both halves.
pub(crate) fn parse(
    args: TokenStream,
    item: TokenStream,
    diagnostics: &mut Diagnostics,
) -> syn::Result<Parsed> {
    arguments::with_item(args, item, KEYS, diagnostics)
}
