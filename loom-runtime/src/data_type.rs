//! The type of data that comes to flows and steps: how it is told to whoever gives it, and whether a value reads as it.
//! Not the reading itself: the code that takes a value decodes it.

use jsonschema::Validator;
use kernel::{InvalidPayload, Payload};
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;

use crate::SchemaFn;

/// A Rust type, as far as those know it who give a value of it as JSON: an input, an output, an answer, a message.
///
/// Its schema is for people and other programs, and does not tell all: to a JSON Schema `1.0` is an integer, and serde
/// reads no `u32` in it. So a value is held to both.
///
/// ```
/// use loom_runtime::{DataType, Payload};
///
/// const AMOUNT: DataType = DataType::of::<u8>();
/// assert_eq!(AMOUNT.check(&Payload::parse("7")?), Ok(()));
/// assert_eq!(
///     AMOUNT.check(&Payload::parse("1.0")?).unwrap_err(),
///     "invalid type: floating point, expected u8: a whole number from 0 to 255, without a fraction or an exponent",
/// );
/// # Ok::<(), loom_runtime::kernel::InvalidPayload>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct DataType {
    pub(crate) schema: SchemaFn,
    reads: fn(&Payload) -> Result<(), String>,
}

impl DataType {
    /// Of what is not known: any JSON is one.
    pub(crate) const ANYTHING: Self = Self { schema: || true.into(), reads: |_| Ok(()) };

    /// The type `T`.
    pub const fn of<T: DeserializeOwned + JsonSchema>() -> Self {
        Self { schema: || schemars::schema_for!(T), reads: reads::<T> }
    }

    /// Its JSON Schema.
    pub fn schema(&self) -> Schema {
        (self.schema)()
    }

    /// Whether a value is one: it fits the schema, and reads.
    ///
    /// # Errors
    /// What is wrong, and where, as a JSON pointer. Names fields and types, never the value.
    pub fn check(&self, value: &Payload) -> Result<(), String> {
        fits(self.schema().as_value(), value)?;
        self.reads(value)
    }

    /// The second half of [`DataType::check`], for whoever has the validator of a schema already.
    pub(crate) fn reads(&self, value: &Payload) -> Result<(), String> {
        (self.reads)(value)
    }
}

/// Whether a value fits a JSON Schema; if not, what is wrong and where.
pub(crate) fn fits(schema: &serde_json::Value, value: &Payload) -> Result<(), String> {
    validate(&validator(schema)?, value)
}

/// A schema, ready to be checked against more than once.
pub(crate) fn validator(schema: &serde_json::Value) -> Result<Validator, String> {
    jsonschema::validator_for(schema).map_err(|e| format!("the schema itself is invalid: {e}"))
}

/// As [`fits`].
pub(crate) fn validate(validator: &Validator, value: &Payload) -> Result<(), String> {
    let value: serde_json::Value = value.decode().map_err(|e| e.0)?;
    let wrong: Vec<_> = validator
        .iter_errors(&value)
        .map(|error| {
            let at = error.instance_path().to_string();
            located(&error.masked().to_string(), &at) // names what is wrong with a value, and not the value
        })
        .collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
}

fn reads<T: DeserializeOwned>(value: &Payload) -> Result<(), String> {
    read_json::<T>(value).map(drop).map_err(|misread| misread.to_string())
}

/// Where JSON does not read as a type, and why. Names fields and types, never a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", located(.reason, .at))]
pub struct Misread {
    /// Where, as a JSON pointer; empty for the whole.
    pub at: String,
    /// Why.
    pub reason: String,
}

/// Reads a value, as [`Payload::decode`] does; what is wrong comes with its place, and an integer's bounds.
///
/// # Errors
/// The value does not have the shape of `T`.
pub fn read_json<T: DeserializeOwned>(value: &Payload) -> Result<T, Misread> {
    serde_json::from_str(value.as_str()).map_err(|error| misread(value.as_str(), error))
}

fn misread(text: &str, error: serde_json::Error) -> Misread {
    let (place, column) = (format!(" at line {} column {}", error.line(), error.column()), error.column());
    let said = InvalidPayload::from(error).0;
    let said = said.strip_suffix(&place).unwrap_or(&said);
    let range = said.rsplit_once("expected ").and_then(|(_, ty)| range(ty));
    let reason = match range {
        Some((least, most)) => {
            format!("{said}: a whole number from {least} to {most}, without a fraction or an exponent")
        }
        None => said.to_owned(),
    };
    Misread { at: pointer(text.get(..column).unwrap_or_default()), reason }
}

