//! Requests that any server has to treat alike.

use crate::history::{Entry, History};
use crate::request::{CreateBody, Operation, PetId};

/// What two requests have in common that any server has to treat alike.
#[derive(Eq, PartialEq)]
pub(super) struct Likeness {
    method: String,
    what: String,
    credential: String,
}

impl Likeness {
    pub(super) fn of(history: &History<'_>, entry: &Entry<'_>) -> Likeness {
        let request = &entry.exchange.request;
        let what = match &entry.operation {
            Operation::Get(PetId::Int64(id)) => {
                format!("an animal, known: {}", history.known(*id, entry).is_some())
            }
            Operation::Create(CreateBody::Faulty(faults, _)) => format!("a creation with {faults:?}"),
            Operation::Create(CreateBody::NewPet(draft, ambiguities)) => {
                format!("a creation with the status {:?} and {ambiguities:?}", draft.status)
            }
            _ => request.target(),
        };
        Likeness { method: request.method.clone(), what, credential: format!("{:?}", entry.credential) }
    }
}
