//! Policies: which effect classes are allowed, as named values.
//! Not their enforcement: flows and agents refer to them, and nothing is denied here.

use crate::Location;

/// Which effect classes are allowed. What is denied is denied, whatever else is allowed.
///
/// A pattern is a class, `payments.write`; all classes below one, `payments.*`; or all, `*`.
///
/// ```
/// use loom_runtime::Policy;
/// const CAREFUL: Policy = Policy::new().allow(&["http", "payments.*"]).deny(&["payments.write"]);
/// assert!(CAREFUL.permits("payments.read") && !CAREFUL.permits("payments.write"));
/// assert!(!CAREFUL.permits("email"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    allow: Option<&'static [&'static str]>,
    deny: &'static [&'static str],
}

impl Policy {
    /// Allows everything.
    pub const fn new() -> Self {
        Self { allow: None, deny: &[] }
    }

    /// Allows these classes alone.
    #[must_use]
    pub const fn allow(self, patterns: &'static [&'static str]) -> Self {
        Self { allow: Some(patterns), ..self }
    }

    /// Denies these classes.
    #[must_use]
    pub const fn deny(self, patterns: &'static [&'static str]) -> Self {
        Self { deny: patterns, ..self }
    }

    /// The patterns that are allowed; `None` for everything.
    pub const fn allowed(&self) -> Option<&'static [&'static str]> {
        self.allow
    }

    /// The patterns that are denied.
    pub const fn denied(&self) -> &'static [&'static str] {
        self.deny
    }

    /// Whether an effect of this class is allowed.
    pub fn permits(&self, class: &str) -> bool {
        let among = |patterns: &[&str]| patterns.iter().any(|pattern| covers(pattern, class));
        !among(self.deny) && self.allow.is_none_or(among)
    }
}

fn covers(pattern: &str, class: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => prefix.is_empty() || prefix.ends_with('.') && class.starts_with(prefix),
        None => pattern == class,
    }
}

/// What `#[policy]` leaves beside a value, so that `policies = [NO_PAYMENTS]` finds it by its path.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a policy",
    note = "put `#[policy]` on a `const`, a `static` or a `fn` that gives a `Policy`"
)]
pub trait NamedPolicy: 'static {
    /// What the registry knows of it.
    const DESCRIPTOR: &'static PolicyDescriptor;
}

/// A registered policy.
#[derive(Clone, Copy, Debug)]
pub struct PolicyDescriptor {
    /// Its name, unique within a program.
    pub name: &'static str,
    /// Its doc comment.
    pub doc: &'static str,
    /// Where it is written.
    pub location: Location,
    /// The value.
    pub value: fn() -> Policy,
}

#[cfg(test)]
mod tests {
    use super::Policy;

    #[test]
    fn a_denial_wins_and_a_star_ends_at_a_dot() {
        let policy = Policy::new().allow(&["a.*", "b"]).deny(&["a.b"]);
        for (class, permitted) in [("a.c", true), ("a.b", false), ("b", true), ("a", false), ("ab.c", false)]
        {
            assert_eq!(policy.permits(class), permitted, "{class}");
        }
        assert!(Policy::new().permits("anything"));
        assert!(!Policy::new().deny(&["*"]).permits("anything"));
        assert!(!Policy::new().allow(&["a*"]).permits("ab"), "a star stands for whole names");
    }
}
