//! Two databases as one store, against the conformance kit.
//! Not the moving between them.

mod fixture;

use loom_runtime::Memory;
use shards::Shards;

mod memory {
    use super::*;

    async fn open() -> Shards {
        fixture::spread([("a", Memory::new()), ("b", Memory::new())]).await
    }

    loom_runtime::store_conformance!(several async || open().await);
}

mod sqlite {
    use super::*;

    async fn open() -> Shards {
        fixture::spread(fixture::files().await).await
    }

    loom_runtime::store_conformance!(several async || open().await);
}

mod postgres {
    use super::*;

    async fn open() -> Option<Shards> {
        Some(fixture::spread(fixture::schemas().await?).await)
    }

    loom_runtime::store_conformance!(several async || open().await);
}
