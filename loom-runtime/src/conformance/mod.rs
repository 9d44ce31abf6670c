//! The conformance kit: what every store owes, as tests that one line runs against one store.
//! Not the tests of what is a store's own: files, connections, crashes of its processes.
//!
#![doc = include_str!("README.md")]

use std::sync::Arc;

use crate::ports::Store;

pub mod branches;
pub mod creations;
pub mod early;
mod fixture;
pub mod gates;
pub mod inbox;
pub mod lanes;
pub mod leases;
pub mod lists;
pub mod logs;
pub mod positions;
pub mod posts;
pub mod races;
pub mod removals;
pub mod runs;
pub mod snapshots;

/// A store under test.
pub type Shared = Arc<dyn Store>;

/// A fresh store, or none where what it needs is not installed: then the case is skipped.
pub trait Opened {
    /// What is opened.
    type Store: Store;

    /// It, if it could be.
    fn opened(self) -> Option<Self::Store>;
}

impl<S: Store> Opened for S {
    type Store = S;

    fn opened(self) -> Option<S> {
        Some(self)
    }
}

impl<S: Store> Opened for Option<S> {
    type Store = S;

    fn opened(self) -> Self {
        self
    }
}

/// Opens a store and runs one case against it, on a runtime with two threads.
pub fn run<O: Opened>(open: impl AsyncFnOnce() -> O, case: impl AsyncFnOnce(Shared)) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime starts");
    runtime.block_on(async {
        if let Some(store) = open().await.opened() {
            case(Arc::new(store)).await;
        }
    });
}

/// Expands to one test per case of the kit. Takes an async closure, or the path of an async function, that
/// returns a fresh store: see [`conformance`](crate::conformance). `several $open` is for a store that is several
/// databases: those count positions each for itself, so that [`positions`] is not for it.
#[macro_export]
macro_rules! store_conformance {
    ($open:expr) => {
        $crate::store_conformance!(several $open);
        $crate::store_conformance! { @cases $open;
            positions {
                positions_of_early_items_grow_over_all
                positions_of_posts_grow_over_all
            }
        }
    };
    (several $open:expr) => {
        $crate::store_conformance! { @cases $open;
            logs {
                a_new_execution_reads_back
                an_execution_without_a_claim_has_no_owner
                a_lost_creation_is_recognised
                a_creation_of_a_taken_id_writes_nothing
                b29_lost_acknowledgement_is_recognised
                b29_a_retried_close_is_recognised
                a_batch_with_other_content_is_refused
                only_the_last_batch_counts_as_a_retry
                a_wrong_sequence_conflicts
                records_with_a_gap_conflict
                b31_a_stale_fence_is_refused
                without_a_lease_every_fence_is_stale
                an_expired_lease_still_appends
                checks_come_in_the_documented_order
                b35_a_refused_transition_leaves_nothing
                b35_a_transition_changes_everything_at_once
                b30_an_ended_execution_stays_as_it_ended
                b37_sequences_go_on_after_a_close
                b40_paging_reads_every_event_once
                reading_past_the_end_is_empty
                b93_every_event_kind_round_trips
                payloads_are_kept_byte_for_byte
                a_large_payload_round_trips
                a_large_batch_round_trips
            }
            creations {
                an_execution_begins_with_its_records
                an_execution_begins_with_its_gates
                an_execution_begins_in_a_later_run
                a_creation_is_its_records_and_gates
            }
            lists {
                pages_come_in_byte_order
                a_list_without_a_limit_is_whole
                filters_combine
                rows_follow_their_executions
            }
            leases {
                an_unowned_execution_is_due
                a_lease_holds_to_its_last_instant
                a_suspended_execution_is_due_when_its_time_comes
                a_suspended_execution_is_due_when_called
                what_was_seen_does_not_wake
                a_parked_execution_waits_to_be_called
                an_ended_execution_is_never_due
                the_oldest_is_claimed_first
                a_limit_bounds_a_claim
                a_claim_keeps_to_its_flows
                a_claim_of_one_execution_takes_no_other
                what_is_unfit_for_a_program_is_left_to_others
                what_nobody_else_takes_an_unfit_program_takes
                a_program_is_unfit_for_one_run
                a_release_hands_back_at_once
                a_stale_release_changes_nothing
                renewal_extends_what_is_held
                renewal_spares_what_was_lost
                b44_take_overs_count_until_progress
                fences_never_shrink
                claimed_rows_are_stored_rows
            }
            lanes {
                a_turn_reads_back
                a_turn_is_content_of_its_batch
                a_higher_priority_goes_first
                a_priority_is_kept_for_life
                a_lane_runs_so_many_at_once
                an_ended_lease_holds_no_slot
                a_woken_execution_waits_for_a_slot
                a_full_lane_holds_no_other_back
                a_claim_of_one_execution_keeps_to_its_lane
                each_is_judged_by_what_it_brought
                a_rate_bounds_what_begins
                a_rate_and_slots_hold_together
                lanes_take_turns
                a_weight_is_a_share
                claims_at_once_keep_to_a_lane
            }
            inbox {
                items_wait_in_order
                b49_items_posted_before_the_wait_are_kept
                a_key_is_used_once
                a_key_stays_used_after_its_item_was_consumed
                keys_are_compared_exactly
                posts_without_a_key_never_collide
                b54_an_unknown_execution_takes_no_post
                an_ended_execution_takes_no_post
                a_used_key_is_recognised_after_the_end
                b45_consumption_and_events_are_one_transition
                consumption_is_of_the_own_inbox_only
                an_unread_item_refuses_a_close
                what_a_close_consumes_does_not_refuse_it
                owners_see_who_waits
            }
            early {
                b54_early_items_are_there_at_the_creation
                early_items_come_before_what_is_posted_later
                an_early_key_is_used_once
                an_early_key_counts_in_the_inbox
                only_an_early_item_is_kept
                early_makes_no_difference_to_what_exists
                b54_early_items_are_moved_once
                old_early_items_are_forgotten_when_asked
                b54_no_early_item_is_lost_to_a_creation
            }
            posts {
                a_post_arrives_with_its_append
                posts_are_content_of_their_batch
                posts_of_one_append_keep_their_order
                a_post_that_nobody_takes_is_dropped
                a_post_s_key_is_used
                a_post_wakes_its_execution
                an_owner_finds_a_post_before_it_closes
                a_post_to_itself_finds_what_its_append_left
                an_append_posts_as_it_closes
                an_early_post_of_an_append_waits
                a_long_list_of_posts_arrives
                b52_no_post_of_an_append_is_lost_to_a_close
                fifty_appends_post_to_one
            }
            gates {
                an_opened_gate_is_listed
                a_gate_ends_once
                an_ending_abandons_what_is_open
                changes_apply_in_order
                open_gates_come_in_order
                a_list_of_gates_is_whole
                a_frame_opens_one_gate
            }
            runs {
                a_run_begins_with_an_event_of_its_append
                a_run_is_content_of_its_batch
                a_frame_opens_one_gate_in_each_run
                a_gate_is_of_the_run_after_its_append
                an_end_reaches_the_gates_of_every_run
            }
            branches {
                a_branch_reads_back
                a_branch_moves_when_it_is_where_it_should_be
                b29_a_retried_set_is_recognised
                a_branch_points_to_an_execution
                branches_come_in_byte_order
                of_fifty_sets_at_once_one_succeeds
            }
            snapshots {
                a_snapshot_reads_back
                the_newest_at_or_before_a_position_is_found
                b81_a_bad_snapshot_is_never_picked_again
                pruning_keeps_the_newest
                snapshots_of_other_things_are_apart
            }
            removals {
                what_is_removed_is_gone_and_the_rest_stays
                b37_sequences_go_on_after_a_removal
                b37_an_id_stays_taken_after_a_removal
                a_removal_that_comes_too_late_is_none
                what_a_branch_points_to_is_not_removed
                earlier_runs_take_what_was_theirs_along
                the_last_removal_frees_what_is_left
                of_fifty_removals_at_once_one_happens
            }
            races {
                b88_fifty_concurrent_creates_give_one
                b36_fifty_executions_at_once_lose_nothing
                b81_snapshots_beside_appends_are_kept
                b36_fifty_appends_for_one_sequence_give_one
                b26_of_two_owners_one_proceeds
                b28_a_loser_never_appends_again
                a_refusal_disturbs_no_other
                two_claimers_never_share
                fifty_posts_with_one_key_give_one
                fifty_posts_keep_an_order
                b52_no_post_is_lost_to_a_close
                readers_never_see_half_a_transition
            }
        }
    };
    (@cases $open:expr; $($module:ident { $($case:ident)* })*) => {
        $($(
            #[test]
            fn $case() {
                $crate::conformance::run($open, $crate::conformance::$module::$case);
            }
        )*)*
    };
}

