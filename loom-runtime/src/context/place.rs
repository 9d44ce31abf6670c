//! Where a durable call stands in its flow, and so which frame it is.
//! Not a registry of frames: whether an id was used before is the machine's to say.

use std::{borrow::Cow, fmt::Display};

use kernel::{
    Fault, FrameId, ParkReport, SourceLine,
    machine::{Call, Cx, Op, Request},
};

use crate::Site;

/// The place of one call: prefix, id, loop indices and source line.
#[derive(Clone)]
pub(crate) struct Place {
    prefix: Option<FrameId>,
    id: Option<Cow<'static, str>>,
    levels: Vec<String>,
    line: SourceLine,
    memo: bool,
}

impl Place {
    pub(crate) fn new(
        prefix: Option<FrameId>,
        site: Option<(&'static Site, &[u64])>,
        file: &'static str,
    ) -> Self {
        let (id, levels, file, line) = match site {
            Some((site, levels)) => (Some(Cow::Borrowed(site.id)), levels, site.file, site.line),
            None => (None, &[] as &[u64], file, 0),
        };
        let levels = levels.iter().map(u64::to_string).collect();
        Self { prefix, id, levels, line: SourceLine { file: file.into(), line }, memo: false }
    }

    pub(crate) fn set_id(&mut self, id: impl Into<Cow<'static, str>>) {
        self.id = Some(id.into());
    }

    /// Replaces the innermost index; outside loops, adds one.
    pub(crate) fn set_key(&mut self, key: impl Display) {
        let key = key.to_string();
        match self.levels.last_mut() {
            Some(innermost) => *innermost = key,
            None => self.levels.push(key),
        }
    }

    pub(crate) fn set_memo(&mut self) {
        self.memo = true;
    }

    pub(crate) fn line(&self) -> SourceLine {
        self.line.clone()
    }

    /// The frame's id; `None` for a call that the macro did not see and that has no explicit id.
    pub(crate) fn frame(&self) -> Option<FrameId> {
        let id = self.id.as_deref()?;
        Some(FrameId::compose(self.prefix.as_ref(), id, &self.levels))
    }

    /// The frame's id, with `fallback` for a call that the macro did not see.
    pub(crate) fn frame_or(&self, fallback: &str) -> FrameId {
        FrameId::compose(self.prefix.as_ref(), self.id.as_deref().unwrap_or(fallback), &self.levels)
    }

    /// The durable call; `None`, with the fault raised, when it has no identity.
    pub(crate) fn call(&self, cx: &Cx, what: &str, op: Op) -> Option<Call> {
        let Some(frame) = self.frame() else {
            let message = format!("{what} has no id: `#[flow]` did not see the call");
            cx.raise(ParkReport::new(Fault::MissingId, message));
            return None;
        };
        Some(cx.call(Request { frame, op, site: self.line.clone(), memo: self.memo }))
    }
}

/// The builder methods that every durable future shares.
macro_rules! placed {
    ($name:ident<$t:ident$(: $bound:path)?>) => {
        impl<$t$(: $bound)?> $name<$t> { placed!(@methods); }
    };
    ($name:ident) => {
        impl $name { placed!(@methods); }
    };
    (@methods) => {
        /// Names the call itself, in place of what `#[flow]` derived. Needed when a flow has two calls of one name.
        pub fn id(mut self, id: impl Into<std::borrow::Cow<'static, str>>) -> Self {
            self.place.set_id(id);
            self
        }

        /// Identifies the call within its loop by what it is about, in place of how often the loop has turned:
        /// `ship#sku-7` and not `ship#3`.
        pub fn key(mut self, key: impl std::fmt::Display) -> Self {
            self.place.set_key(key);
            self
        }
    };
}
pub(crate) use placed;
