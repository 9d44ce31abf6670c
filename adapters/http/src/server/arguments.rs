//! The arguments of a verb, from JSON; and what is said of one that the verb does not take.
//! Not what they mean, and not what they are: those are `verbs/` and `args.rs`.

use loom_runtime::{Misread, kernel::Payload, read_json};
use schemars::Schema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Code, Problem};

/// No longer value is shown.
const SHOWN: usize = 60;

/// Reads the arguments of the verb with this name and schema.
pub(super) fn read<V: DeserializeOwned>(
    verb: &str,
    args: &Value,
    schema: fn() -> Schema,
) -> Result<V, Problem> {
    V::deserialize(args).or_else(|_| {
        // Once more, as text: that has places.
        let wrong =
            |misread: Misread| Problem::new(Code::InvalidArguments, refusal(verb, args, &misread, &schema()));
        read_json(&Payload::from_value(args)).map_err(wrong)
    })
}

/// Which argument it is, what it is, and what it has to be.
fn refusal(verb: &str, args: &Value, misread: &Misread, schema: &Schema) -> String {
    let Misread { at, reason } = misread;
    let is_of_value = ["invalid ", "unknown variant"].iter().any(|opening| reason.starts_with(opening));
    let name = at.trim_end_matches(|digit: char| digit == '/' || digit.is_ascii_digit());
    let parts = (name.strip_prefix('/'), reason.split_once(", expected "), args.pointer(at));
    let (Some(name), Some((_, expected)), Some(found), true) = (parts.0, parts.1, parts.2, is_of_value)
    else {
        return format!("`{verb}` does not take this: {misread}");
    };
    let expected = if expected.starts_with("struct ") { "an object" } else { expected };
    let argument = name.split('/').next().unwrap_or_default();
    let example = schema.pointer(&format!("/properties/{argument}/examples/0"));
    let example =
        example.map(|example| format!("; an example is `{argument}` = {example}")).unwrap_or_default();
    format!(
        "argument `{}` of `{verb}` is {}: expected {expected}{example}",
        name.replace('/', "."),
        shown(found)
    )
}

/// The value, if it is short and of one piece.
fn shown(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".into(),
        Value::Array(_) => "a list".into(),
        scalar => match scalar.to_string() {
            text if text.len() <= SHOWN => text,
            text => format!("a text of {} bytes", text.len() - 2),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::args;

    fn told<V: DeserializeOwned + schemars::JsonSchema>(args: Value) -> String {
        let read = read::<V>("verb", &args, || schemars::schema_for!(V));
        read.map(drop).unwrap_err().detail
    }

    #[test]
    fn a_refusal_names_the_argument_its_value_and_an_example() {
        let example = r#"; an example is `lane` = {"at_most":2,"key":"tenant-a"}"#;
        assert_eq!(
            told::<args::Start>(json!({"flow": "f", "lane": "a"})),
            format!("argument `lane` of `verb` is \"a\": expected an object{example}")
        );
        assert_eq!(
            told::<args::Start>(json!({"flow": "f", "lane": {"key": "a", "at_most": 0}})),
            format!(
                "argument `lane.at_most` of `verb` is 0: expected a nonzero u32: a whole number from 1 to 4294967295, \
                 without a fraction or an exponent{example}"
            )
        );
        let status = told::<args::List>(json!({"status": ["running", "nope"]}));
        assert!(status.starts_with("argument `status` of `verb` is \"nope\": expected one of "), "{status}");
        assert!(status.contains("`parked`") && status.ends_with("`status` = [\"parked\"]"), "{status}");
    }

    #[test]
    fn what_is_missing_or_unknown_is_named_and_long_values_are_not_shown() {
        assert_eq!(told::<args::Start>(json!({})), "`verb` does not take this: missing field `flow`");
        let unknown = told::<args::Start>(json!({"flow": "f", "inptu": "secret"}));
        assert!(unknown.contains("unknown field `inptu`") && !unknown.contains("secret"), "{unknown}");
        let long = told::<args::Start>(json!({"flow": "f", "priority": "x".repeat(100)}));
        assert!(
            long.starts_with("argument `priority` of `verb` is a text of 100 bytes: expected i16"),
            "{long}"
        );
    }
}
