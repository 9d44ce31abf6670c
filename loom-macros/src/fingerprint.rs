//! A number that changes when a function's code does and not when its formatting does. Not a
//! comparison of behaviour: renaming a local changes it, and the replay check decides what that means.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit_mut::{self, VisitMut};
use syn::{Attribute, Block, Expr, Signature, Stmt};

/// The fingerprint of a function: its attributes but docs, its signature and its body.
pub(crate) fn of(attrs: &[Attribute], sig: &Signature, body: &TokenStream) -> u64 {
    let mut hash = Fnv::new();
    for attr in attrs.iter().filter(|attr| !attr.path().is_ident("doc")) {
        hash.tokens(attr.to_token_stream());
    }
    hash.tokens(sig.to_token_stream());
    hash.tokens(normal_form(body));
    hash.0
}

/// The same of a function that is more than its code: an agent works by its instructions, its model and its tools as much
/// as by its body. With nothing more, it is that of the function.
///
/// What only judges an execution from outside (ceilings, policies, schedules), and what a log tells by itself (names,
/// versions), is no part of it: no run goes on another way when that changes.
pub(crate) fn with(fingerprint: u64, more: &TokenStream) -> u64 {
    let mut hash = Fnv(fingerprint);
    hash.tokens(more.clone());
    hash.0
}

/// The fingerprint of other code, where formatting that moves no token does not count.
pub(crate) fn of_tokens(tokens: &TokenStream) -> u64 {
    let mut hash = Fnv::new();
    hash.tokens(tokens.clone());
    hash.0
}

/// The body as rustfmt could have left it, whatever the user typed. A body that does not parse is
/// taken as it is: it does not compile either.
fn normal_form(body: &TokenStream) -> TokenStream {
    match syn::parse2::<Block>(body.clone()) {
        Ok(mut block) => {
            Normaliser.visit_block_mut(&mut block);
            block.to_token_stream()
        }
        Err(_) => body.clone(),
    }
}

/// Undoes what rustfmt may do beyond white space and trailing commas.
struct Normaliser;

impl VisitMut for Normaliser {
    fn visit_block_mut(&mut self, block: &mut Block) {
        visit_mut::visit_block_mut(self, block);
        // rustfmt ends a trailing `return x` with a semicolon.
        if let Some(Stmt::Expr(Expr::Return(_) | Expr::Break(_) | Expr::Continue(_), semi)) =
            block.stmts.last_mut()
        {
            *semi = None;
        }
    }

    fn visit_arm_mut(&mut self, arm: &mut syn::Arm) {
        visit_mut::visit_arm_mut(self, arm);
        unwrap_block(&mut arm.body);
        arm.comma = None;
    }

    fn visit_expr_closure_mut(&mut self, closure: &mut syn::ExprClosure) {
        visit_mut::visit_expr_closure_mut(self, closure);
        unwrap_block(&mut closure.body);
    }

    fn visit_expr_paren_mut(&mut self, paren: &mut syn::ExprParen) {
        visit_mut::visit_expr_paren_mut(self, paren);
        if let Expr::Paren(inner) = &*paren.expr {
            paren.expr = inner.expr.clone();
        }
    }
}

/// `{ x }` → `x`, which rustfmt does to the bodies of arms and closures.
fn unwrap_block(body: &mut Expr) {
    if let Expr::Block(block) = body
        && block.attrs.is_empty()
        && block.label.is_none()
        && let [Stmt::Expr(expr, None)] = &*block.block.stmts
    {
        *body = expr.clone();
    }
}

/// FNV-1a, 64 bits: tiny, and the same on every machine and in every version of Rust.
struct Fnv(u64);

impl Fnv {
    const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// One token, ended by a byte that no token holds.
    fn token(&mut self, text: &str) {
        self.bytes(text.as_bytes());
        self.bytes(&[0]);
    }

    fn tokens(&mut self, stream: TokenStream) {
        let mut trees = stream.into_iter().peekable();
        while let Some(tree) = trees.next() {
            match tree {
                // A trailing comma is formatting.
                TokenTree::Punct(punct) if punct.as_char() == ',' && trees.peek().is_none() => {}
                TokenTree::Group(group) => {
                    let (open, close) = match group.delimiter() {
                        Delimiter::Parenthesis => ("(", ")"),
                        Delimiter::Brace => ("{", "}"),
                        Delimiter::Bracket => ("[", "]"),
                        Delimiter::None => ("", ""),
                    };
                    self.token(open);
                    self.tokens(group.stream());
                    self.token(close);
                }
                other => self.token(&other.to_string()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::of;
    use syn::ItemFn;

    fn fingerprint(source: &str) -> u64 {
        let item: ItemFn = syn::parse_str(source).expect("the sample parses");
        let body = quote::ToTokens::to_token_stream(&item.block);
        of(&item.attrs, &item.sig, &body)
    }

    #[test]
    fn formatting_and_docs_do_not_count() {
        let tight = "async fn f(ctx:Ctx,n:u32)->R{match n{0=>g(n),_=>{h()}} let c=|x|{x+1};return c(n)}";
        let formatted = "
            /// Documented.
            async fn f(
                ctx: Ctx,
                n: u32,
            ) -> R {
                // A comment.
                match n {
                    0 => g(
                        n,
                    ),
                    _ => h(),
                }
                let c = |x| x + 1;
                return c(n);
            }";
        assert_eq!(fingerprint(tight), fingerprint(formatted));
    }

    #[test]
    fn a_formatter_changes_nothing() {
        let source = include_str!("../tests/expand/flow.rs");
        let mut file: syn::File = syn::parse_str(source).expect("the sample parses");
        file.attrs.clear();
        let tight = quote::ToTokens::to_token_stream(&file).to_string();
        assert_eq!(fingerprint(&tight), fingerprint(&prettyplease::unparse(&file)));
    }

    #[test]
    fn code_counts() {
        let base = fingerprint("async fn f(ctx: Ctx) -> R { g(1).await }");
        for other in [
            "async fn f(ctx: Ctx) -> R { g(2).await }",
            "async fn f(ctx: Ctx) -> R { g(1).await; }",
            "async fn f(ctx: Ctx) -> S { g(1).await }",
            "#[cfg(x)] async fn f(ctx: Ctx) -> R { g(1).await }",
        ] {
            assert_ne!(base, fingerprint(other), "{other}");
        }
    }

    #[test]
    fn the_algorithm_is_pinned() {
        // A change here re-fingerprints every deployed flow: it needs a flag in the log, not a new
        // number in this test.
        assert_eq!(fingerprint("fn f() {}"), 0x4ce5a5e430e32346);
    }
}
