//! A topic has one type of messages and one of replies within a body, as far as tokens tell (L0216). What they do not
//! tell, two types of one name or a topic of a part, the registry finds by its schemas.

use std::collections::HashMap;

use quote::ToTokens as _;
use syn::{Ident, Type};

use crate::codes;
use crate::diagnostics::Diagnostics;
use crate::item::line_of;

use super::calls::{Call, Replied, Target};

/// What one wait says of its topic.
struct Wait<'c> {
    call: &'c Call,
    method: &'c Ident,
    ty: &'c Type,
    reply: Option<&'c Replied>,
}

/// Reports each wait that says something else of its topic than the first one does.
pub(super) fn check(calls: &[Call], diagnostics: &mut Diagnostics) {
    let mut first: HashMap<String, Wait<'_>> = HashMap::new();
    for call in calls {
        let Target::Message { name: Some(name), ty: Some(ty), reply } = &call.target else { continue };
        let topic = name.value();
        let wait = Wait { call, method: &call.method, ty, reply: reply.as_deref() };
        match first.get(&topic) {
            Some(earlier) if earlier.call.excludes(call) => {}
            Some(earlier) => compare(&topic, earlier, &wait, diagnostics),
            None => drop(first.insert(topic, wait)),
        }
    }
}

fn compare(topic: &str, earlier: &Wait<'_>, wait: &Wait<'_>, diagnostics: &mut Diagnostics) {
    let line = line_of(earlier.method);
    if differ(earlier.ty, wait.ty) {
        let [earlier, here] = [earlier.ty, wait.ty].map(written);
        diagnostics.report(
            codes::GATE,
            wait.ty,
            format_args!("messages on `{topic}` are `{earlier}` in line {line}, and `{here}` here"),
            "whoever sends one knows one type a topic: take the same in both, an enum say, or another topic",
        );
        return;
    }
    let (here, text) = match (earlier.reply, wait.reply) {
        (Some(Replied { ty: Some(then), .. }), Some(Replied { ty: Some(now), .. })) if differ(then, now) => (
            now.to_token_stream(),
            format!("is `{}` in line {line}, and `{}` here", written(then), written(now)),
        ),
        (None, Some(reply)) => {
            (reply.method.to_token_stream(), format!("is given here, and none in line {line}"))
        }
        (Some(_), None) => (wait.method.to_token_stream(), format!("is given in line {line}, and none here")),
        _ => return,
    };
    diagnostics.report(
        codes::GATE,
        here,
        format_args!("a reply on `{topic}` {text}"),
        "whoever asks on a topic knows one type of reply: give the same in both, or take another topic",
    );
}

/// Whether two types differ however they are imported: `Job` and `jobs::Job` may be the same.
fn differ(one: &Type, other: &Type) -> bool {
    let text = |ty: &Type| match ty {
        Type::Path(path) => path.path.segments.last().to_token_stream().to_string(),
        other => other.to_token_stream().to_string(),
    };
    text(one) != text(other)
}

/// As people write it: tokens alone have spaces between them all.
fn written(ty: &Type) -> String {
    let text = ty.to_token_stream().to_string();
    [" :: ", " < ", " <", "< ", " >", " ,"]
        .iter()
        .fold(text, |text, spaced| text.replace(spaced, spaced.trim()))
}
