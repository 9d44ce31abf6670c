//! The ceiling of effect classes that a flow declares, held while the program is compiled: the macros put each
//! call of a flow with a ceiling into a constant, and going over it stops the evaluation.
//! Not the run-time floor: nothing here runs in a program.

use crate::callee::CalledStep;

/// A flow, part or agent that declares a ceiling.
#[derive(Clone, Copy, Debug)]
pub struct Ceiling {
    /// The number of the rule, for the message.
    pub code: &'static str,
    /// `flow`, `part` or `agent`.
    pub noun: &'static str,
    /// Its name.
    pub name: &'static str,
    /// The classes that it may reach: a whole class, or all that start so, `payments.*`.
    pub classes: &'static [&'static str],
}

impl Ceiling {
    /// Holds a step's classes against the ceiling. `path` is that of the function as it was written, whose name may not be
    /// the step's.
    #[track_caller]
    pub const fn holds_step(&self, path: &str, step: CalledStep) {
        let (name, called_as) = match ends_in(path.as_bytes(), step.name.as_bytes()) {
            true => (path, None),
            false => (step.name, Some(path)),
        };
        self.holds("step", name, called_as, step.effects);
    }

    /// Holds the classes of an agent's tool against the ceiling.
    #[track_caller]
    pub const fn holds_tool(&self, tool: &str, classes: &[&str]) {
        self.holds("tool", tool, None, classes);
    }

    /// Holds a part's own ceiling against this one; a part without one could reach anything.
    #[track_caller]
    pub const fn holds_part(&self, part: &str, ceiling: Option<&[&str]>) {
        match ceiling {
            Some(classes) => self.holds("part", part, None, classes),
            None => self.undeclared("part", part, "`#[flow(part, effects("),
        }
    }

    /// The same of a flow that is run as a child.
    #[track_caller]
    pub const fn holds_flow(&self, flow: &str, ceiling: Option<&[&str]>) {
        match ceiling {
            Some(classes) => self.holds("child flow", flow, None, classes),
            None => self.undeclared("child flow", flow, "`#[flow(effects("),
        }
    }

    #[track_caller]
    const fn undeclared(&self, noun: &str, callee: &str, attribute: &str) -> ! {
        self.opening()
            .and("the ")
            .and(noun)
            .and(" `")
            .and(callee)
            .and("` declares no effect classes, and the ")
            .and(self.noun)
            .and(" `")
            .and(self.name)
            .and("` has a ceiling\nhelp: say what the ")
            .and(noun)
            .and(" may reach: ")
            .and(attribute)
            .list(self.classes)
            .and("))]`")
            .stop()
    }

    #[track_caller]
    const fn holds(&self, noun: &str, callee: &str, called_as: Option<&str>, classes: &[&str]) {
        let mut i = 0;
        while i < classes.len() {
            if !allows(self.classes, classes[i]) {
                self.over(noun, callee, called_as, classes[i]);
            }
            i += 1;
        }
    }

    #[track_caller]
    const fn over(&self, noun: &str, callee: &str, called_as: Option<&str>, class: &str) -> ! {
        let text = self.opening().and("the ").and(noun).and(" `").and(callee);
        let text = match called_as {
            Some(path) => text.and("`, called as `").and(path).and("`,"),
            None => text.and("`"),
        };
        let text = text
            .and(" has the effect class `")
            .and(class)
            .and("`, which the ")
            .and(self.noun)
            .and(" `")
            .and(self.name)
            .and("` does not allow\nhelp: ");
        let text = match self.classes.len() {
            0 => text.and("it allows none: add "),
            _ => text.and("it allows ").list(self.classes).and(": add "),
        };
        let text = text.list(&[class]).and(" to its `effects(..)`, or ");
        match noun.as_bytes() {
            b"tool" => text.and("take the tool off the list").stop(),
            _ => text.and("leave this call to a flow that may").stop(),
        }
    }

    const fn opening(&self) -> Text {
        Text { bytes: [0; LONGEST], len: 0 }.and("[").and(self.code).and("] ")
    }
}

/// Whether the last segment of a path is this name.
const fn ends_in(path: &[u8], name: &[u8]) -> bool {
    if path.len() < name.len() {
        return false;
    }
    let (before, last) = path.split_at(path.len() - name.len());
    let mut i = 0;
    while i < name.len() {
        if last[i] != name[i] {
            return false;
        }
        i += 1;
    }
    matches!(before, [] | [.., b':' | b'#'])
}

