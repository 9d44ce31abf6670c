//! The macros that are read inside a flow, and how. A macro is opaque tokens to `#[flow]`; those
//! listed here take expressions, which are walked like any other.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::{Expr, Ident, Pat, Path, Token, token};

/// What a macro takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grammar {
    /// Expressions, and the `name = value`, `?value` and `%value` of formats and of `tracing`.
    Arguments,
    /// The futures of a join.
    Join,
    /// `pattern = future => handler`.
    Select,
    /// `value, pattern if guard`.
    Matches,
    /// JSON with expressions for values.
    Json,
}

const GRAMMARS: &[(&str, Grammar)] = &[
    ("join", Grammar::Join),
    ("try_join", Grammar::Join),
    ("select", Grammar::Select),
    ("matches", Grammar::Matches),
    ("json", Grammar::Json),
    ("vec", Grammar::Arguments),
    ("format", Grammar::Arguments),
    ("print", Grammar::Arguments),
    ("println", Grammar::Arguments),
    ("eprint", Grammar::Arguments),
    ("eprintln", Grammar::Arguments),
    ("write", Grammar::Arguments),
    ("writeln", Grammar::Arguments),
    ("panic", Grammar::Arguments),
    ("todo", Grammar::Arguments),
    ("unreachable", Grammar::Arguments),
    ("unimplemented", Grammar::Arguments),
    ("dbg", Grammar::Arguments),
    ("assert", Grammar::Arguments),
    ("assert_eq", Grammar::Arguments),
    ("assert_ne", Grammar::Arguments),
    ("debug_assert", Grammar::Arguments),
    ("debug_assert_eq", Grammar::Arguments),
    ("debug_assert_ne", Grammar::Arguments),
    ("trace", Grammar::Arguments),
    ("debug", Grammar::Arguments),
    ("info", Grammar::Arguments),
    ("warn", Grammar::Arguments),
    ("error", Grammar::Arguments),
];

/// How a macro is read, if it is.
pub(crate) fn grammar(path: &Path) -> Option<Grammar> {
    let name = &path.segments.last()?.ident;
    GRAMMARS.iter().find(|(known, _)| name == known).map(|(_, grammar)| *grammar)
}

/// Whether a macro is left out of a release build, with all that it takes.
pub(crate) fn is_for_debugging(path: &Path) -> bool {
    path.segments.last().is_some_and(|last| last.ident.to_string().starts_with("debug_assert"))
}

fn says_biased(tokens: &TokenStream) -> bool {
    let mut trees = tokens.clone().into_iter();
    matches!(trees.next(), Some(TokenTree::Ident(ident)) if ident == "biased")
        && matches!(trees.next(), Some(TokenTree::Punct(punct)) if punct.as_char() == ';')
}

/// Whether a `select!` picks among ready branches at random: those of `tokio` and `futures`, unless
/// the first thing that they are told is not to. Loom's own is biased by itself.
pub(crate) fn is_unbiased_select(path: &Path, tokens: &TokenStream) -> bool {
    let Some(name) = path.segments.last().map(|segment| &segment.ident) else { return false };
    let foreign = path.segments.first().is_some_and(|root| {
        ["tokio", "futures", "futures_util", "futures_lite"].iter().any(|name| root.ident == name)
    });
    let runtime_macro = ["select_biased", "select_with_strategy"].iter().any(|n| name == n);
    runtime_macro || name == "select" && foreign && !says_biased(tokens)
}

/// One argument: what stands before its expression, and the expression.
pub(crate) struct Argument {
    prefix: TokenStream,
    pub(crate) expr: Expr,
}

impl Parse for Argument {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut prefix = TokenStream::new();
        if is_named(&input.fork()) {
            while !input.peek(Token![=]) && !input.peek(Token![:]) {
                prefix.extend([input.parse::<TokenTree>()?]);
            }
            prefix.extend([input.parse::<TokenTree>()?]);
        }
        if input.peek(Token![?]) || input.peek(Token![%]) {
            prefix.extend([input.parse::<TokenTree>()?]);
        }
        Ok(Self { prefix, expr: input.parse()? })
    }
}

/// Whether `name =`, `dotted.name =` or `name:` comes next, not `==`, `=>` or `::`.
fn is_named(ahead: ParseStream<'_>) -> bool {
    loop {
        if ahead.call(Ident::parse_any).is_err() {
            return false;
        }
        if ahead.parse::<Token![.]>().is_err() {
            let assigned = ahead.peek(Token![=]) && !ahead.peek(Token![==]) && !ahead.peek(Token![=>]);
            return assigned || ahead.peek(Token![:]) && !ahead.peek(Token![::]);
        }
    }
}

