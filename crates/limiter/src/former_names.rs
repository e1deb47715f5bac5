//! Former names of public methods, until every caller has the new ones.

use std::sync::Arc;

use crate::gate::{GateError, Inspection, ResetSubject};
use crate::telemetry::{DenialInterest, Series, SubjectDisplay, Telemetry, Top};

impl<S, C> crate::Gate<S, C> {
    #[doc(hidden)]
    pub fn observer(&self) -> Option<&Arc<Telemetry>> {
        self.telemetry()
    }
}

impl<S: slidegate_store::Store, C: crate::Clock> crate::Gate<S, C> {
    #[doc(hidden)]
    pub fn look<'a>(
        &'a self,
        rule: Option<&'a str>,
        request: &'a slidegate_policy::Request<'_>,
    ) -> impl Future<Output = Result<Vec<Inspection>, GateError<S::Error>>> {
        self.inspect(rule, request)
    }

    #[doc(hidden)]
    pub fn forget<'a>(
        &'a self,
        rule: Option<&'a str>,
        request: &'a slidegate_policy::Request<'_>,
    ) -> impl Future<Output = Result<Vec<ResetSubject>, GateError<S::Error>>> {
        self.reset(rule, request)
    }
}

impl Telemetry {
    #[doc(hidden)]
    pub fn hearing(&self) -> &Arc<DenialInterest> {
        self.interest()
    }

    #[doc(hidden)]
    pub fn lines(&self) -> Vec<Series> {
        self.series()
    }
}

impl Top {
    #[doc(hidden)]
    pub fn shown_by(self, display: Arc<SubjectDisplay>) -> Self {
        self.displayed_by(display)
    }
}