/// Whether one of the allowed classes covers `class`, which may be a prefix itself.
pub(crate) const fn allows(allowed: &[&str], class: &str) -> bool {
    let mut i = 0;
    while i < allowed.len() {
        if covers(allowed[i].as_bytes(), class.as_bytes()) {
            return true;
        }
        i += 1;
    }
    false
}

/// `payments.*` covers all that starts with `payments.`; anything else covers itself.
const fn covers(allowed: &[u8], class: &[u8]) -> bool {
    let (compared, is_prefix) = match allowed {
        [start @ .., b'.', b'*'] => (start.len() + 1, true),
        _ => (allowed.len(), false),
    };
    if class.len() < compared || !is_prefix && class.len() != compared {
        return false;
    }
    let mut i = 0;
    while i < compared {
        if allowed[i] != class[i] {
            return false;
        }
        i += 1;
    }
    true
}

const LONGEST: usize = 1024;

/// Text that is put together while constants are evaluated.
struct Text {
    bytes: [u8; LONGEST],
    len: usize,
}

impl Text {
    /// What does not fit is left out.
    const fn and(mut self, more: &str) -> Self {
        let more = more.as_bytes();
        if self.len + more.len() <= LONGEST {
            let mut i = 0;
            while i < more.len() {
                self.bytes[self.len + i] = more[i];
                i += 1;
            }
            self.len += more.len();
        }
        self
    }

    /// `"http", "payments.*"`.
    const fn list(mut self, classes: &[&str]) -> Self {
        let mut i = 0;
        while i < classes.len() {
            self = self.and(if i == 0 { "\"" } else { ", \"" }).and(classes[i]).and("\"");
            i += 1;
        }
        self
    }

    #[track_caller]
    const fn stop(&self) -> ! {
        match std::str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(text) => panic!("{}", text),
            Err(_) => panic!("a call goes over the ceiling of effect classes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CEILING: Ceiling =
        Ceiling { code: "L0", noun: "flow", name: "checkout", classes: &["http", "payments.*"] };

    fn said(check: impl FnOnce() + std::panic::UnwindSafe) -> String {
        let panic = std::panic::catch_unwind(check).expect_err("it goes over");
        panic.downcast_ref::<String>().cloned().expect("a message")
    }

    #[test]
    fn classes_match_whole_or_by_prefix() {
        for (class, allowed) in [
            ("http", true),
            ("https", false),
            ("htt", false),
            ("http.get", false),
            ("payments.write", true),
            ("payments.card.read", true),
            ("payments.card.*", true),
            ("payments.*", true),
            ("payments", false),
            ("paymentsx", false),
        ] {
            assert_eq!(allows(CEILING.classes, class), allowed, "{class}");
        }
        assert!(!allows(&[], "http"));
        assert!(!allows(&["payments.card.*"], "payments.*"), "a wider prefix is not covered");
    }

    #[test]
    fn a_message_names_flow_callee_and_class() {
        assert_eq!(
            said(|| CEILING.holds_step("shop::mail", CalledStep { name: "mail", effects: &["http", "smtp"] })),
            "[L0] the step `shop::mail` has the effect class `smtp`, which the flow `checkout` does not allow\n\
             help: it allows \"http\", \"payments.*\": add \"smtp\" to its `effects(..)`, or leave this call to a \
             flow that may"
        );
        let helper =
            said(|| CEILING.holds_step("shop::send", CalledStep { name: "mail", effects: &["smtp"] }));
        assert!(
            helper.starts_with("[L0] the step `mail`, called as `shop::send`, has the effect class"),
            "{helper}"
        );
        assert_eq!(
            said(|| CEILING.holds_part("pay", None)),
            "[L0] the part `pay` declares no effect classes, and the flow `checkout` has a ceiling\n\
             help: say what the part may reach: `#[flow(part, effects(\"http\", \"payments.*\"))]`"
        );
    }

    #[test]
    fn within_the_ceiling_nothing_is_said() {
        const { CEILING.holds_step("pay", CalledStep { name: "pay", effects: &["payments.write", "http"] }) };
        const { CEILING.holds_part("pay", Some(&["payments.card.*"])) };
    }
}
