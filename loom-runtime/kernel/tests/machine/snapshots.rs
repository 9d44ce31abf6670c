//! B81: a snapshot at every position, restored, with the rest of the log folded onto it; and those that must not be used.
//! Not when they are taken, nor where they are kept: that is the runtime's.

use kernel::{Envelope, Snapshot, State};

use crate::golden::golden_logs;

/// Every prefix of every log that a release wrote, which hold every kind of frame and of outcome.
#[test]
fn b81_the_rest_of_the_log_folds_onto_every_snapshot() {
    for (name, log) in golden_logs() {
        let whole = State::of(&log).unwrap();
        for k in 1..=log.len() {
            let state = State::of(&log[..k]).unwrap();
            let last = &log[k - 1];
            let snapshot = Snapshot::of(&state, last).unwrap();
            assert_eq!(snapshot.sequence, state.next);
            let mut restored = snapshot.restore(&last.encode().unwrap()).unwrap();
            assert_eq!(restored, state, "{name} after {k}");
            log[k..].iter().for_each(|envelope| restored.apply(envelope).unwrap());
            assert_eq!(restored, whole, "{name} after {k}, and the rest");
        }
    }
}

fn taken() -> (Snapshot, Vec<Envelope>) {
    let (_, log) = golden_logs().remove(0);
    (Snapshot::of(&State::of(&log[..3]).unwrap(), &log[2]).unwrap(), log)
}

#[test]
fn b81_a_snapshot_that_is_not_as_it_was_kept_is_refused() {
    let (snapshot, log) = taken();
    let last = log[2].encode().unwrap();
    snapshot.restore(&last).unwrap();
    let refused = |body: String, why: &str| {
        let bad = Snapshot { body, ..snapshot.clone() }.restore(&last).unwrap_err();
        assert!(bad.reason.contains(why), "{bad}");
        assert_eq!(bad.sequence, 3);
    };
    refused(String::new(), "cannot be read");
    refused(snapshot.body[..snapshot.body.len() - 9].to_owned(), "cannot be read");
    let schema = |version| format!("\"schema\":{version}");
    let (ours, other) = (schema(kernel::SNAPSHOT_SCHEMA), schema(kernel::SNAPSHOT_SCHEMA + 1));
    refused(snapshot.body.replace(&ours, &other), "folds otherwise");
}

#[test]
fn b81_a_changed_state_position_or_execution_is_refused() {
    let (snapshot, log) = taken();
    let last = log[2].encode().unwrap();
    let changed = Snapshot { body: snapshot.body.replace("running", "suspended"), ..snapshot.clone() };
    assert_ne!(changed, snapshot);
    assert!(changed.restore(&last).unwrap_err().reason.contains("digest"));
    let later = Snapshot { sequence: 4, ..snapshot.clone() };
    assert!(later.restore(&log[3].encode().unwrap()).unwrap_err().reason.contains("digest"));
    let other = Snapshot { execution: "other".parse().unwrap(), ..snapshot.clone() };
    assert!(other.restore(&last).unwrap_err().reason.contains("digest"));
}

#[test]
fn b81_a_snapshot_of_another_log_is_refused() {
    let (snapshot, log) = taken();
    let mut last = log[2].encode().unwrap();
    last.payload.push(' ');
    assert!(snapshot.restore(&last).unwrap_err().reason.contains("another event"));
    assert!(snapshot.restore(&log[1].encode().unwrap()).unwrap_err().reason.contains("another event"));
}
