//! The tokens that the traversal puts into a body. They change what a call knows, never what the
//! body computes.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{
    Attribute, Block, Expr, ExprCall, ExprPath, Ident, Macro, PathSegment, Stmt, Token, parse_quote_spanned,
};

use crate::location::line;
use crate::runtime_path::RuntimePath;

use super::macros::Select;
use super::scope;

/// The static that holds the call sites of one flow.
pub(crate) const SITES: &str = "__LOOM_SITES";
/// The handle by which a flow notes the line at which it waits.
pub(crate) const NEAR: &str = "__loom_near";

/// `ctx` → `ctx.__at(&SITES[n], &[i, …])`, a context that knows where it is called. `held` is an item that goes in
/// with it, where names mean what they mean in the call.
pub(crate) fn at(ctx: &Expr, site: usize, indices: &[TokenStream], held: Option<TokenStream>) -> Expr {
    let sites = Ident::new(SITES, Span::mixed_site());
    let site = proc_macro2::Literal::usize_unsuffixed(site);
    let site = quote_spanned!(Span::mixed_site()=> &#sites[#site]);
    let site = match held {
        Some(item) => quote_spanned!(Span::mixed_site()=> { #item #site }),
        None => site,
    };
    Expr::Verbatim(quote_spanned!(Span::mixed_site()=> #ctx.__at(#site, &[#(#indices),*])))
}

/// `future` in `future.await` → the same, after a note of its line. The note comes last, when the
/// arguments have been computed.
///
/// What is put in hangs behind the future, and ends where it ends: an expression that begins and ends with the user's
/// tokens has the span that it has in any other function, so that the compiler points and mends where it should.
///
/// What the future is, `loom-runtime/src/awaited.rs` is asked, by the runtime's path if it is given: a timer or a task of
/// tokio is refused there.
pub(crate) fn near(future: &Expr, handle: &Ident, at: Span, runtime: Option<&RuntimePath>) -> Expr {
    let line = line(at);
    let start = Span::mixed_site().located_at(future.span());
    let asked = runtime.map(|runtime| {
        quote_spanned! {start=>
            { use #runtime::Anything as _; #runtime::Awaited(&__loom_f).kind().by_flow(); }
        }
    });
    let at = Span::mixed_site().located_at(end_of(future));
    let look = quote_spanned!(at=> |__loom_f| { #asked #handle.__near(#line); __loom_f });
    seen(future, &look)
}

/// `call?` → the same, after a look at the type of the value: the call of a step is refused there, as
/// `loom-runtime/src/inert.rs` says. Whether a function gives one, its name does not tell.
pub(crate) fn asked(call: &ExprCall, runtime: &RuntimePath) -> Expr {
    let used = named("used", call);
    let look = quote_spanned! {Span::mixed_site().located_at(end_of(call))=>
        |__loom_c| {
            let __loom_k = { use #runtime::AnyValue as _; #runtime::Made(&__loom_c).kind() };
            __loom_k.#used(__loom_c)
        }
    };
    seen(call, &look)
}

/// `value.__seen(look)`. The call ends with a token of the user's, as far as the compiler sees, which takes the span of the
/// value for that of the call.
fn seen(value: &impl ToTokens, look: &TokenStream) -> Expr {
    let end = end_of(value);
    let method = quote_spanned!(Span::mixed_site().located_at(end)=> .__seen);
    let mut look = Group::new(Delimiter::Parenthesis, look.clone());
    look.set_span(end);
    let look = TokenTree::Group(look);
    Expr::Verbatim(quote!(#value #method #look))
}

/// `let _ = call` → the same look, at a place where the value may be of a type that has none.
pub(crate) fn dropped(call: &ExprCall, runtime: &RuntimePath) -> Expr {
    let dropped = named("dropped", call);
    Expr::Verbatim(quote_spanned! {Span::mixed_site().located_at(call.span())=>
        {
            use #runtime::AnyValue as _;
            #[allow(unreachable_code)] // in a call that never returns
            let () = #runtime::Made(&#call).kind().#dropped();
        }
    })
}

/// `call;` → the same, behind a look at the call written `again`, which is never run: so it moves nothing, and the lints
/// of the statement are those of any function. Else the value itself is looked at.
pub(crate) fn left(call: &ExprCall, again: bool, runtime: &RuntimePath) -> Expr {
    // In a call that never returns, and of one that returns nothing.
    let allow = quote_spanned!(Span::mixed_site()=> #[allow(unreachable_code, clippy::unit_arg)]);
    if !again {
        let asked = asked(call, runtime);
        return Expr::Verbatim(quote!(#allow #asked));
    }
    let look = dropped(call, runtime);
    Expr::Verbatim(quote_spanned! {Span::mixed_site()=>
        #allow
        if false {
            #look
            ::core::unreachable!()
        }
        #call
    })
}

/// A method's name, at that of the called function.
fn named(method: &str, call: &ExprCall) -> Ident {
    let function = match &*call.func {
        Expr::Path(path) => path.path.segments.last().map(|last| last.ident.span()),
        _ => None,
    };
    Ident::new(method, Span::mixed_site().located_at(function.unwrap_or_else(|| call.span())))
}

/// The span of the last token.
fn end_of(tokens: &impl ToTokens) -> Span {
    match tokens.to_token_stream().into_iter().last() {
        Some(TokenTree::Group(group)) => group.span_close(),
        Some(other) => other.span(),
        None => Span::mixed_site(),
    }
}

/// A loop that counts its iterations. It goes into a block with its counter, and its body opens
/// with the index, a plain value that a `move` closure can take along.
pub(crate) fn counted(attrs: &[Attribute], whole: &impl ToTokens, depth: usize) -> Expr {
    let count = scope::count(depth);
    Expr::Verbatim(quote_spanned! {Span::mixed_site()=>
        #(#attrs)* { let mut #count: ::core::primitive::u64 = 0; #whole }
    })
}

/// Opens the body of a counted loop.
pub(crate) fn open_counted(body: &mut Block, depth: usize) {
    let (count, index) = (scope::count(depth), scope::index(depth));
    let opening = quote_spanned! {Span::mixed_site()=>
        let #index: ::core::primitive::u64 = #count; #count += 1;
    };
    body.stmts.insert(0, Stmt::Expr(Expr::Verbatim(opening), None));
}

/// `path` → `clock(Named(&path, &function).kind(), path).0`, for each of the functions: the same, unless it is one of them,
/// as `loom-runtime/src/reached.rs` says. The path is written anew each time, so that what its generic parameters are is
/// left to where it is used.
pub(crate) fn unless_banned(path: &ExprPath, asks: &str, functions: &[&str], runtime: &RuntimePath) -> Expr {
    let segments = &path.path.segments;
    let span = |segment: Option<&PathSegment>| {
        Span::mixed_site().located_at(segment.map_or_else(Span::mixed_site, |segment| segment.ident.span()))
    };
    let (first, last) = (span(segments.first()), span(segments.last()));
    // The ends are the user's, so that the compiler points at the whole path.
    let callee = |name: &str| {
        let mut tokens = respanned(runtime.to_token_stream(), first);
        let name = Ident::new(name, last);
        tokens.extend(quote_spanned!(first=> ::#name));
        tokens
    };
    let group = |tokens: TokenStream| {
        let mut group = Group::new(Delimiter::Parenthesis, tokens);
        group.set_span(last);
        TokenTree::Group(group)
    };
    let value = functions.iter().fold(path.to_token_stream(), |value, function| {
        let root = runtime.to_token_stream().to_string();
        let function: TokenStream = function.replace('$', &root).parse().unwrap_or_default();
        let function = respanned(function, Span::mixed_site());
        let (named, asks) = (callee("Named"), callee(asks));
        let compared = group(quote_spanned!(last=> &#path, &#function));
        let (kind, nothing) = (Ident::new("kind", last), group(TokenStream::new()));
        let told = group(quote!(#named #compared.#kind #nothing, #value));
        let field = quote_spanned!(last=> .0);
        quote!(#asks #told #field)
    });
    Expr::Verbatim(value)
}

/// The same tokens, elsewhere.
fn respanned(tokens: TokenStream, span: Span) -> TokenStream {
    let each = |mut tree: TokenTree| {
        if let TokenTree::Group(group) = &tree {
            tree = TokenTree::Group(Group::new(group.delimiter(), respanned(group.stream(), span)));
        }
        tree.set_span(span);
        tree
    };
    tokens.into_iter().map(each).collect()
}

/// A `select!` by its bare name → that of tokio, biased. Which one the name stands for, the imports of the file say, which a
/// macro does not see; that of futures, which cannot be biased, is refused by a type, as `loom-runtime/src/first_ready.rs`
/// says, in a branch that is never taken.
pub(crate) fn biased(mac: &mut Macro, select: &mut Select, runtime: &RuntimePath) {
    let Some(first) = select.arms.first_mut() else { return };
    let (named, at) = (&mac.path, Span::mixed_site().located_at(mac.path.span()));
    let handler = &first.handler;
    let asked = respanned(quote!(#runtime::FirstReady::never()), at);
    let asked = quote_spanned!(at=> #named! { _ = #asked => {} });
    first.handler = Expr::Verbatim(quote_spanned! {Span::mixed_site()=> {
        if false { #asked }
        #handler
    }});
    select.biased = Some((Ident::new("biased", at), Token![;](at)));
    mac.path = parse_quote_spanned!(at=> #runtime::tokio::select);
}
