//! The Postgres store against the conformance kit, on a real server.
//! Not what is Postgres's own: outages and migrations are in the other tests.

use postgres::{Postgres, cluster::Cluster};

async fn open() -> Option<Postgres> {
    let cluster = Cluster::shared()?;
    Some(Postgres::options().schema(cluster.fresh()).connect(cluster.url()).await.expect("a store"))
}

loom_runtime::store_conformance!(async || open().await);
