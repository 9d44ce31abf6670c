//! Commands to copy, quoted for a POSIX shell.
//! Not run: only printed.

use loom_runtime::ExecutionId;

use super::schema::sample;

/// A command line: the program and its verb, what it is about, and options. What begins with `-` and is no option comes
/// last, after `--`.
pub(crate) fn command(verb: &[&str], about: &[&str], options: &[&str]) -> String {
    let words = if about.iter().any(|word| word.starts_with('-')) {
        [verb, options, &["--"], about].concat()
    } else {
        [verb, about, options].concat()
    };
    words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// How to answer a gate.
pub(crate) fn answer(program: &str, address: &str, schema: &serde_json::Value) -> String {
    command(&[program, "resume"], &[address], &["--answer", &sample(schema).to_string()])
}

/// How to send a message, or an update.
pub(crate) fn tell(
    program: &str,
    verb: &str,
    execution: &str,
    topic: &str,
    schema: &serde_json::Value,
) -> String {
    command(&[program, verb], &[execution, topic, &sample(schema).to_string()], &[])
}

/// `show order-7`: where people are sent to.
pub(crate) fn show(execution: &ExecutionId) -> String {
    command(&["show"], &[execution.as_str()], &[])
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,#".contains(c);
    // A `#` begins a comment only at the beginning of a word.
    if !word.is_empty() && word.chars().all(plain) && !word.starts_with('#') {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_would_change_is_quoted() {
        assert_eq!(command(&["shop"], &["a/b#3", "it's", ""], &[]), r"shop a/b#3 'it'\''s' ''");
    }

    #[test]
    fn what_begins_with_a_dash_is_no_option() {
        let words = |about| command(&["shop", "verdict"], &[about, "charge"], &["--result", "1"]);
        assert_eq!(words("c1"), "shop verdict c1 charge --result 1");
        assert_eq!(words("-c1"), "shop verdict --result 1 -- -c1 charge");
    }
}