impl ToTokens for Argument {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.prefix.to_tokens(tokens);
        self.expr.to_tokens(tokens);
    }
}

/// Arguments separated by commas, or `[value; count]`, after an optional `biased;`.
pub(crate) struct Arguments {
    biased: Option<(Ident, Token![;])>,
    pub(crate) list: Punctuated<Argument, Token![,]>,
    repeat: Option<(Token![;], Expr)>,
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let biased = biased(input)?;
        let mut list = Punctuated::new();
        while !input.is_empty() && !input.peek(Token![;]) {
            list.push_value(input.parse()?);
            if input.peek(Token![;]) || input.is_empty() {
                break;
            }
            list.push_punct(input.parse()?);
        }
        let repeat = match input.parse::<Option<Token![;]>>()? {
            Some(semi) => Some((semi, input.parse()?)),
            None => None,
        };
        Ok(Self { biased, list, repeat })
    }
}

impl ToTokens for Arguments {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        if let Some((biased, semi)) = &self.biased {
            tokens.extend(quote!(#biased #semi));
        }
        self.list.to_tokens(tokens);
        if let Some((semi, count)) = &self.repeat {
            tokens.extend(quote!(#semi #count));
        }
    }
}

impl Arguments {
    /// Whether this is `[value; count]`.
    pub(crate) fn repeats(&self) -> bool {
        self.repeat.is_some()
    }

    /// The expressions in order.
    pub(crate) fn exprs(&mut self) -> impl Iterator<Item = &mut Expr> {
        let count = self.repeat.iter_mut().map(|(_, count)| count);
        self.list.iter_mut().map(|argument| &mut argument.expr).chain(count)
    }
}

fn biased(input: ParseStream<'_>) -> syn::Result<Option<(Ident, Token![;])>> {
    let is_biased =
        input.peek2(Token![;]) && input.fork().parse::<Ident>().is_ok_and(|word| word == "biased");
    if is_biased { Ok(Some((input.parse()?, input.parse()?))) } else { Ok(None) }
}

/// The arms of a `select!`.
pub(crate) struct Select {
    pub(crate) biased: Option<(Ident, Token![;])>,
    pub(crate) arms: Vec<SelectArm>,
}

/// `pattern = future, if condition => handler`, or `else => handler`; and two forms that are none of ours.
pub(crate) struct SelectArm {
    pub(crate) head: SelectHead,
    arrow: Token![=>],
    pub(crate) handler: Expr,
    comma: Option<Token![,]>,
}

/// The part before the arrow.
pub(crate) enum SelectHead {
    Else(Token![else]),
    Future {
        pat: Box<Pat>,
        eq: Token![=],
        future: Box<Expr>,
        condition: Option<(Token![,], Token![if], Box<Expr>)>,
    },
    /// `complete` and `default`, of the `select!` of futures.
    Word(Ident),
    /// A future without a pattern.
    Bare(Box<Expr>),
}

impl Parse for Select {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let biased = biased(input)?;
        let mut arms = Vec::new();
        while !input.is_empty() {
            arms.push(input.parse()?);
        }
        Ok(Self { biased, arms })
    }
}

impl Parse for SelectArm {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let head = if input.peek(Token![else]) {
            SelectHead::Else(input.parse()?)
        } else if input.peek(Ident)
            && input.peek2(Token![=>])
            && (word(input, "complete") || word(input, "default"))
        {
            SelectHead::Word(input.call(Ident::parse_any)?)
        } else if !has_pattern(&input.fork()) {
            SelectHead::Bare(input.parse()?)
        } else {
            SelectHead::Future {
                pat: Box::new(Pat::parse_multi_with_leading_vert(input)?),
                eq: input.parse()?,
                future: input.parse()?,
                condition: match input.parse::<Option<Token![,]>>()? {
                    Some(comma) => Some((comma, input.parse()?, input.parse()?)),
                    None => None,
                },
            }
        };
        Ok(Self {
            head,
            arrow: input.parse()?,
            handler: Expr::parse_with_earlier_boundary_rule(input)?,
            comma: input.parse()?,
        })
    }
}

fn word(input: ParseStream<'_>, word: &str) -> bool {
    input.fork().call(Ident::parse_any).is_ok_and(|ident| ident == word)
}

/// Whether `pattern =` comes next.
fn has_pattern(ahead: ParseStream<'_>) -> bool {
    Pat::parse_multi_with_leading_vert(ahead).is_ok() && ahead.peek(Token![=]) && !ahead.peek(Token![=>])
}

impl Select {
    /// Whether all its arms are of a form that Loom's has.
    pub(crate) fn is_known(&self) -> bool {
        self.arms.iter().all(|arm| matches!(arm.head, SelectHead::Else(_) | SelectHead::Future { .. }))
    }
}

impl ToTokens for Select {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        if let Some((biased, semi)) = &self.biased {
            tokens.extend(quote!(#biased #semi));
        }
        for SelectArm { head, arrow, handler, comma } in &self.arms {
            match head {
                SelectHead::Else(word) => word.to_tokens(tokens),
                SelectHead::Word(word) => word.to_tokens(tokens),
                SelectHead::Bare(future) => future.to_tokens(tokens),
                SelectHead::Future { pat, eq, future, condition } => {
                    tokens.extend(quote!(#pat #eq #future));
                    if let Some((comma, word, condition)) = condition {
                        tokens.extend(quote!(#comma #word #condition));
                    }
                }
            }
            tokens.extend(quote!(#arrow #handler #comma));
        }
    }
}

/// `value, pattern if guard`.
pub(crate) struct Matches {
    pub(crate) value: Expr,
    comma: Token![,],
    pub(crate) pat: Pat,
    pub(crate) guard: Option<(Token![if], Expr)>,
    trailing: Option<Token![,]>,
}

impl Parse for Matches {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        Ok(Self {
            value: input.parse()?,
            comma: input.parse()?,
            pat: Pat::parse_multi_with_leading_vert(input)?,
            guard: match input.parse::<Option<Token![if]>>()? {
                Some(word) => Some((word, input.parse()?)),
                None => None,
            },
            trailing: input.parse()?,
        })
    }
}

impl ToTokens for Matches {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Self { value, comma, pat, guard, trailing } = self;
        tokens.extend(quote!(#value #comma #pat));
        if let Some((word, guard)) = guard {
            tokens.extend(quote!(#word #guard));
        }
        trailing.to_tokens(tokens);
    }
}

/// Walks through a JSON value: `each` sees every expression in it. `None` when it is not one.
pub(crate) fn json(tokens: TokenStream, each: &mut dyn FnMut(&mut Expr)) -> Option<TokenStream> {
    let mut trees = tokens.clone().into_iter();
    if let (Some(TokenTree::Group(group)), None) = (trees.next(), trees.next()) {
        let parser = match group.delimiter() {
            Delimiter::Brace => json_members,
            Delimiter::Bracket => json_elements,
            Delimiter::Parenthesis | Delimiter::None => return json_expr(tokens, each),
        };
        let parts = parser.parse2(group.stream()).ok()?;
        let mut inner = TokenStream::new();
        for (key, value, comma) in parts {
            inner.extend(key);
            inner.extend(json(value, each)?);
            comma.to_tokens(&mut inner);
        }
        let mut walked = proc_macro2::Group::new(group.delimiter(), inner);
        walked.set_span(group.span());
        return Some(TokenTree::Group(walked).into());
    }
    json_expr(tokens, each)
}

fn json_expr(tokens: TokenStream, each: &mut dyn FnMut(&mut Expr)) -> Option<TokenStream> {
    let mut expr: Expr = syn::parse2(tokens).ok()?;
    each(&mut expr);
    Some(expr.to_token_stream())
}

/// A key with its colon, a value, a comma.
type JsonPart = (TokenStream, TokenStream, Option<Token![,]>);

fn json_members(input: ParseStream<'_>) -> syn::Result<Vec<JsonPart>> {
    let mut parts = Vec::new();
    while !input.is_empty() {
        let mut key = TokenStream::new();
        while !input.peek(Token![:]) || input.peek(Token![::]) {
            key.extend([input.parse::<TokenTree>()?]);
        }
        key.extend([input.parse::<TokenTree>()?]);
        parts.push((key, json_value(input)?, input.parse()?));
    }
    Ok(parts)
}

fn json_elements(input: ParseStream<'_>) -> syn::Result<Vec<JsonPart>> {
    let mut parts = Vec::new();
    while !input.is_empty() {
        parts.push((TokenStream::new(), json_value(input)?, input.parse()?));
    }
    Ok(parts)
}

fn json_value(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let nested = input.peek(token::Brace) || input.peek(token::Bracket);
    if nested && (input.peek2(Token![,]) || is_last(input)) {
        return Ok(input.parse::<TokenTree>()?.into());
    }
    Ok(input.parse::<Expr>()?.to_token_stream())
}

/// Whether one token tree is all that is left.
fn is_last(input: ParseStream<'_>) -> bool {
    let ahead = input.fork();
    ahead.parse::<TokenTree>().is_ok() && ahead.is_empty()
}
