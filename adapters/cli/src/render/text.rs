//! Text in columns: how wide it is, and what is left of it when it is too long.
//! Not the bytes: a program reads those, whole, with `--json`.

/// How many columns a payload may take in a table.
pub(crate) const PAYLOAD: usize = 60;

/// How many columns the text takes.
pub(crate) fn width(text: &str) -> usize {
    term::measure_text_width(text)
}

/// The text in at most `most` columns and on one line; `…` says that something is missing.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    let line: String = text.chars().map(|c| if c.is_control() && c != '\u{1b}' { ' ' } else { c }).collect();
    term::truncate_str(&line, most, "…").into_owned()
}

/// The text, filled up with spaces.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// The first line of a doc comment.
pub(crate) fn first_line(doc: &str) -> &str {
    doc.trim().lines().next().unwrap_or_default().trim_end()
}

/// `1 event`, `2 events`.
pub(crate) fn count(many: u64, one: &str) -> String {
    if many == 1 { format!("1 {one}") } else { format!("{many} {one}s") }
}

/// Every line moved to the right.
pub(crate) fn indent(text: &str, columns: usize) -> String {
    let space = " ".repeat(columns);
    text.lines()
        .map(|line| if line.is_empty() { "\n".to_owned() } else { format!("{space}{line}\n") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn width_is_what_the_terminal_shows() {
        assert_eq!(width("茶"), 2);
        assert_eq!(pad("茶", 4), "茶  ");
        assert_eq!(shorten("茶茶茶茶", 5), "茶茶…");
        assert_eq!(shorten("a\nb", 5), "a b");
    }
}
