//! The arguments of `#[test(..)]` and the item below it, as written. Nothing is judged here but the keys.

use proc_macro2::TokenStream;
use syn::{LitInt, LitStr};

use crate::arguments;
use crate::diagnostics::Diagnostics;
use crate::item::FnItem;
use crate::keys::keys;

const KEYS: &str = "`#[test]` takes `crash`, `replay`, `faults(seed, runs)` and `crate`";

keys! {
    /// `#[test(..)]`.
    pub(crate) struct TestArgs {
        /// Where the process dies, once in each run: `crash = "every-event"`.
        pub(crate) crash: Option<LitStr> = text,
        /// Where flows are thrown away and rebuilt from their logs: `replay = "every-await"`.
        pub(crate) replay: Option<LitStr> = text,
        /// How often the test runs under random faults, from which seed on: `faults(seed = 7, runs = 100)`.
        pub(crate) faults: Option<FaultsArgs> => FaultsArgs,
        ..root
    }
}

keys! {
    /// `faults(..)`; what is not given has a default in the model.
    #[darling(from_word = || Ok(FaultsArgs::default()))]
    pub(crate) struct FaultsArgs {
        /// The seed of the first run; the next one has the next: `seed = 7`.
        pub(crate) seed: Option<LitInt>,
        /// How many runs there are: `runs = 100`.
        pub(crate) runs: Option<LitInt>,
    }
}

/// A test as written.
pub(crate) type Parsed = arguments::Parsed<TestArgs, FnItem>;

/// Parses both halves.
pub(crate) fn parse(
    args: TokenStream,
    item: TokenStream,
    diagnostics: &mut Diagnostics,
) -> syn::Result<Parsed> {
    arguments::with_item(args, item, KEYS, diagnostics)
}
