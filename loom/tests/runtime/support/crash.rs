//! Crashes around every append: a program is killed before and after each of them, and another one finishes.
//! Not real processes: those are in `tests/processes`.

use futures_util::future::BoxFuture;
use loom::{App, ExecutionId, Registry};

use super::{Process, Rig, id};

/// Runs `live` (start it or take it up, and see it to its end) once for each append of it, crashing there, and again in
/// another program; then `check`. Answers how many crashes there were.
pub(crate) async fn around_every_append(
    rig: &Rig,
    registry: fn() -> Registry,
    live: fn(App, ExecutionId) -> BoxFuture<'static, ()>,
    mut check: impl AsyncFnMut(App, ExecutionId),
) -> usize {
    let mut crashes = 0;
    for after in [false, true] {
        for append in 0.. {
            let run = id(&format!("run-{append}-{after}"));
            let process = Process::start(rig, registry()).await;
            process.tap.stop_at(append, after);
            let (app, tap, of) = (process.app.clone(), process.tap.clone(), run.clone());
            process
                .run(async move {
                    tokio::select! {
                        biased;
                        () = tap.stopped() => {}
                        () = live(app, of) => {}
                    }
                })
                .await;
            let crashed = process.tap.is_frozen();
            process.kill();
            let app = rig.app(registry()).await;
            live(app.clone(), run.clone()).await;
            check(app.clone(), run).await;
            app.shutdown(std::time::Duration::from_secs(1)).await;
            if !crashed {
                break;
            }
            crashes += 1;
        }
    }
    crashes
}
