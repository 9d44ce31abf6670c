//! Source text as a short label of the static graph. Not a formatter: it only puts spaces where a
//! reader expects them.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

const LONGEST: usize = 40;

/// The tokens as one line of at most forty characters.
pub(crate) fn of(tokens: &TokenStream) -> String {
    let mut text = String::new();
    write(tokens, &mut text);
    if text.chars().count() <= LONGEST {
        return text;
    }
    let mut short: String = text.chars().take(LONGEST - 1).collect();
    short.truncate(short.trim_end().len());
    short.push('…');
    short
}

/// What came before a token, as far as spacing goes.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    /// Nothing that a space could follow: the start, an opening delimiter, `.`, `::`, a sigil.
    Tight,
    /// A word, a literal or a closed group.
    Word,
    /// An operator or a comma.
    Operator,
}

fn write(tokens: &TokenStream, text: &mut String) {
    let mut before = Before::Tight;
    let mut joint = String::new();
    // How many brackets of generic arguments are open.
    let mut angles = 0;
    for tree in tokens.clone() {
        match tree {
            TokenTree::Punct(punct) => {
                joint.push(punct.as_char());
                if punct.spacing() == Spacing::Joint && punct.as_char() != '\'' {
                    continue;
                }
                before = punctuation(&std::mem::take(&mut joint), before, &mut angles, text);
            }
            TokenTree::Ident(ident) => {
                space_unless(before == Before::Tight, text);
                text.push_str(&ident.to_string());
                let keyword = ["in", "if", "let", "match", "mut", "ref", "move", "return"];
                before =
                    if keyword.iter().any(|word| ident == word) { Before::Operator } else { Before::Word };
            }
            TokenTree::Literal(literal) => {
                space_unless(before == Before::Tight, text);
                text.push_str(&literal.to_string());
                before = Before::Word;
            }
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Brace => ("{ ", " }"),
                    Delimiter::None => ("", ""),
                };
                let spaced = before == Before::Operator
                    || before == Before::Word && group.delimiter() == Delimiter::Brace;
                space_unless(!spaced, text);
                text.push_str(open);
                write(&group.stream(), text);
                text.push_str(close);
                before = Before::Word;
            }
        }
    }
}

/// Operators, and the brackets of a turbofish, `::<Vec<u8>>`, however the parser has grouped their characters.
fn punctuation(joint: &str, before: Before, angles: &mut usize, text: &mut String) -> Before {
    let (bracket, rest) = joint.split_at(joint.len().min(1));
    match bracket {
        "" => before,
        ":" if joint.starts_with("::<") => {
            text.push_str("::");
            punctuation(&joint[2..], Before::Tight, angles, text)
        }
        "<" if *angles > 0 || text.ends_with("::") => {
            *angles += 1;
            text.push('<');
            punctuation(rest, Before::Tight, angles, text)
        }
        ">" if *angles > 0 => {
            *angles -= 1;
            text.push('>');
            punctuation(rest, Before::Word, angles, text)
        }
        _ => operator(joint, before, text),
    }
}

fn operator(operator: &str, before: Before, text: &mut String) -> Before {
    match operator {
        "." | "::" | ".." | "..=" => {
            space_unless(before != Before::Operator, text);
            text.push_str(operator);
            Before::Tight
        }
        "," | ";" | ":" => {
            text.push_str(operator);
            Before::Operator
        }
        "?" => {
            text.push('?');
            Before::Word
        }
        // The end of a closure's parameters, which open without a space.
        "|" if before == Before::Word
            && text.rfind('|').is_some_and(|open| !text[open + 1..].starts_with(' ')) =>
        {
            text.push('|');
            Before::Operator
        }
        "!" | "&" | "*" | "-" | "'" | "#" | "|" if before != Before::Word => {
            space_unless(before == Before::Tight, text);
            text.push_str(operator);
            Before::Tight
        }
        _ => {
            space_unless(before == Before::Tight, text);
            text.push_str(operator);
            Before::Operator
        }
    }
}

fn space_unless(tight: bool, text: &mut String) {
    if !tight && !text.ends_with(' ') {
        text.push(' ');
    }
}

#[cfg(test)]
mod tests {
    use quote::ToTokens as _;

    use super::of;

    #[test]
    fn labels_read_like_source() {
        for source in [
            "order.qty > 100",
            "for line in &order.lines",
            "let Some(x) = queue.pop()",
            "Shape::Circle { radius }",
            "matches(a, &b[0])?",
            "lines.map(|line| ship(line))",
            "A | B | C",
            "ctx.receive::<bool>(\"go\")",
            "!answer.approved && n == 3",
        ] {
            let tokens = source.parse().expect("tokens");
            assert_eq!(of(&tokens), source);
        }
    }

    #[test]
    fn a_turbofish_is_tight_however_it_was_parsed() {
        for source in [
            "ctx.receive::<u32>(\"go\")",
            "receive::<Vec<Vec<u8>>>(a) > b",
            "Vec::<&[u8]>::of(a << 1, b)",
            "get::<(A, B), C<D>>(n < 3)",
        ] {
            let tokens: proc_macro2::TokenStream = source.parse().expect("tokens");
            assert_eq!(of(&tokens), source);
            let parsed: syn::Expr = syn::parse2(tokens).expect("an expression");
            assert_eq!(of(&parsed.to_token_stream()), source);
        }
    }

    #[test]
    fn long_labels_are_cut() {
        let tokens = "a_rather_long_name.and_a_method(with, several, arguments)".parse();
        let label = of(&tokens.expect("tokens"));
        assert_eq!(label, "a_rather_long_name.and_a_method(with, s…");
        assert_eq!(label.chars().count(), 40);
    }
}
