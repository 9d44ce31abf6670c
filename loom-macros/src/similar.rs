//! What a misspelt word may have meant. Not for the keys of attributes: the parser of those has its own guesses.

/// The candidate that is the fewest slips of the keyboard away, if those are few for the length of the word.
pub(crate) fn similar<'c>(written: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let allowed = (written.chars().count() / 4).clamp(1, 3);
    let near = candidates.into_iter().map(|candidate| (slips(written, candidate), candidate));
    near.filter(|(slips, _)| *slips <= allowed)
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate)
}

/// How many letters are to be put in, taken out, replaced, or swapped with the next one. Case does not count.
fn slips(one: &str, other: &str) -> usize {
    let letters = |text: &str| text.chars().flat_map(char::to_lowercase).collect::<Vec<_>>();
    let (one, other) = (letters(one), letters(other));
    let mut rows = vec![(0..=other.len()).collect::<Vec<_>>()];
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let swapped = i > 0 && j > 0 && *a == other[j - 1] && one[i - 1] == *b;
            let replaced = rows[i][j] + usize::from(a != b);
            let least = replaced.min(rows[i][j + 1] + 1).min(row[j] + 1);
            row.push(if swapped { least.min(rows[i - 1][j - 1] + 1) } else { least });
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use super::{similar, slips};

    #[test]
    fn slips_are_counted() {
        for (one, other, count) in [
            ("", "ab", 2),
            ("step", "steps", 1),
            ("stpe", "step", 1),
            ("lifecicle", "Lifecycle", 1),
            ("a", "b", 1),
        ] {
            assert_eq!((slips(one, other), slips(other, one)), (count, count), "{one} {other}");
        }
    }

    #[test]
    fn what_is_far_away_was_not_meant() {
        assert_eq!(similar("stpe", ["lifecycle", "step"]), Some("step"));
        assert_eq!(similar("event", ["lifecycle", "step"]), None);
    }
}
