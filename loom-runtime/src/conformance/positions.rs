//! What a store that is one database owes to positions: they grow over all of its inboxes.
//! Not the order within an inbox: that is owed by every store.
#![allow(missing_docs, reason = "a case is named after what it shows")]

use std::collections::BTreeSet;

use super::{Shared, fixture::*};
use crate::ports::{Append, InboxId, InboxItem, NewItem, Posted};

async fn kept(store: &Shared, name: &str, key: Option<&str>, payload: &str) -> InboxId {
    match store.post(NewItem { early: true, ..item(name, key, payload) }).await {
        Ok(Posted::Accepted(id)) => id,
        other => panic!("the item was not kept: {other:?}"),
    }
}

async fn pending(store: &Shared, name: &str) -> Vec<InboxItem> {
    store.pending(&id(name), 0).await.expect("pending")
}

pub async fn positions_of_early_items_grow_over_all(store: Shared) {
    Owner::create(&store, "here").await;
    let mut newest = 0;
    for round in 0..3 {
        let name = format!("e{round}");
        let ids = [
            kept(&store, &name, None, "1").await,
            post(&store, "here", None).await,
            kept(&store, &name, None, "2").await,
            kept(&store, "never", None, "3").await,
        ];
        Owner::create(&store, &name).await;
        let ids = [&ids[..], &[post(&store, &name, None).await]].concat();
        assert!(ids.is_sorted_by(|a, b| a < b) && ids[0] > newest, "{ids:?} after {newest}");
        newest = ids[4];
        let found: Vec<_> = pending(&store, &name).await.iter().map(|item| item.id).collect();
        assert_eq!(found, [ids[0], ids[2], ids[4]]);
    }
}

pub async fn positions_of_posts_grow_over_all(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    Owner::create(&store, "b").await;
    Owner::create(&store, "c").await;
    let before = post(&store, "b", None).await;
    let posts = ["b 1", "c 2", "b 3", "c 4", "b 5"].map(|text| item(&text[..1], None, text)).into();
    owner.send(&Append { posts, ..owner.batch(1) }).await.expect("accepted");
    let after = post(&store, "c", None).await;
    let mut items = [pending(&store, "b").await, pending(&store, "c").await].concat();
    items.sort_by_key(|item| item.id);
    let order: Vec<_> = items.iter().map(|item| item.payload.as_str()).collect();
    assert_eq!(order, ["1", "b 1", "c 2", "b 3", "c 4", "b 5", "1"]);
    assert_eq!((items[0].id, items[6].id), (before, after), "positions grow over all of them");
    assert_eq!(items.iter().map(|item| item.id).collect::<BTreeSet<_>>().len(), 7);
}
