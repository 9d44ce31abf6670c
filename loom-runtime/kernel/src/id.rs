//! Names of executions and of the frames inside them.
//! Not a source of ids: both are derived from what the caller and the code say.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize};

use crate::Digest;

/// The durable name of an execution, the same for all of its runs.
///
/// 1 to 200 bytes of printable ASCII without `/`, `~`, `"` or spaces.
///
/// ```
/// use kernel::ExecutionId;
/// let id: ExecutionId = "order-7".parse()?;
/// assert_eq!(id.as_str(), "order-7");
/// assert!("order/7".parse::<ExecutionId>().is_err());
/// # Ok::<(), kernel::InvalidId>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ExecutionId(Arc<str>);

/// A text that cannot name an execution.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} cannot name an execution: expected 1 to 200 printable ASCII characters without '/', '~', '\"' or spaces",
    quoted(.0)
)]
pub struct InvalidId(pub String);

/// The text as a message shows it: escaped, and no longer than an id may be.
fn quoted(text: &str) -> String {
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

impl ExecutionId {
    /// The id of the child that a frame starts: `order-7:ship#3`, from the second run on `order-7@1:ship#3`. What an
    /// id cannot hold is escaped, and one that would be too long is a digest.
    ///
    /// ```
    /// # use kernel::{ExecutionId, FrameId};
    /// let parent: ExecutionId = "order-7".parse()?;
    /// assert_eq!(parent.child(0, &FrameId::parsed("pay/ship#3")).as_str(), "order-7:pay%2Fship#3");
    /// # Ok::<(), kernel::InvalidId>(())
    /// ```
    #[must_use]
    pub fn child(&self, run: u64, frame: &FrameId) -> Self {
        let mut text = self.0.to_string();
        if run > 0 {
            text.push_str(&format!("@{run}"));
        }
        text.push(':');
        for byte in frame.as_str().bytes() {
            match byte {
                // `%` too: a frame's own escapes must stay apart from these.
                b'/' | b'~' | b'"' | b':' | b'%' => text.push_str(&format!("%{byte:02X}")),
                _ if byte.is_ascii_graphic() => text.push(char::from(byte)),
                _ => text.push_str(&format!("%{byte:02X}")),
            }
        }
        if text.len() > 200 {
            text = format!("child-{}", Digest::of(text.as_bytes()));
        }
        Self(text.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for ExecutionId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let is_id = (1..=200).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'/' | b'~' | b'"'));
        if is_id { Ok(Self(text.into())) } else { Err(InvalidId(text.into())) }
    }
}

impl<'de> Deserialize<'de> for ExecutionId {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

impl fmt::Display for ExecutionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The identity of a frame: one step, gate, timer, decision or message wait of an execution.
///
/// `prefix/base#index.index`: the prefixes of the parts it is called through, the call site's own id,
/// and one index or key per enclosing loop. Never the arguments, never a shared counter, never a
/// position in the log.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FrameId(Arc<str>);

impl FrameId {
    /// Composes an id from its parts. `base` and `levels` are escaped, so that none can forge
    /// another id; `prefix` is an id already.
    ///
    /// ```
    /// use kernel::FrameId;
    /// let ship = FrameId::compose(None, "ship", &["3", "a.b"]);
    /// assert_eq!(ship.as_str(), "ship#3.a%2Eb");
    /// assert_eq!(FrameId::compose(Some(&ship), "pack", &[""; 0]).as_str(), "ship#3.a%2Eb/pack");
    /// assert_eq!(ship.base(), "ship");
    /// ```
    pub fn compose(prefix: Option<&Self>, base: &str, levels: &[impl AsRef<str>]) -> Self {
        let mut text = String::with_capacity(base.len() + 8 * levels.len());
        if let Some(prefix) = prefix {
            text.push_str(&prefix.0);
            text.push('/');
        }
        escape_into(&mut text, base, &['#', '/', ':']);
        for (depth, level) in levels.iter().enumerate() {
            text.push(if depth == 0 { '#' } else { '.' });
            escape_into(&mut text, level.as_ref(), &['#', '.', '/', ':']);
        }
        Self(text.into())
    }

    /// An id that was read back from a log or typed by a person.
    pub fn parsed(text: &str) -> Self {
        Self(text.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The frame of the marker of changed code that is in the log under this id: markers and other calls may be named
    /// alike. No composed id holds a bare colon.
    pub fn marker(&self) -> Self {
        Self(format!("{}:changed", self.0).into())
    }

    /// The call site's own id, without prefixes, indices and keys: `ship` of `pay/ship#3`.
    pub fn base(&self) -> &str {
        let last = self.0.rsplit('/').next().unwrap_or_default();
        last.split('#').next().unwrap_or_default()
    }
}

impl fmt::Display for FrameId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Percent-escapes what has a meaning in ids, and `%` and control characters with it.
fn escape_into(text: &mut String, raw: &str, reserved: &[char]) {
    for c in raw.chars() {
        if c == '%' || c.is_control() || reserved.contains(&c) {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                text.push_str(&format!("%{byte:02X}"));
            }
        } else {
            text.push(c);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Different parts never meet in one id.
        #[test]
        fn composition_is_injective(
            a in proptest::collection::vec(".{0,6}", 0..3), b in proptest::collection::vec(".{0,6}", 0..3),
            base_a in "[a-z#./:%]{1,6}", base_b in "[a-z#./:%]{1,6}",
        ) {
            let same = a == b && base_a == base_b;
            let ids = FrameId::compose(None, &base_a, &a) == FrameId::compose(None, &base_b, &b);
            // One level that is the empty text and no level at all differ by the '#'.
            prop_assert_eq!(ids, same);
        }
    }
}
