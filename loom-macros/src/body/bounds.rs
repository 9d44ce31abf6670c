//! Whether a loop ends by itself, as far as syntax tells: `for` over something that ends, or a counter that
//! the body moves and a condition compares. No proof: it decides a mark in the graph, nothing else.

use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, ExprBinary, ExprIf, ExprLit, Ident, Lit, Stmt};

/// Whether what a `for` goes over ends.
pub(crate) fn of_for(iterated: &Expr) -> bool {
    match iterated {
        Expr::Range(range) => range.end.is_some(),
        Expr::Paren(paren) => of_for(&paren.expr),
        Expr::Reference(reference) => of_for(&reference.expr),
        Expr::MethodCall(call) if call.method == "take" || call.method == "zip" => true,
        Expr::MethodCall(call) => call.method != "cycle" && of_for(&call.receiver),
        Expr::Call(call) => {
            const ENDLESS: &[&str] = &["repeat", "repeat_with", "successors", "from_fn"];
            let Expr::Path(path) = &*call.func else { return true };
            let name = path.path.segments.last().map(|segment| &segment.ident);
            !ENDLESS.iter().any(|endless| name.is_some_and(|name| name == endless))
        }
        _ => true,
    }
}

/// Whether the condition of a `while` compares a counter that the body moves.
pub(crate) fn of_while(condition: &Expr, body: &Block) -> bool {
    match condition {
        Expr::Binary(ExprBinary { left, op: BinOp::And(_), right, .. }) => {
            of_while(left, body) || of_while(right, body)
        }
        Expr::Paren(paren) => of_while(&paren.expr, body),
        other => compares_counter(other, body),
    }
}

/// Whether a `loop` leaves by a counter that it moves: `if n == 5 { break; }`.
pub(crate) fn of_loop(body: &Block) -> bool {
    body.stmts.iter().any(|stmt| match stmt {
        Stmt::Expr(Expr::If(ExprIf { cond, then_branch, .. }), _) => {
            let leaves =
                matches!(then_branch.stmts.last(), Some(Stmt::Expr(Expr::Break(_) | Expr::Return(_), _)));
            leaves && any_operand(cond, &|operand| compares_counter(operand, body))
        }
        _ => false,
    })
}

/// Whether a condition always holds.
pub(crate) fn is_true(condition: &Expr) -> bool {
    matches!(condition, Expr::Lit(ExprLit { lit: Lit::Bool(value), .. }) if value.value)
}

fn any_operand(condition: &Expr, holds: &dyn Fn(&Expr) -> bool) -> bool {
    match condition {
        Expr::Binary(ExprBinary { left, op: BinOp::Or(_), right, .. }) => {
            any_operand(left, holds) || any_operand(right, holds)
        }
        Expr::Paren(paren) => any_operand(&paren.expr, holds),
        other => holds(other),
    }
}

fn compares_counter(condition: &Expr, body: &Block) -> bool {
    let Expr::Binary(ExprBinary { left, op, right, .. }) = condition else { return false };
    let compares =
        matches!(op, BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_) | BinOp::Eq(_) | BinOp::Ne(_));
    compares && [left, right].iter().filter_map(|side| name_of(side)).any(|name| moves(body, name))
}

fn name_of(expr: &Expr) -> Option<&Ident> {
    match expr {
        Expr::Path(path) => path.path.get_ident(),
        _ => None,
    }
}

/// Whether `name += ..` or `name -= ..` occurs in a body.
fn moves(body: &Block, name: &Ident) -> bool {
    struct Moves<'n> {
        name: &'n Ident,
        found: bool,
    }

    impl<'ast> Visit<'ast> for Moves<'_> {
        fn visit_expr_binary(&mut self, binary: &'ast ExprBinary) {
            let steps = matches!(binary.op, BinOp::AddAssign(_) | BinOp::SubAssign(_));
            self.found |= steps && name_of(&binary.left) == Some(self.name);
            visit::visit_expr_binary(self, binary);
        }
    }

    let mut moves = Moves { name, found: false };
    moves.visit_block(body);
    moves.found
}

#[cfg(test)]
mod tests {
    use super::{of_for, of_loop, of_while};

    fn expr(source: &str) -> syn::Expr {
        syn::parse_str(source).expect("an expression")
    }

    fn block(source: &str) -> syn::Block {
        syn::parse_str(source).expect("a block")
    }

    #[test]
    fn what_a_for_goes_over() {
        for bounded in
            ["&lines", "0..3", "0..=n", "(0..).take(3)", "names.iter().zip(1..)", "queue.drain(..)"]
        {
            assert!(of_for(&expr(bounded)), "{bounded}");
        }
        for endless in
            ["0..", "(1..).map(|n| n * 2)", "days.iter().cycle()", "std::iter::repeat(1)", "(0..).rev()"]
        {
            assert!(!of_for(&expr(endless)), "{endless}");
        }
    }

    #[test]
    fn counters_bound_a_loop() {
        let steps = block("{ n += 1; }");
        assert!(of_while(&expr("n < 5"), &steps));
        assert!(of_while(&expr("!paid && (n <= limit)"), &steps));
        for open in ["m < 5", "n.is_small()", "paid || n < 5", "let Some(x) = queue.pop()", "true"] {
            assert!(!of_while(&expr(open), &steps), "{open}");
        }
        assert!(of_loop(&block("{ tries += 1; if tries == 5 { return Err(x); } }")));
        assert!(of_loop(&block("{ if ok || n > 3 { break } n += 1; }")));
        assert!(!of_loop(&block("{ if ok { break } n += 1; }")));
        assert!(!of_loop(&block("{ if n > 3 { log(); } n += 1; }")));
    }
}
