//! The keys of attributes: `keys!` makes the structs into which arguments are parsed and, of the same fields, the lists
//! that editors complete from, so that the two cannot differ. What a value means is the models' to say.

/// A key that an attribute takes.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    /// Its doc comment, one line.
    pub(crate) doc: &'static str,
    /// The keys in its own parentheses.
    pub(crate) inner: &'static [Self],
}

/// A struct of optional arguments, read by `darling`, and its `KEYS`. `= text` after a field names
/// what reads it, a function of `arguments`; `=> Inner` gives the keys in the
/// parentheses of its value; every struct at the top takes `crate = …` as well, in `root`.
macro_rules! keys {
    (
        $(#[doc = $about:literal])*
        $(#[darling($($option:tt)*)])?
        pub(crate) struct $name:ident {
            $(
                $(#[doc = $doc:literal])+
                pub(crate) $field:ident: $ty:ty $(= $read:ident)? $(=> $inner:ident)?,
            )+
            $(..$root:ident)?
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Default, darling::FromMeta)]
        #[darling(default $(, $($option)*)?)]
        pub(crate) struct $name {
            $(
                $(#[doc = $doc])+
                $(#[darling(with = $crate::arguments::$read)])?
                pub(crate) $field: $ty,
            )+
            $(
                /// The path of Loom, when it goes by another name.
                #[darling(rename = "crate")]
                pub(crate) $root: Option<syn::Path>,
            )?
        }

        impl $name {
            /// Its keys, but `crate`: that is a keyword, which editors complete by themselves.
            pub(crate) const KEYS: &'static [$crate::keys::Key] = &[
                $($crate::keys::Key {
                    name: stringify!($field),
                    doc: concat!($($doc),+),
                    inner: $crate::keys::keys!(@inner $($inner)?),
                }),+
            ];
        }
    };
    (@inner) => { &[] };
    (@inner $inner:ident) => { $inner::KEYS };
}

pub(crate) use keys;
