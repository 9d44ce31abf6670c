//! Fresh files for tests, in the build directory.
//! Not cleaned up after a failure: the file is then worth a look.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use sqlite::Sqlite;

/// A path that no other test of this run uses.
pub fn fresh() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("{}-{}.db", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // Process ids come again.
    for suffix in ["", "-wal", "-shm"] {
        let mut stale = path.clone().into_os_string();
        stale.push(suffix);
        let _ = std::fs::remove_file(stale);
    }
    path
}

/// The store in a file.
pub async fn open(path: &Path) -> Sqlite {
    Sqlite::open(path).await.expect("the file opens")
}
