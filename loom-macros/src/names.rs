//! The grammar of the names that reach a log: steps, flows, gates, parts, ids and effect classes.
//! Not identity itself: how a name becomes an id is in `body/calls.rs`.

use syn::Ident;
use syn::ext::IdentExt as _;

/// The help of the rule on names.
pub(crate) const HELP: &str =
    "a name starts with a lower-case letter and goes on with lower-case letters, digits, `_`, `.` or `-`";

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

#[cfg(test)]
mod tests {
    use super::is_valid;

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
