//! The credential of a request, classified.

/// The credential of a request, or the lack of one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Credential {
    /// A valid key in the described form, with its index in the context.
    Valid(usize),
    /// A valid key in a form that HTTP allows and the specification does not show, such as `bearer`.
    Ambiguous,
    /// A valid key beside another credential. The request is malformed, so a server may go by either credential or refuse the request.
    Contradictory,
    /// A valid key in the described form that may have been banned, so that any refusal is lawful.
    Banned,
    /// An unknown credential: the recording withholds it, or the key may have been revoked. Any response is lawful.
    Withheld,
    /// No valid key.
    Invalid(Defect),
}

impl Credential {
    /// Returns true if the request certainly has no valid key.
    #[must_use]
    pub fn is_invalid(self) -> bool {
        matches!(self, Credential::Invalid(_))
    }

    /// Returns true if the request has several credentials. HTTP allows one `Authorization` field only (RFC 9110 section 5.3), so an
    /// intermediary that does not know the service may refuse the request with any status code.
    #[must_use]
    pub fn is_malformed(self) -> bool {
        matches!(self, Credential::Contradictory | Credential::Invalid(Defect::Repeated))
    }

    /// Returns true if a server is free to accept or to refuse the credential.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Credential::Ambiguous | Credential::Contradictory)
    }
}

/// The reason why a request has no valid key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Defect {
    /// There is no credential at all.
    Absent,
    /// The credential is no valid key and resembles none.
    Unknown,
    /// The credential resembles a valid key.
    Inexact,
    /// A valid key was sent, but not as a bearer token in the header.
    NotBearer,
    /// There are several credentials, and none is a valid key as a bearer token. The request is malformed as well.
    Repeated,
}
