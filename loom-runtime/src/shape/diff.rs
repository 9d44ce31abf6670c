//! The difference between two shape files, for a person who reads a failed test.
//! Not a patch: lines are indented, and where they stand is said by their keys, not by numbers.

/// How many unchanged lines are shown around a change.
const AROUND: usize = 2;
/// How many lines are shown at most.
const LONGEST: usize = 120;
/// How large a table of common lines may get; beyond, all lines count as changed.
const TABLE: usize = 4_000_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Kept,
    Gone,
    New,
}

/// The changed lines under the keys around them.
pub(super) fn between(old: &str, new: &str) -> String {
    let lines = script(&old.lines().collect::<Vec<_>>(), &new.lines().collect::<Vec<_>>());
    let near = |at: usize| {
        let around = &lines[at.saturating_sub(AROUND)..lines.len().min(at + AROUND + 1)];
        around.iter().any(|(change, _)| *change != Change::Kept)
    };
    let (mut text, mut shown, mut last) = (String::new(), 0, None);
    for (at, (change, line)) in lines.iter().enumerate().filter(|(at, _)| near(*at)) {
        if shown == LONGEST {
            text.push_str("  … and more\n");
            break;
        }
        shown += 1;
        if last.is_none_or(|last| last + 1 != at) {
            let changed = lines[at..].iter().position(|(change, _)| *change != Change::Kept).unwrap_or(0);
            text.push_str(&format!("  {}\n", keys_above(&lines[..at + changed], lines[at + changed].1)));
        }
        last = Some(at);
        let sign = match change {
            Change::Kept => ' ',
            Change::Gone => '-',
            Change::New => '+',
        };
        text.push_str(&format!("    {sign} {line}\n"));
    }
    text
}

/// `flows › checkout › gates`: the keys whose values a line stands in.
fn keys_above(above: &[(Change, &str)], line: &str) -> String {
    let mut depth = indent(line);
    let mut keys = Vec::new();
    for (_, outer) in above.iter().rev().filter(|(change, _)| *change != Change::Gone) {
        if indent(outer) < depth {
            depth = indent(outer);
            keys.extend(outer.trim_start().strip_prefix('"').and_then(|rest| rest.split('"').next()));
        }
    }
    keys.reverse();
    keys.join(" › ")
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// All lines of both, in order, by a longest common subsequence.
fn script<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<(Change, &'t str)> {
    let head = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail =
        old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(one, other)| one == other).count();
    let (mid_old, end) = old_rest.split_at(old_rest.len() - tail);
    let mid_new = &new_rest[..new_rest.len() - tail];

    let kept = |line: &&'t str| (Change::Kept, *line);
    let mut lines: Vec<_> = old[..head].iter().map(kept).collect();
    if mid_old.len().saturating_mul(mid_new.len()) > TABLE {
        lines.extend(mid_old.iter().map(|line| (Change::Gone, *line)));
        lines.extend(mid_new.iter().map(|line| (Change::New, *line)));
    } else {
        walk(mid_old, mid_new, &mut lines);
    }
    lines.extend(end.iter().map(kept));
    lines
}

fn walk<'t>(old: &[&'t str], new: &[&'t str], lines: &mut Vec<(Change, &'t str)>) {
    let width = new.len() + 1;
    // How many lines the rests behind (i, j) have in common.
    let mut common = vec![0_u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i * width + j] = if old[i] == new[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            lines.push((Change::Kept, old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || i < old.len() && common[(i + 1) * width + j] >= common[i * width + j + 1]
        {
            lines.push((Change::Gone, old[i]));
            i += 1;
        } else {
            lines.push((Change::New, new[j]));
            j += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::between;

    #[test]
    fn changed_lines_stand_under_their_keys() {
        let document = |delivery: &str, gates: &str| {
            format!(
                "{{\n  \"flows\": {{\n    \"checkout\": {{\n      \"gates\": {{{gates}}},\n      \"graph\": [\n        \
                 \"step a\",\n        \"step b\",\n        \"step c\"\n      ]\n    }}\n  }},\n  \"steps\": {{\n    \
                 \"charge\": {{\n      \"delivery\": \"{delivery}\"\n    }}\n  }}\n}}"
            )
        };
        let (old, new) =
            (document("at_most_once", ""), document("pure", "\n        \"manager\": true\n      "));
        assert_eq!(
            between(&old, &new),
            r#"  flows › checkout
        "flows": {
          "checkout": {
    -       "gates": {},
    +       "gates": {
    +         "manager": true
    +       },
            "graph": [
              "step a",
  steps › charge
        "steps": {
          "charge": {
    -       "delivery": "at_most_once"
    +       "delivery": "pure"
          }
        }
"#
        );
    }

    #[test]
    fn nothing_changed_is_nothing_said_and_much_is_cut() {
        assert_eq!(between("a\nb", "a\nb"), "");
        let (old, new): (String, String) =
            ((0..500).map(|n| format!("{n}\n")).collect(), (500..900).map(|n| format!("{n}\n")).collect());
        let text = between(&old, &new);
        assert!(text.lines().count() < 125 && text.ends_with("… and more\n"));
    }
}
