//! What the doc attributes of an item say, as rustdoc reads them and as an expression of constants: a text may come from
//! a file, `#[doc = include_str!("..")]`. Nothing is read here: what a macro gives is the compiler's to know.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::{Attribute, Expr, ExprLit, Lit, LitStr, Meta};

/// The docs of an item.
pub(crate) struct Doc(Vec<Piece>);

enum Piece {
    Text(String),
    /// `include_str!("..")` and the like.
    Macro(Box<Expr>),
}

impl Doc {
    pub(crate) fn of(attrs: &[Attribute]) -> Self {
        let pieces = attrs.iter().filter_map(|attr| match &attr.meta {
            Meta::NameValue(meta) if meta.path.is_ident("doc") => match bare(&meta.value) {
                Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(Piece::Text(comment(text))),
                made @ Expr::Macro(_) => Some(Piece::Macro(Box::new(made.clone()))),
                _ => None,
            },
            _ => None,
        });
        Self(pieces.collect())
    }

    /// Whether nothing is said. What a macro gives counts as something.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|piece| matches!(piece, Piece::Text(text) if text.trim().is_empty()))
    }

    /// What is written in place, one line a comment.
    pub(crate) fn text(&self) -> String {
        let text = |piece: &Piece| match piece {
            Piece::Text(text) => Some(text.clone()),
            Piece::Macro(_) => None,
        };
        self.0.iter().filter_map(text).collect::<Vec<_>>().join("\n").trim().to_owned()
    }
}

/// A constant expression of type `&'static str`.
impl ToTokens for Doc {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        if !self.0.iter().any(|piece| matches!(piece, Piece::Macro(_))) {
            return self.text().to_tokens(tokens);
        }
        let pieces = self.0.iter().map(|piece| match piece {
            Piece::Text(text) => quote_spanned!(Span::mixed_site()=> #text, "\n"),
            Piece::Macro(made) => quote_spanned!(Span::mixed_site()=> #made, "\n"),
        });
        tokens.extend(quote_spanned!(Span::mixed_site()=> ::core::concat!(#(#pieces),*).trim_ascii()));
    }
}

fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Group(group) => bare(&group.expr),
        Expr::Paren(paren) => bare(&paren.expr),
        other => other,
    }
}

/// The text of one comment: without the space that follows `///`, and of `/** .. */` without the column of stars and
/// what all its lines are indented by.
fn comment(text: &LitStr) -> String {
    let value = text.value();
    let is_block = text.span().source_text().is_none_or(|written| written.starts_with("/*"));
    if !value.contains('\n') || !is_block {
        return value.strip_prefix(' ').unwrap_or(&value).to_owned();
    }
    let mut lines: Vec<&str> = value.lines().collect();
    let (_, below) = lines.split_first_mut().unwrap_or((&mut "", &mut []));
    let starred = below.iter().map(|line| line.trim_start()).filter(|line| !line.is_empty());
    if starred.clone().next().is_some() && starred.clone().all(|line| line.starts_with('*')) {
        for line in below {
            *line = line.trim_start().strip_prefix('*').unwrap_or_default();
        }
    }
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let shared = lines.iter().filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0);
    lines.iter().map(|line| line.get(shared..).unwrap_or_default().trim_end()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doc(item: &str) -> Doc {
        Doc::of(&syn::parse_str::<syn::ItemStruct>(item).expect("a struct").attrs)
    }

    #[test]
    fn comments_read_as_in_rustdoc() {
        for (item, text) in [
            ("/// One.\n///\n///  * two\nstruct S;", "One.\n\n * two"),
            (
                "/** Block doc\n * with lines\n *\n *   - deep\n */ struct S;",
                "Block doc\nwith lines\n\n  - deep",
            ),
            ("/**\n    Text\n      deep\n    * star\n*/ struct S;", "Text\n  deep\n* star"),
            ("/** One line */ struct S;", "One line"),
            ("#[doc(hidden)] struct S;", ""),
        ] {
            assert_eq!(doc(item).text(), text, "{item}");
        }
    }

    #[test]
    fn what_a_macro_gives_stays_in_its_place() {
        let said = doc("/// One.\n#[doc = include_str!(\"two.md\")]\n/// Three.\nstruct S;");
        assert!(!said.is_empty());
        assert_eq!(
            said.to_token_stream().to_string().split_whitespace().collect::<String>(),
            r#"::core::concat!("One.","\n",include_str!("two.md"),"\n","Three.","\n").trim_ascii()"#
        );
    }
}
