//! How long what has happened is kept in the store, as a value that a program keeps in a file of its own.
//! Not what is done about it: a policy removes nothing by itself.

use std::{collections::BTreeMap, fmt, time::Duration};

use kernel::{ExecutionId, Status};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// How long what has happened is kept in the store, before it is moved to the archive. What is not mentioned stays for
/// ever, and so does whatever has not ended.
///
/// ```
/// use std::time::Duration;
/// use loom_runtime::{Keep, Pinned, RetentionPolicy, Status};
///
/// let policy: RetentionPolicy = serde_json::from_str(r#"{
///     "completed": "30d",
///     "failed": "90d",
///     "flows": { "invoice": { "completed": "3650d", "failed": "forever" } },
///     "earlier_runs": "7d",
///     "snapshots": 1,
///     "early_messages": "30d",
///     "pins": [ { "execution": "order-7" }, { "tree": "audit-2026" } ]
/// }"#).unwrap();
/// assert_eq!(policy.keep("order", Status::Failed), Keep::For(Duration::from_secs(90 * 86_400)));
/// assert_eq!(policy.keep("invoice", Status::Failed), Keep::Forever);
/// assert_eq!(policy.keep("invoice", Status::Cancelled), Keep::Forever, "nobody said otherwise");
/// let misspelt = serde_json::from_str::<RetentionPolicy>(r#"{ "complete": "30d" }"#).unwrap_err();
/// assert!(misspelt.to_string().starts_with("unknown field `complete`"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RetentionPolicy {
    /// Executions that have completed, since they did.
    pub completed: Keep,
    /// Those that have failed.
    pub failed: Keep,
    /// Those that were cancelled.
    pub cancelled: Keep,
    /// The earlier runs of executions that began anew and go on, since the current one began. Such an execution can no
    /// longer be forked, and what was not projected from its earlier runs no longer is.
    pub earlier_runs: Keep,
    /// What else holds for executions of some flows, by the flow's name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub flows: BTreeMap<String, KeepFlow>,
    /// How many snapshots an execution that has ended keeps, of its state and of each read model. `None` leaves them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshots: Option<usize>,
    /// Messages to executions that do not exist, since they were sent. They are forgotten, not archived.
    pub early_messages: Keep,
    /// What stays, whatever else is said.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<Pinned>,
}

/// What holds for the executions of one flow. What is not mentioned is as for all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KeepFlow {
    /// As [`RetentionPolicy::completed`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed: Option<Keep>,
    /// As [`RetentionPolicy::failed`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<Keep>,
    /// As [`RetentionPolicy::cancelled`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancelled: Option<Keep>,
    /// As [`RetentionPolicy::earlier_runs`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earlier_runs: Option<Keep>,
}

/// How long something is kept: in a file, `"forever"`, or a whole number and a unit, as in `"200ms"`, `"10s"`, `"5m"`,
/// `"2h"`, `"30d"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// For ever.
    #[default]
    Forever,
    /// For so long.
    For(Duration),
}

/// What stays.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pinned {
    /// This execution.
    Execution(ExecutionId),
    /// This execution and its children, and theirs.
    Tree(ExecutionId),
}

impl RetentionPolicy {
    /// How long an execution of this flow is kept that has ended so, or of one that goes on the earlier runs.
    pub fn keep(&self, flow: &str, status: Status) -> Keep {
        let of = self.flows.get(flow);
        let (own, all) = match status {
            Status::Completed => (of.and_then(|of| of.completed), self.completed),
            Status::Failed => (of.and_then(|of| of.failed), self.failed),
            Status::Cancelled => (of.and_then(|of| of.cancelled), self.cancelled),
            _ => (of.and_then(|of| of.earlier_runs), self.earlier_runs),
        };
        own.unwrap_or(all)
    }
}

impl Keep {
    /// Whether it is over for what happened so long ago.
    pub(super) fn is_over(self, age: Duration) -> bool {
        matches!(self, Self::For(long) if age >= long)
    }

    fn named(text: &str) -> Option<Self> {
        if text == "forever" {
            return Some(Self::Forever);
        }
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let factor = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        number.parse::<u64>().ok()?.checked_mul(factor).map(Duration::from_millis).map(Self::For)
    }
}

impl fmt::Display for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::For(long) = self else { return f.write_str("forever") };
        let millis = long.as_millis();
        let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")];
        let fits = units.into_iter().find(|(factor, _)| millis > 0 && millis % factor == 0);
        let (factor, unit) = fits.unwrap_or((1, "ms"));
        write!(f, "{}{unit}", millis / factor)
    }
}

impl Serialize for Keep {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Keep {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::named(&text).ok_or_else(|| {
            de::Error::custom(format_args!(
                "`{text}` is not a duration: write a whole number and a unit, as in \"12h\" or \"30d\", or \"forever\""
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        for text in ["forever", "0ms", "200ms", "10s", "5m", "25h", "30d"] {
            assert_eq!(Keep::named(text).map(|keep| keep.to_string()).as_deref(), Some(text));
        }
        for bad in ["", "30", "d", "30 d", "1.5d", "-1d", "never", "99999999999999999999d"] {
            assert_eq!(Keep::named(bad), None, "{bad}");
        }
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for bad in [
            r#"{"terminal":"3d"}"#,
            r#"{"flows":{"a":{"parked":"3d"}}}"#,
            r#"{"pins":[{"branch":"a"}]}"#,
            r#"{"snapshots":-1}"#,
            r#"{"completed":30}"#,
            r#"{"completed":"30"}"#,
        ] {
            serde_json::from_str::<RetentionPolicy>(bad).expect_err(bad);
        }
        let policy: RetentionPolicy = serde_json::from_str("{}").expect("nothing is said");
        assert_eq!(policy, RetentionPolicy::default());
    }
}
