//! Commands to copy, quoted for a POSIX shell.
//! Not run: only printed.

use super::schema::sample;

/// The words as a command line.
pub(crate) fn command(words: &[&str]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// How to answer a gate.
pub(crate) fn answer(program: &str, address: &str, schema: &serde_json::Value) -> String {
    command(&[program, "resume", address, "--answer", &sample(schema).to_string()])
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
        assert_eq!(command(&["shop", "a/b#3", "it's", ""]), r"shop a/b#3 'it'\''s' ''");
    }
}
