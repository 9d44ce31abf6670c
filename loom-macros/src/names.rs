//! The grammar of the names that reach a log: steps, flows, gates, parts, ids and effect classes.
//! Not identity itself: how a name becomes an id is in `body/calls.rs`.

use syn::Ident;
use syn::ext::IdentExt as _;

/// The help of the rule on names.
pub(crate) const HELP: &str =
    "a name starts with a letter from `a` to `z` and goes on with such letters, digits, `_`, `.` or `-`";

/// Whether `name` matches `[a-z][a-z0-9_.-]*`. The separators of an id (`#`, `~`, `/`, `:`) are
/// not among them, so that no name can forge one.
pub(crate) fn is_valid(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '.' | '-'))
}

/// The name that an identifier gives when the user wrote no other: without `r#`.
pub(crate) fn of(ident: &Ident) -> String {
    ident.unraw().to_string()
}

/// The name that the identifier of a type, constant or function gives to what no log repeats:
/// `OrderTotals`, `ORDER_TOTALS` and `order_totals` are `order-totals`.
pub(crate) fn kebab(ident: &Ident) -> String {
    let text = of(ident);
    let mut name = String::new();
    let mut earlier = None::<char>;
    for c in text.chars() {
        let begins = c.is_uppercase() && earlier.is_some_and(|e| e.is_lowercase() || e.is_ascii_digit());
        if (begins || c == '_') && !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
        if c != '_' {
            name.extend(c.to_lowercase());
        }
        earlier = Some(c);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::{is_valid, kebab};

    #[test]
    fn types_constants_and_functions_give_one_name() {
        for (ident, name) in [
            ("OrderTotals", "order-totals"),
            ("ORDER_TOTALS", "order-totals"),
            ("order_totals", "order-totals"),
            ("V2Totals", "v2-totals"),
            ("r#type", "type"),
            ("_Hidden", "hidden"),
        ] {
            assert_eq!(kebab(&syn::parse_str(ident).expect("an identifier")), name);
        }
    }

    #[test]
    fn names_cannot_forge_ids() {
        for good in ["charge", "payments.write", "new-tax", "v2_pay"] {
            assert!(is_valid(good), "{good}");
        }
        for bad in ["", "Charge", "2pay", "ship#0", "a/b", "a:b", "x~2", "_x", "é"] {
            assert!(!is_valid(bad), "{bad}");
        }
    }
}
