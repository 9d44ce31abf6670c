//! Payloads: canonical JSON as exact bytes, and their digests.
//! Not a schema and not a codec of user types: those are serde's and the runtime's.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};
use sha2::{Digest as _, Sha256};

/// One JSON value as its canonical text: object keys sorted, no white space, integers exact.
///
/// Cheap to clone. Stores keep the bytes as they are; re-ordering them would break digests.
///
/// ```
/// use kernel::Payload;
/// let order = Payload::encode(&serde_json::json!({"qty": 2, "item": "tea"}))?;
/// assert_eq!(order.as_str(), r#"{"item":"tea","qty":2}"#);
/// # Ok::<(), kernel::InvalidPayload>(())
/// ```
#[derive(Clone)]
pub struct Payload(Arc<RawValue>);

/// A value that is not JSON, or JSON that is not the value that was asked for. Names fields and types, never a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidPayload(pub String);

/// How deep arrays and objects may be within each other: serde_json's limit.
const DEEPEST: usize = 127;

impl From<serde_json::Error> for InvalidPayload {
    /// serde quotes what it found; that is taken out: ``invalid type: string "5 lbs", expected u32`` becomes
    /// `invalid type: string, expected u32`. And it has a limit of its own, of which it does not say what is limited.
    fn from(error: serde_json::Error) -> Self {
        let said = error.to_string();
        if let Some(at) = said.strip_prefix("recursion limit exceeded") {
            return Self(format!(
                "arrays and objects within each other, more than {DEEPEST} levels deep{at}: make it flatter"
            ));
        }
        let quotes = ["invalid type: ", "invalid value: ", "unknown variant "];
        let Some(opening) = quotes.into_iter().find(|opening| said.starts_with(opening)) else {
            return Self(said);
        };
        let Some((found, expected)) = said[opening.len()..].rsplit_once(", expected ") else {
            return Self(said);
        };
        let kind = found.split(['"', '`']).next().unwrap_or_default();
        let opening = if kind.is_empty() { opening.trim_end() } else { opening };
        Self(format!("{opening}{}, expected {expected}", kind.trim_end()))
    }
}

impl Payload {
    /// The canonical JSON of `value`.
    ///
    /// # Errors
    /// `value` cannot be written as JSON (a map with keys that are not text, say).
    pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Self, InvalidPayload> {
        let value = serde_json::to_value(value)?;
        Ok(Self::from_value(&value))
    }

    /// The canonical JSON of a value that is JSON already.
    pub fn from_value(value: &Value) -> Self {
        let mut text = String::new();
        write_canonical(value, &mut text);
        Self::trusted(text)
    }

    /// Takes JSON text from outside and makes it canonical.
    ///
    /// # Errors
    /// `text` is not one JSON value.
    pub fn parse(text: &str) -> Result<Self, InvalidPayload> {
        let value: Value = serde_json::from_str(text)?;
        Ok(Self::from_value(&value))
    }

    /// JSON `null`.
    pub fn null() -> Self {
        Self::trusted("null".into())
    }

    /// Reads the value back.
    ///
    /// # Errors
    /// The JSON does not have the shape of `T`; the message names the field, never the value's bytes.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, InvalidPayload> {
        Ok(serde_json::from_str(self.as_str())?)
    }

    /// The canonical text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Size in bytes, as stored.
    #[allow(clippy::len_without_is_empty, reason = "a payload is never empty")]
    pub fn len(&self) -> usize {
        self.as_str().len()
    }

    /// The digest of the canonical text.
    pub fn digest(&self) -> Digest {
        Digest::of(self.as_str().as_bytes())
    }

    fn trusted(text: String) -> Self {
        let raw = RawValue::from_string(text).expect("canonical text is JSON");
        Self(Arc::from(raw))
    }
}

impl Default for Payload {
    fn default() -> Self {
        Self::null()
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Payload {}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Self(Arc::from(Box::<RawValue>::deserialize(from)?)))
    }
}

/// Reads an optional payload: one that is there is there, also when it is JSON `null` (serde's own `Option` would
/// take that for absent).
pub(crate) fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Payload>, D::Error> {
    Payload::deserialize(from).map(Some)
}

/// The first 16 bytes of a SHA-256, as 32 hexadecimal digits.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 16]);

impl Digest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self::of_parts(&[bytes])
    }

    /// The digest of the parts, each preceded by its length so that they cannot run into each other
    /// (a single part is hashed as it is).
    pub fn of_parts(parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            if parts.len() > 1 {
                hash.update((part.len() as u64).to_le_bytes());
            }
            hash.update(part);
        }
        let full = hash.finalize();
        let mut half = [0; 16];
        half.copy_from_slice(&full[..16]);
        Self(half)
    }

    /// The bytes.
    pub const fn bytes(&self) -> [u8; 16] {
        self.0
    }

    /// The digest that has these bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let wrong = || serde::de::Error::custom(format!("{text:?} is not a digest of 32 hexadecimal digits"));
        if text.len() != 32 || !text.is_ascii() {
            return Err(wrong());
        }
        let mut bytes = [0; 16];
        for (i, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * i..2 * i + 2], 16).map_err(|_| wrong())?;
        }
        Ok(Self(bytes))
    }
}

/// Sorted keys, no white space. Sorted here, and not by the map: a dependant may turn on
/// `serde_json/preserve_order`, and no Cargo feature may change a byte of a log.
fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by(|a, b| a.0.cmp(b.0));
            out.push('{');
            for (i, (key, item)) in entries.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write_canonical(item, out);
            }
            out.push('}');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn digest_sees_integers_beyond_two_to_the_53() {
        let a = Payload::encode(&9_007_199_254_740_993_u64).unwrap();
        let b = Payload::encode(&9_007_199_254_740_992_u64).unwrap();
        assert_ne!(a.digest(), b.digest());
    }

    #[test]
    fn order_of_keys_does_not_matter() {
        let a = Payload::parse(r#"{"b":1, "a":{"d":[1, 2],"c":null}}"#).unwrap();
        let b = Payload::encode(&json!({"a": {"c": null, "d": [1, 2]}, "b": 1})).unwrap();
        assert_eq!(a, b);
        assert_eq!(a.digest(), b.digest());
    }

    #[test]
    fn errors_name_types_and_fields_never_values() {
        #[derive(Debug, Deserialize)]
        #[allow(dead_code, reason = "only read")]
        struct Order {
            qty: u32,
            kind: Kind,
        }
        #[derive(Debug, Deserialize)]
        enum Kind {
            Tea,
        }
        let wrong = [
            json!({"qty": "secret, expected", "kind": "Tea"}),
            json!({"qty": -4711, "kind": "Tea"}),
            json!({"qty": 1, "kind": "secret"}),
        ];
        for value in wrong {
            let error = Payload::from_value(&value).decode::<Order>().unwrap_err().0;
            assert!(!error.contains("secret") && !error.contains("4711"), "{error}");
            assert!(error.contains("expected"), "{error}");
        }
        let missing = Payload::from_value(&json!({})).decode::<Order>().unwrap_err().0;
        assert!(missing.contains("missing field `qty`"), "{missing}");
        let error = Payload::from_value(&json!("five")).decode::<u32>().unwrap_err().0;
        assert!(error.starts_with("invalid type: string, expected u32"), "{error}");
    }

    #[test]
    fn digests_round_trip() {
        let digest = Digest::of(b"loom");
        let json = serde_json::to_string(&digest).unwrap();
        assert_eq!(serde_json::from_str::<Digest>(&json).unwrap(), digest);
        assert!(serde_json::from_str::<Digest>("\"é23\"").is_err());
    }
}