#[cfg(test)]
mod tests {
    /// A case that the macro does not name would never run.
    #[test]
    fn the_macro_names_every_case() {
        let kit = include_str!("mod.rs");
        let cases = [
            include_str!("branches.rs"),
            include_str!("creations.rs"),
            include_str!("early.rs"),
            include_str!("gates.rs"),
            include_str!("inbox.rs"),
            include_str!("lanes.rs"),
            include_str!("leases.rs"),
            include_str!("lists.rs"),
            include_str!("logs.rs"),
            include_str!("positions.rs"),
            include_str!("posts.rs"),
            include_str!("races.rs"),
            include_str!("removals.rs"),
            include_str!("runs.rs"),
            include_str!("snapshots.rs"),
        ];
        let mut count = 0;
        for line in cases.iter().flat_map(|file| file.lines()) {
            if let Some(rest) = line.strip_prefix("pub async fn ") {
                let name = rest.split('(').next().unwrap_or_default();
                assert!(kit.lines().any(|line| line.trim() == name), "`{name}` is not in the macro");
                count += 1;
            }
        }
        assert!(count > 100, "{count} cases");
    }

    /// What a store's author reads has every family of cases, and every report from the field that one is named after.
    #[test]
    fn the_page_tells_of_every_family() {
        let (kit, page) = (include_str!("mod.rs"), include_str!("README.md"));
        let lists = kit.split("{ @cases $open;").skip(1).filter_map(|rest| rest.split("};").next());
        for line in lists.flat_map(str::lines).map(str::trim).filter(|line| !line.is_empty() && *line != "}")
        {
            let told = match line.strip_suffix(" {") {
                Some(family) => format!("### `{family}`"),
                None => match line.split_once('_').filter(|(id, _)| is_report(id)) {
                    Some((id, _)) => format!("**{}**", id.to_uppercase()),
                    None => continue,
                },
            };
            assert!(page.contains(&told), "README.md does not tell of {told}, for `{line}`");
        }
    }

    fn is_report(id: &str) -> bool {
        id.strip_prefix('b').is_some_and(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()))
    }
}