fn located(said: &str, at: &str) -> String {
    if at.is_empty() { said.to_owned() } else { format!("{said} (at {at})") }
}

/// The bounds of an integer that serde calls by this name.
fn range(ty: &str) -> Option<(i128, i128)> {
    let (nonzero, ty) = ty.strip_prefix("a nonzero ").map_or((false, ty), |ty| (true, ty));
    let (signed, bits) = (ty.starts_with('i'), ty.strip_prefix(['u', 'i'])?);
    let bits: u32 = match bits {
        "8" | "16" | "32" | "64" => bits.parse().ok()?,
        "size" => usize::BITS,
        _ => return None,
    };
    Some(if signed {
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        (i128::from(nonzero), (1 << bits) - 1)
    })
}

/// The JSON pointer of the value at which the beginning of a canonical text ends.
fn pointer(text: &str) -> String {
    enum Level<'a> {
        Item(usize),
        Field { key: &'a str, named: bool },
    }
    let mut levels = Vec::new();
    let mut string = None;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        if let Some(start) = string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => {
                    string = None;
                    if let Some(Level::Field { key, named: named @ false }) = levels.last_mut() {
                        (*key, *named) = (&text[start..=at], true);
                    }
                }
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => string = Some(at),
            b'[' => levels.push(Level::Item(0)),
            b'{' => levels.push(Level::Field { key: "", named: false }),
            b']' | b'}' => drop(levels.pop()),
            b',' => match levels.last_mut() {
                Some(Level::Item(position)) => *position += 1,
                Some(Level::Field { named, .. }) => *named = false,
                None => {}
            },
            _ => {}
        }
    }
    let segment = |level: &Level<'_>| match level {
        Level::Item(position) => format!("/{position}"),
        Level::Field { key, .. } => {
            let key: String = serde_json::from_str(key).unwrap_or_default();
            format!("/{}", key.replace('~', "~0").replace('/', "~1"))
        }
    };
    levels.iter().map(segment).collect()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only read")]
    struct Order {
        #[serde(rename = "a/b")]
        note: String,
        lines: Vec<Line>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only read")]
    struct Line {
        qty: std::num::NonZeroU16,
        delta: i8,
    }

    #[test]
    fn what_a_schema_lets_pass_is_found_where_it_stands() {
        let order = DataType::of::<Order>();
        let line = |qty: serde_json::Value| {
            let lines = json!([{"qty": 1, "delta": -1}, {"qty": qty, "delta": 2}]);
            Payload::from_value(&json!({"a/b": "say \"[{\\", "lines": lines}))
        };
        assert_eq!(order.check(&line(json!(2))), Ok(()));
        let wrong = order.reads(&line(json!(2.0))).unwrap_err();
        let range = "a whole number from 1 to 65535, without a fraction or an exponent (at /lines/1/qty)";
        assert_eq!(wrong, format!("invalid type: floating point, expected a nonzero u16: {range}"));
        let wrong = order.reads(&line(json!(0))).unwrap_err();
        assert_eq!(wrong, format!("invalid value: integer, expected a nonzero u16: {range}"));
        let wrong = order.reads(&line(json!({"a": [1]}))).unwrap_err();
        assert!(wrong.ends_with("(at /lines/1/qty)"), "{wrong}");
        let note = Payload::from_value(&json!({"a/b": 4711, "lines": []}));
        let wrong = order.reads(&note).unwrap_err();
        assert_eq!(wrong, "invalid type: integer, expected a string (at /a~1b)");
        let lacking = Payload::from_value(&json!({"a/b": "", "lines": [{"qty": 1}]}));
        assert_eq!(order.reads(&lacking).unwrap_err(), "missing field `delta` (at /lines/0)");
    }

    #[test]
    fn integers_are_told_their_bounds() {
        let told = |ty: &str| range(ty).map(|(least, most)| format!("{least}..{most}"));
        assert_eq!(told("i8").unwrap(), "-128..127");
        assert_eq!(told("u64").unwrap(), format!("0..{}", u64::MAX));
        assert_eq!(told("i64").unwrap(), format!("{}..{}", i64::MIN, i64::MAX));
        assert_eq!(told("a string"), None);
    }
}
