//! Two databases as one store, against the conformance kit.
//! Not the moving between them.

use loom_runtime::Memory;
use shards::Shards;

mod memory {
    use super::*;

    async fn open() -> Shards {
        let shards = Shards::open([("a", Memory::new()), ("b", Memory::new())]).await.expect("a fleet");
        shards.spread().await.expect("spread");
        shards
    }

    loom_runtime::store_conformance!(several async || open().await);
}
