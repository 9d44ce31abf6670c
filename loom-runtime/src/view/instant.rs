//! Instants in views: RFC 3339 text.
//! Not those inside of payloads and states: they are as the log has them, microseconds since 1970.

use kernel::Timestamp;
use serde::Serializer;

pub(super) fn exactly<S: Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(at)
}

pub(super) fn maybe<S: Serializer>(at: &Option<Timestamp>, to: S) -> Result<S::Ok, S::Error> {
    match at {
        Some(at) => to.collect_str(at),
        None => to.serialize_none(),
    }
}
