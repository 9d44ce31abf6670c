//! `serve`: a worker that answers requests over HTTP as well, until somebody asks it to stop.
//! Not the service: that is `adapters/http`.

use std::{fs, path::Path, time::Instant};

use loom_http::{Config, ServeError, Server};
use serde_json::json;
use tokio::sync::oneshot;

use super::Verbs;
use crate::{args::Serve, error::CliError, exit::Exit};

impl Verbs<'_> {
    pub(super) async fn serve(&mut self, args: Serve) -> Result<Exit, CliError> {
        let grace = args.worker.grace;
        let config = Config::new().bind(args.http).grace(grace);
        let given =
            args.token_file.as_deref().map(token_in).transpose()?.or_else(|| self.console.token.clone());
        let config = if let Some(token) = given { config.token(token) } else { config };
        let server = Server::bind(self.app.clone(), config).await?;
        let mut seen = self.begin().await?;
        let (address, token) = (server.address(), server.token().map(str::to_owned));
        let made =
            token.as_ref().map(|token| format!("; the token of this run: {token}")).unwrap_or_default();
        let mut told = json!({"event": "listening", "address": address});
        // The one place where it is told: whoever has set one knows it.
        token.into_iter().for_each(|token| told["token"] = token.into());
        self.tell(&told, &format!("listening on http://{address}{made}"));

        let (stop, stopped) = oneshot::channel::<()>();
        let mut served = tokio::spawn(server.run_until(async { drop(stopped.await) }));
        let broken = async {
            match (&mut served).await {
                Ok(Err(error)) => error.into(),
                Ok(Ok(())) => CliError::refused("the server has stopped by itself"),
                Err(error) => CliError::refused(format!("the server broke off: {error}")),
            }
        };
        self.watch(&mut seen, broken).await?;
        self.stopping(grace);
        drop(stop);
        let began = Instant::now();
        tokio::select! {
            // What is still asked may take as long as a step.
            _ = &mut served => {}
            () = self.console.stop.asked() => return self.finish(&mut seen, std::time::Duration::ZERO).await,
        }
        self.finish(&mut seen, grace.saturating_sub(began.elapsed())).await
    }
}

/// What the file holds, without what an editor puts at its end.
fn token_in(file: &Path) -> Result<String, CliError> {
    let wrong = |what: String| CliError::usage(format!("the token's file `{}` {what}", file.display()));
    let text = fs::read_to_string(file).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    match text.trim() {
        "" => Err(wrong("is empty".into()).help(MAKE)),
        token => Ok(token.to_owned()),
    }
}

const MAKE: &str =
    "`openssl rand -hex 32` makes a token; keep it in a file for `--token-file`, or in LOOM_TOKEN";

impl From<ServeError> for CliError {
    fn from(error: ServeError) -> Self {
        match error {
            ServeError::Exposed { address } => {
                Self::usage(format!("{address} can be reached from outside, and there is no token"))
                    .help(MAKE)
                    .help("or listen on this machine alone: --http 127.0.0.1:7766")
            }
            ServeError::WeakToken { length, .. } => {
                Self::usage(format!("the token has {length} characters, expected 16 at least")).help(MAKE)
            }
            ServeError::Bind { address, reason } => {
                Self::refused(format!("{address} cannot be listened on: {reason}"))
                    .help("choose another with `--http`; port 0 takes any that is free")
            }
            error => Self::refused(error.to_string()),
        }
    }
}
