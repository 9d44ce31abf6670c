//! What a failure is: its variants, and what each means to the engine. The model holds faults as
//! well: `check.rs` reports them.

use darling::util::Flag;
use proc_macro2::Span;
use syn::{Fields, Generics, Ident};

use crate::arguments::DurationText;
use crate::runtime_path::RuntimePath;

use super::parse::{Parsed, ParsedVariant};

/// A failure.
pub(crate) struct Failure {
    pub(crate) ident: Ident,
    pub(crate) generics: Generics,
    pub(crate) runtime: RuntimePath,
    pub(crate) variants: Vec<Variant>,
    /// The keyword of an item that is no enum.
    pub(crate) not_an_enum: Option<Span>,
    /// Whether all attributes of its variants could be read.
    pub(crate) understood: bool,
}

/// A variant of a failure.
pub(crate) struct Variant {
    pub(crate) ident: Ident,
    /// The first line of its doc, else its name.
    pub(crate) message: String,
    pub(crate) fields: Fields,
    pub(crate) engine: Flag,
    pub(crate) permanent: Flag,
    pub(crate) retry_after: Option<DurationText>,
}

impl Failure {
    pub(crate) fn new(parsed: Parsed) -> Self {
        let Parsed { ident, generics, root, variants, understood } = parsed;
        let (variants, not_an_enum) = match variants {
            Ok(variants) => (variants.into_iter().map(Variant::new).collect(), None),
            Err(keyword) => (Vec::new(), Some(keyword)),
        };
        Self { ident, generics, runtime: RuntimePath::new(root.as_ref()), variants, not_an_enum, understood }
    }

    /// The variants that are marked for the engine: one, if all is well.
    pub(crate) fn engines(&self) -> impl Iterator<Item = &Variant> {
        self.variants.iter().filter(|variant| variant.engine.is_present())
    }
}

impl Variant {
    fn new(parsed: ParsedVariant) -> Self {
        let ParsedVariant { ident, doc, fields, args } = parsed;
        let message = match doc.lines().next() {
            Some(line) if !line.trim().is_empty() => line.trim().to_owned(),
            _ => ident.to_string(),
        };
        Self {
            ident,
            message,
            fields,
            engine: args.engine,
            permanent: args.permanent,
            retry_after: args.retry_after,
        }
    }
}
