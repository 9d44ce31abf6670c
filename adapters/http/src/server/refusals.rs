//! The app's typed refusals as problems of the wire.
//! Not advice for one interface: what a refusal says of itself has to do for all.

use loom_runtime::{
    AnswerError, BranchError, ControlError, ForkError, ProjectError, SendError, StartError, UpdateError,
    kernel::{InvalidId, InvalidPayload, ParkReport},
    ports::StoreError,
};

use crate::{Code, Problem};

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let code = match &error {
            StoreError::Unknown(_) => Code::UnknownExecution,
            StoreError::Terminal { .. } => Code::AlreadyEnded,
            StoreError::Archived { .. } => Code::Archived,
            StoreError::Corrupt(_) => Code::StoreDamaged,
            StoreError::Denied(_) | StoreError::Unavailable(_) => Code::StoreUnavailable,
            StoreError::BranchMoved { .. } => Code::BranchMoved,
            _ => Code::Contended,
        };
        Self::new(code, error.to_string())
    }
}

impl From<StartError> for Problem {
    fn from(error: StartError) -> Self {
        let code = match error {
            StartError::Store(error) => return error.into(),
            StartError::Conflict { .. } => Code::DuplicateStart,
            StartError::UnknownFlow { .. } => Code::UnknownFlow,
            StartError::InvalidId(_) => Code::InvalidId,
            StartError::Input { .. } => Code::InvalidPayload,
        };
        Self::new(code, error.to_string())
    }
}

impl From<AnswerError> for Problem {
    fn from(error: AnswerError) -> Self {
        let code = match error {
            AnswerError::Store(error) => return error.into(),
            AnswerError::Address(_) => Code::InvalidId,
            AnswerError::UnknownGate { .. } => Code::UnknownGate,
            AnswerError::Repetition { .. } => Code::GateRepetition,
            AnswerError::AlreadyAnswered(_) => Code::AlreadyAnswered,
            AnswerError::Closed { .. } => Code::GateClosed,
            AnswerError::Invalid { .. } => Code::InvalidPayload,
        };
        Self::new(code, error.to_string())
    }
}

impl From<ControlError> for Problem {
    fn from(error: ControlError) -> Self {
        let code = match error {
            ControlError::Store(error) => return error.into(),
            ControlError::NotParked { .. } => Code::NotParked,
            ControlError::NotInDoubt { .. } | ControlError::AnotherAttempt { .. } => Code::NotInDoubt,
            ControlError::AlreadyJudged { .. } => Code::AlreadyJudged,
            ControlError::Invalid { .. } => Code::InvalidPayload,
        };
        Self::new(code, error.to_string())
    }
}

impl From<SendError> for Problem {
    fn from(error: SendError) -> Self {
        let code = match error {
            SendError::Store(error) => return error.into(),
            SendError::Invalid { .. } | SendError::Misfit { .. } => Code::InvalidPayload,
            SendError::UnknownTopic { .. } => Code::UnknownTopic,
            SendError::KeyReused { .. } => Code::KeyReused,
        };
        Self::new(code, error.to_string())
    }
}

impl From<UpdateError> for Problem {
    fn from(error: UpdateError) -> Self {
        let code = match error {
            UpdateError::NotSent(error) => return error.into(),
            UpdateError::Rejected { .. } => Code::UpdateRejected,
            UpdateError::Ended { .. } => Code::UpdateNotTaken,
            UpdateError::Undecodable { .. } => Code::Unreadable,
        };
        Self::new(code, error.to_string())
    }
}

impl From<ProjectError> for Problem {
    fn from(error: ProjectError) -> Self {
        let code = match error {
            ProjectError::Store(error) => return error.into(),
            ProjectError::Unknown { .. } => Code::UnknownProjection,
            ProjectError::Fold(_) | ProjectError::Unserializable { .. } => Code::Unreadable,
        };
        Self::new(code, error.to_string())
    }
}

impl From<ForkError> for Problem {
    fn from(error: ForkError) -> Self {
        let code = match error {
            ForkError::Store(error) => return error.into(),
            ForkError::Unknown(_) => Code::UnknownExecution,
            ForkError::Archived { .. } => Code::Archived,
            ForkError::UnknownFrame { .. } => Code::UnknownFrame,
            ForkError::Conflict { .. } => Code::DuplicateStart,
            ForkError::UnknownFlow { .. } => Code::UnknownFlow,
            ForkError::InvalidId(_) => Code::InvalidId,
            _ => Code::InvalidFork,
        };
        Self::new(code, error.to_string())
    }
}

impl From<BranchError> for Problem {
    fn from(error: BranchError) -> Self {
        let code = match error {
            BranchError::Store(error) => return error.into(),
            BranchError::Name(_) => Code::InvalidBranch,
            BranchError::Unknown { .. } => Code::UnknownExecution,
            BranchError::Missing { .. } => Code::UnknownBranch,
            _ => Code::BranchMoved,
        };
        Self::new(code, error.to_string())
    }
}

impl From<InvalidId> for Problem {
    fn from(error: InvalidId) -> Self {
        Self::new(Code::InvalidId, error.to_string())
    }
}

impl From<InvalidPayload> for Problem {
    fn from(error: InvalidPayload) -> Self {
        Self::new(Code::Unreadable, format!("a stored value cannot be read: {error}"))
    }
}

impl From<ParkReport> for Problem {
    fn from(report: ParkReport) -> Self {
        let code = if report.wants.is_some() { Code::WaitingForCode } else { Code::Parked };
        let report = Some(Box::new(report));
        let detail = report.as_ref().map(|report| format!("parked, {report}")).unwrap_or_default();
        Self { report, ..Self::new(code, detail) }
    }
}

#[cfg(test)]
mod tests {
    use loom_runtime::kernel::Fault;

    use super::*;

    #[test]
    fn whoever_waits_for_code_is_told_apart() {
        let report = ParkReport::new(Fault::Divergence, "another step");
        let parked = Problem::from(report.clone());
        assert_eq!(parked.code, Code::Parked);
        let waits = Problem::from(ParkReport { wants: Some("81ee57".into()), ..report });
        assert_eq!(waits.code, Code::WaitingForCode);
        assert!(waits.detail.contains("another step") && waits.report.is_some(), "{waits}");
    }
}
