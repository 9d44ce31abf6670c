//! "Did you mean": the nearest of the names that there are.
//! Not a search: a handful of names, compared one by one.

/// At most three of `known` that look like `wanted`, the nearest first.
pub(crate) fn similar<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut near: Vec<_> = known
        .into_iter()
        .map(|name| (likeness(wanted, name), name))
        .filter(|(likeness, _)| *likeness > 0.75)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    near.into_iter().take(3).map(|(_, name)| name).collect()
}

/// "did you mean `a`, `b` or `c`?"; `None` when nothing is near.
pub(crate) fn did_you_mean<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let near: Vec<_> = similar(wanted, known).into_iter().map(|name| format!("`{name}`")).collect();
    let (last, first) = near.split_last()?;
    Some(match first {
        [] => format!("did you mean {last}?"),
        first => format!("did you mean {} or {last}?", first.join(", ")),
    })
}

fn likeness(wanted: &str, name: &str) -> f64 {
    let (wanted, name) = (wanted.to_lowercase(), name.to_lowercase());
    if !wanted.is_empty() && (name.contains(&wanted) || wanted.contains(&name)) {
        return 0.9;
    }
    strsim::jaro_winkler(&wanted, &name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_errors_and_beginnings_are_found() {
        let known = ["checkout", "refund", "checkin"];
        assert_eq!(similar("chekout", known).first(), Some(&"checkout"));
        assert_eq!(did_you_mean("refnd", known).as_deref(), Some("did you mean `refund`?"));
        assert_eq!(
            did_you_mean("order", ["order-7", "order-8"]).as_deref(),
            Some("did you mean `order-7` or `order-8`?")
        );
        assert_eq!(did_you_mean("zebra", known), None);
    }
}
