//! A program with a runtime of its own, that can be killed where it stands: its tasks are dropped, its leases stay.
//! Not a real process: those are in `tests/processes`.

use std::future::Future;

use loom::{App, AppBuilder, Registry};
use tokio::runtime::{Builder, Runtime};

use super::{Rig, Tap};

pub(crate) struct Process {
    runtime: Option<Runtime>,
    pub(crate) app: App,
    pub(crate) tap: Tap,
}

impl Process {
    pub(crate) async fn start(rig: &Rig, registry: Registry) -> Self {
        Self::start_with(rig, registry, Tap::default()).await
    }

    pub(crate) async fn start_with(rig: &Rig, registry: Registry, tap: Tap) -> Self {
        Self::start_building(rig, registry, tap, |builder| builder).await
    }

    /// With more that belongs to the program.
    pub(crate) async fn start_building(
        rig: &Rig,
        registry: Registry,
        tap: Tap,
        with: impl FnOnce(AppBuilder) -> AppBuilder + Send + 'static,
    ) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (rig, of) = (rig.clone(), tap.clone());
        let app = async move { with(rig.builder(registry, &of).await).build().unwrap() };
        let app = runtime.spawn(app).await.unwrap();
        Self { runtime: Some(runtime), app, tap }
    }

    /// Does something in it.
    pub(crate) async fn run<T: Send + 'static>(&self, f: impl Future<Output = T> + Send + 'static) -> T {
        self.runtime.as_ref().unwrap().spawn(f).await.unwrap()
    }

    /// Works in it.
    pub(crate) async fn work(&self) {
        let app = self.app.clone();
        self.run(async move { app.work() }).await;
    }

    /// It is gone: nothing is finished, nothing is handed back.
    pub(crate) fn kill(mut self) {
        self.tap.freeze(true); // also for what a thread is just about to write
        self.runtime.take().unwrap().shutdown_background();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
