//! The numbered rules of the macros, one line each. Not where a rule is applied: `check.rs` of each
//! macro and `body/rules.rs` do that.

use std::fmt;

/// The number of a rule, as it opens an error message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code(&'static str);

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

macro_rules! codes {
    ($($name:ident = $number:literal, $rule:literal;)*) => {
        $(#[doc = $rule] pub(crate) const $name: Code = Code($number);)*

        /// Every rule, for the test that numbers are unique and ascending.
        #[cfg(test)]
        pub(crate) const ALL: &[Code] = &[$($name),*];
    };
}

// A number is never reused: users look it up, and `ui-tests` holds at least one case for each.
codes! {
    STEP_NOT_ASYNC      = "L0101", "A step is an `async fn`.";
    STEP_RESULT         = "L0102", "A step returns a `Result`.";
    STEP_GENERIC        = "L0103", "A step has no generic parameters.";
    STEP_BORROWS        = "L0104", "A step is a free function that owns its input: no references, no `self`.";
    CTX_IN_STEP         = "L0105", "`Ctx` is not available inside a step.";
    ARGUMENT            = "L0106", "An attribute takes only its own keys, each once.";
    DURATION            = "L0107", "A duration is a whole number and a unit.";
    DELIVERY            = "L0108", "One delivery mode; an in-doubt step is never retried.";
    PARAMETER_PATTERN   = "L0109", "A step's parameters are plain names, each its own.";
    ATTEMPTS            = "L0110", "A step is attempted at least once.";
    NAME                = "L0111", "A name is `[a-z][a-z0-9_.-]*`.";
    RIVALS              = "L0112", "A function is one thing: a step, a tool, a flow or an agent.";

    FLOW_NOT_ASYNC      = "L0201", "A flow is an `async fn`.";
    FLOW_CTX            = "L0202", "A flow's first parameter is `ctx: Ctx`.";
    FLOW_INPUT          = "L0203", "A flow takes at most one input, owned and plainly named.";
    FLOW_RESULT         = "L0204", "A flow returns a `Result`.";
    FLOW_GENERIC        = "L0205", "A flow has no generic parameters.";
    STEP_TWICE          = "L0206", "Two call sites of one step need different ids.";
    KEY_MISSING         = "L0207", "A call repeated by a closure or block needs a key.";
    KEY_CONSTANT        = "L0208", "A key varies with the repetition.";
    CTX_IN_MACRO        = "L0209", "`ctx` is not used inside a macro that Loom cannot read.";
    SELECT              = "L0210", "`select!` is biased.";
    CLOCK               = "L0211", "A flow asks `ctx` for the time.";
    RANDOMNESS          = "L0212", "A flow asks `ctx` for randomness.";
    SPAWNING            = "L0213", "A flow spawns nothing.";
    SLEEPING            = "L0214", "A flow sleeps through `ctx`.";
    OUTSIDE_WORLD       = "L0215", "A flow touches the outside world through steps only.";
    GATE                = "L0216", "A gate or message has a literal name and a written type; a topic has one.";
    RUN_WITHOUT_ID      = "L0217", "`ctx.run` takes a step call, or has an id.";
    STEP_AWAITED        = "L0218", "A step call is handed to `ctx.run`: not awaited, asked with `?` or dropped.";
    ID_TWICE            = "L0219", "Two durable calls need different ids.";
    ID_MISPLACED        = "L0220", "An id is given once, to a call that has one.";
    NAME_NOT_LITERAL    = "L0221", "A part, decision or change has a literal name.";
    CTX_ESCAPES         = "L0222", "`ctx` is used by its own name, and only by the flow and its parts.";
    CEILING             = "L0223", "A flow reaches no effect class above its ceiling.";
    CONTINUES           = "L0224", "A flow continues as itself.";
    NEVER_AWAITED       = "L0225", "A durable call is awaited, or kept for later.";

    FAILURE_NOT_ENUM    = "L0301", "A failure is an enum.";
    ENGINE_MISSING      = "L0302", "A failure has a variant for the engine.";
    ENGINE_TWICE        = "L0303", "A failure has one variant for the engine.";
    ENGINE_SHAPE        = "L0304", "The engine's variant holds one unnamed `EffectError`.";
    FAILURE_ARGUMENT    = "L0305", "`#[failure(..)]` takes only its own keys, each once.";

    EVENT_ITEM          = "L0401", "An event is a struct or an enum.";
    EVENT_NAME          = "L0402", "An event declares its name.";
    EVENT_GENERIC       = "L0403", "An event has no generic parameters.";
    VERSION             = "L0404", "A version is a whole number from 1.";
    UPCAST              = "L0405", "Upcasters lead from version to version, up to the one of today.";

    TOOL_DESCRIPTION    = "L0501", "A tool's doc comment tells models what it does.";
    TOOL_NAME           = "L0502", "A tool's name is one that models can call.";

    SKILL_ITEM          = "L0601", "A skill is a unit struct.";
    SKILL_DESCRIPTION   = "L0602", "A skill's doc comment says when it is of use.";
    SKILL_FILE          = "L0603", "A skill's instructions are in a file beside the source.";

    AGENT_INSTRUCTIONS  = "L0701", "An agent's doc comment holds its instructions.";
    AGENT_BODY          = "L0702", "An agent has a body, until there is a loop for those without.";
    AGENT_LIMIT         = "L0703", "A limit of an agent is a number that lets it do something.";
    LISTED_TWICE        = "L0704", "A list names each item once.";
    AGENT_MODEL         = "L0705", "A model has a name.";

    PROJECTION_ITEM     = "L0801", "A projection is a plain `impl` block of a type.";
    FOLD_ASYNC          = "L0802", "A fold is not an `async fn`.";
    FOLD_SIGNATURE      = "L0803", "A fold takes `&mut self` and one fact, and returns nothing.";
    FOLD_IMPURE         = "L0804", "A fold sees its state and the fact, and nothing else.";
    FOLD_UNMARKED       = "L0805", "Every function of a projection says, once, what it folds.";
    FOLD_TWICE          = "L0806", "A fact has one fold.";

    CRON                = "L0901", "A schedule is a cron expression of five fields that comes due.";
    TIME_ZONE           = "L0902", "A time zone is named in the IANA database.";
    SCHEDULED           = "L0903", "A schedule starts a flow, and has no input for it.";
    POLICY_ITEM         = "L0904", "A policy is a `const`, a `static` or a `fn` without parameters.";
    SCHEDULE_POLICY     = "L0905", "A schedule's policies are among those that there are.";

    TEST_ITEM           = "L1001", "A test is an `async fn` that takes its `Test`.";
    TEST_PLACE          = "L1002", "What a test is put through is among what there is.";
    TEST_FAULTS         = "L1003", "Runs under faults have a seed, and are at least one.";
}

#[cfg(test)]
mod tests {
    use super::ALL;

    #[test]
    fn numbers_are_unique_and_ascending() {
        assert!(ALL.is_sorted_by(|a, b| a.0 < b.0));
    }
}
