//! The HTTP methods of routes.
//! Not every method that there is.

/// A method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Method {
    Get,
    Post,
    Put,
}

impl Method {
    /// As OpenAPI writes it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
            Self::Put => "put",
        }
    }

    /// Whether requests have a body.
    pub(super) const fn has_body(self) -> bool {
        !matches!(self, Self::Get)
    }
}
