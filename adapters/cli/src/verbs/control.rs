//! `verdict`, `retry`, `cancel`: what people say about an execution that cannot help itself.
//! Not answers to gates: that is `resume`.

use loom_runtime::{FrameId, Status, kernel::machine};

use super::Verbs;
use crate::{
    args::{Cancel, Retry, Verdict, VerdictKind},
    error::CliError,
    exit::Exit,
    input,
};

impl Verbs<'_> {
    pub(super) async fn verdict(&mut self, args: Verdict) -> Result<Exit, CliError> {
        let (id, frame) = (self.execution(&args.execution)?, FrameId::parsed(&args.frame));
        let verdict = match (args.verdict, &args.result) {
            (VerdictKind::Done, Some(json)) => machine::Verdict::Done(input::argument("result", json)?),
            (VerdictKind::Done, None) => return Err(CliError::usage("`done` needs a `--result`")),
            (_, Some(_)) => return Err(CliError::usage("only `done` has a `--result`")),
            (VerdictKind::Again, None) => machine::Verdict::Again,
            (VerdictKind::GiveUp, None) => machine::Verdict::GiveUp,
        };
        let by = self.by(args.by);
        match args.attempt {
            Some(attempt) => self.app.judge_attempt(&id, &frame, attempt, verdict, &by).await?,
            None => self.app.judge(&id, &frame, verdict, &by).await?,
        }
        if args.detach.set {
            return self.hand_over(&id, &format!("verdict on {frame} of {id} given by {by}")).await;
        }
        Ok(self.run_on(&id).await?.0)
    }

    pub(super) async fn retry(&mut self, args: Retry) -> Result<Exit, CliError> {
        let id = self.execution(&args.execution)?;
        self.app.retry(&id).await?;
        if args.detach.set {
            return self.hand_over(&id, &format!("{id} is to be tried again")).await;
        }
        Ok(self.run_on(&id).await?.0)
    }

    pub(super) async fn cancel(&mut self, args: Cancel) -> Result<Exit, CliError> {
        let (id, by) = (self.execution(&args.execution)?, self.by(args.by));
        match args.force {
            true => self.app.kill(&id, &args.reason, &by).await?,
            false => self.app.cancel(&id, &args.reason, &by).await?,
        }
        if args.detach.set {
            return self.hand_over(&id, &format!("{id} is to be cancelled")).await;
        }
        // That it was cancelled is what was asked for.
        match self.run_on(&id).await? {
            (_, Status::Cancelled) => Ok(Exit::Done),
            (exit, _) => Ok(exit),
        }
    }
}
