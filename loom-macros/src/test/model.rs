//! What a test is, once its syntax is out of the way. The model holds faults as well: `check.rs` reports them.

use std::fmt::Display;
use std::str::FromStr;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote_spanned};
use syn::{LitInt, LitStr};

use crate::item::FnItem;

use super::parse::{FaultsArgs, Parsed, TestArgs};

/// The only place of crashes so far.
pub(crate) const CRASH: &str = "every-event";

/// The only place of replays so far.
pub(crate) const REPLAY: &str = "every-await";

/// How many runs under faults there are when nothing is said.
const RUNS: u32 = 100;

/// A test.
pub(crate) struct Test {
    pub(crate) item: FnItem,
    /// The path of Loom's tests.
    pub(crate) testing: TokenStream,
    pub(crate) crash: Option<LitStr>,
    pub(crate) replay: Option<LitStr>,
    pub(crate) faults: Option<FaultsArgs>,
}

impl Test {
    pub(crate) fn new(parsed: Parsed) -> Self {
        let Parsed { args, item } = parsed;
        let TestArgs { crash, replay, faults, root } = args.args;
        let root =
            root.map_or_else(|| quote_spanned!(Span::mixed_site()=> ::loom), |root| root.to_token_stream());
        let testing = quote_spanned!(Span::mixed_site()=> #root::testing::__v1);
        Self { item, testing, crash, replay, faults }
    }

    /// The seed of the first run under faults, and how many there are; `None` for a number that is none.
    pub(crate) fn faults(&self) -> Option<Option<(u64, u32)>> {
        let Some(FaultsArgs { seed, runs }) = &self.faults else { return Some(None) };
        let seed = number(seed.as_ref(), 0)?;
        let runs = number(runs.as_ref(), RUNS).filter(|runs| *runs > 0)?;
        Some(Some((seed, runs)))
    }
}

fn number<N: FromStr<Err: Display>>(written: Option<&LitInt>, default: N) -> Option<N> {
    match written {
        Some(number) => number.base10_parse().ok(),
        None => Some(default),
    }
}
