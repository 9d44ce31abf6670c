//! What a store owes to lists of executions: order, pages, filters.
//! Not full text, not analytics.
#![allow(missing_docs, reason = "a case is named after what it shows")]

use futures_util::future::join_all;
use kernel::Status;

use super::{Shared, fixture::*};
use crate::ports::{Lane, ListFilter, NewExecution, Turn};

async fn names(store: &Shared, filter: ListFilter) -> Vec<String> {
    let rows = store.list(&filter).await.expect("list");
    rows.iter().map(|row| row.id.to_string()).collect()
}

pub async fn pages_come_in_byte_order(store: Shared) {
    // Neither a language's order nor the order of creation.
    let sorted =
        ["!", "10", "9", "A", "B", "Z", "_", "a", "a-1", "a.1", "a0", "aB", "a~1", "b", "order-7", "~x"]
            .into_iter()
            .filter(|name| name.parse::<kernel::ExecutionId>().is_ok())
            .collect::<Vec<_>>();
    for name in sorted.iter().rev() {
        store.create(new(name)).await.expect("created");
    }
    assert_eq!(names(&store, ListFilter::default()).await, sorted);
    for limit in [1, 4, 100] {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let page = names(&store, ListFilter { after, limit, ..ListFilter::default() }).await;
            assert!(page.len() <= limit);
            assert!(all.len() <= sorted.len(), "the pages do not end: {all:?}");
            let Some(last) = page.last() else { break };
            after = Some(id(last));
            all.extend(page);
        }
        assert_eq!(all, sorted, "pages of {limit}");
    }
    let between = ListFilter { after: Some(id("a1")), limit: 1, ..ListFilter::default() };
    assert_eq!(names(&store, between).await, ["aB"], "after an id that does not exist");
}

pub async fn a_list_without_a_limit_is_whole(store: Shared) {
    let names: Vec<_> = (0..1_200).map(|n| format!("e{n:04}")).collect();
    let created = join_all(names.iter().map(|name| store.create(unowned(name, 7)))).await;
    assert!(created.iter().all(Result::is_ok), "{created:?}");
    assert_eq!(self::names(&store, ListFilter::default()).await, names);
}

pub async fn filters_combine(store: Shared) {
    for (n, status) in Status::ALL.into_iter().cycle().take(12).enumerate() {
        let flow = if n < 6 { "tea" } else { "Tea" };
        let mut owner =
            Owner::of(&store, NewExecution { flow: flow.into(), ..new(&format!("e{n:02}")) }).await;
        if status != Status::Running {
            owner.close(status, None, 0).await;
        }
    }
    let everything = ListFilter::default();
    assert_eq!(names(&store, everything.clone()).await.len(), 12);
    for (n, status) in Status::ALL.into_iter().enumerate() {
        let only = ListFilter { statuses: vec![status], ..everything.clone() };
        assert_eq!(names(&store, only.clone()).await, [format!("e{n:02}"), format!("e{:02}", n + 6)]);
        let tea = ListFilter { flow: Some("tea".into()), ..only.clone() };
        assert_eq!(names(&store, tea).await, [format!("e{n:02}")]);
        let after = ListFilter { after: Some(id(&format!("e{n:02}"))), ..only };
        assert_eq!(names(&store, after).await, [format!("e{:02}", n + 6)]);
    }
    let two = ListFilter { statuses: vec![Status::Parked, Status::Failed], limit: 3, ..everything.clone() };
    assert_eq!(names(&store, two).await, ["e02", "e04", "e08"]);
    let nothing = ListFilter { flow: Some("te".into()), ..everything };
    assert!(names(&store, nothing).await.is_empty());
}

pub async fn rows_follow_their_executions(store: Shared) {
    Owner::create(&store, "a").await.append(4).await;
    let turn = Turn { priority: 7, lane: Some(Lane::new("tenant").at_most(2)) };
    let turned = NewExecution { turn: turn.clone(), ..new("b") };
    Owner::of(&store, turned).await.close(Status::Suspended, Some(300), 0).await;
    let rows = store.list(&ListFilter::default()).await.expect("list");
    assert_eq!(rows, [row(&store, "a").await, row(&store, "b").await]);
    assert_eq!((rows[0].next, rows[1].wake_at, &rows[1].turn), (5, Some(at(300)), &turn));
}
