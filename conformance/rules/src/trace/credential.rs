//! The credential of a request, classified.

/// With which credential a request comes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Credential {
    /// A valid key, in the described form; its index in the context.
    Valid(usize),
    /// A valid key in a form that HTTP allows and the specification does not show, such as `bearer`.
    Ambiguous,
    /// A valid key beside another credential. The request is malformed, so a server may go by either, or refuse it.
    Contradictory,
    /// A valid key, in the described form, while it may have been banned: whatever refuses it is lawful.
    Banned,
    /// Unknown: a recording withholds it, or the key may have been revoked by then. Whatever answers it is lawful.
    Withheld,
    /// No valid key.
    Invalid(Defect),
}

impl Credential {
    /// Whether there is beyond doubt no valid key.
    #[must_use]
    pub fn is_invalid(self) -> bool {
        matches!(self, Credential::Invalid(_))
    }

    /// Whether there are several. HTTP allows one `Authorization` field only (RFC 9110 section 5.3), so the request is malformed, and an
    /// edge that knows nothing of the service may refuse it as it likes.
    #[must_use]
    pub fn is_malformed(self) -> bool {
        matches!(self, Credential::Contradictory | Credential::Invalid(Defect::Repeated))
    }

    /// Whether a server may take it for a valid key or not.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Credential::Ambiguous | Credential::Contradictory)
    }
}

/// In which way a valid key is lacking.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Defect {
    /// There is no credential at all.
    Absent,
    /// There is one that nobody issued.
    Unknown,
    /// There is one that resembles a valid key.
    Inexact,
    /// A valid key was sent, but not as a bearer token in the header.
    NotBearer,
    /// There are several credentials, of which none is a valid key as a bearer token. The request is malformed as well.
    Repeated,
}
