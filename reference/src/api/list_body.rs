//! The body of a list. A short list is written at once. A long list is read and written piece by piece as the client takes it, so
//! that a client that does not read costs the memory of a piece and not of a list.
//!
//! The length of a long list is not announced: to know it, the whole list would have to be written, even for clients that
//! then read none of it. So the list is sent in chunks, and after a failure there is no last chunk.
//!
//! The pieces form the list of one moment, because an animal never changes and none is ever removed. If the whole catalogue is
//! replaced, a list that is being sent ends without its last chunk.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Bytes;
use axum::body::{Body, HttpBody};
use hyper::body::Frame;

use crate::api::app::App;
use crate::api::query::ListQuery;
use crate::store::{AnimalRow, StoreError};

/// The length in bytes from which on a piece is complete. A piece is longer by one animal at most.
const PIECE: usize = 32 * 1024;

/// Reads a list.
///
/// # Errors
///
/// [`StoreError`] when the database cannot be read.
pub(crate) fn read(app: &Arc<App>, query: ListQuery) -> Result<Body, StoreError> {
    let mut list = List::default();
    app.store.newest(query.status, query.limit, |pet| list.add(pet))?;
    Ok(list.into_body(app))
}

/// A list in the making.
#[derive(Default)]
struct List {
    piece: Vec<u8>,
    /// The animals that the piece has no room for.
    rest: Vec<i64>,
}

impl List {
    fn add(&mut self, pet: AnimalRow<'_>) {
        if self.rest.is_empty() && self.piece.len() < PIECE {
            if self.piece.is_empty() {
                self.piece.reserve(2048);
            }
            append(&mut self.piece, pet);
        } else {
            self.rest.push(pet.id);
        }
    }

    fn into_body(mut self, app: &Arc<App>) -> Body {
        if self.piece.is_empty() {
            return Body::from("[]");
        }
        self.piece[0] = b'[';
        if self.rest.is_empty() {
            self.piece.push(b']');
            return Body::from(self.piece);
        }
        Body::new(Pieces { app: Arc::clone(app), piece: Some(self.piece), rest: self.rest.into_iter() })
    }
}

/// Appends an animal after a comma. The comma before the first animal of a list is replaced by the opening bracket later.
fn append(out: &mut Vec<u8>, pet: AnimalRow<'_>) {
    out.push(b',');
    // Writing text to memory cannot fail.
    let _ = serde_json::to_writer(out, &pet);
}

/// The body of a long list.
struct Pieces {
    app: Arc<App>,
    /// The first piece, until it is taken.
    piece: Option<Vec<u8>>,
    /// The identifiers of the animals that are still to be read. The closing bracket follows the last animal.
    rest: std::vec::IntoIter<i64>,
}

impl Pieces {
    fn next_piece(&mut self) -> Result<Vec<u8>, StoreError> {
        if let Some(piece) = self.piece.take() {
            return Ok(piece);
        }
        let mut piece = Vec::with_capacity(PIECE);
        while piece.len() < PIECE
            && let Some(id) = self.rest.next()
        {
            let found = self.app.store.animal(id, |pet| append(&mut piece, pet))?;
            found.ok_or_else(|| StoreError::Failed(format!("animal {id} has disappeared")))?;
        }
        if self.is_end_stream() {
            piece.push(b']');
        }
        Ok(piece)
    }
}

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = StoreError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StoreError>>> {
        if self.is_end_stream() {
            return Poll::Ready(None);
        }
        // The status code is sent, so a failure can only break off the connection; the client sees that bytes are missing.
        let piece = self.next_piece().inspect_err(|error| tracing::error!(%error, "a list was cut off before its end"));
        Poll::Ready(Some(piece.map(|piece| Frame::data(piece.into()))))
    }

    fn is_end_stream(&self) -> bool {
        self.piece.is_none() && self.rest.as_slice().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::app::{AppOptions, RequestLimits};
    use crate::domain::clock::Clock;
    use crate::domain::rate_limit::BanPolicy;
    use crate::domain::wire::NewPet;
    use crate::store::{Location, Store};

    async fn app(names: impl Iterator<Item = usize>) -> Arc<App> {
        let store = Store::open(&Location::Scratch).expect("a store");
        for length in names {
            let pet = NewPet { name: "x".repeat(length), category_id: 1, status: None };
            store.create(pet).await.expect("an animal");
        }
        let options = AppOptions {
            base_path: String::new(),
            clock: Clock::frozen(600),
            ban: BanPolicy::default(),
            limits: RequestLimits::default(),
        };
        Arc::new(App::new(store, options))
    }

    /// The whole list as JSON, and the lengths of its pieces.
    async fn collect(mut body: Body) -> (serde_json::Value, Vec<usize>) {
        let (mut bytes, mut pieces) = (Vec::new(), Vec::new());
        while let Some(frame) = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            let piece = frame.expect("no error").into_data().expect("data");
            pieces.push(piece.len());
            bytes.extend_from_slice(&piece);
        }
        (serde_json::from_slice(&bytes).expect("JSON"), pieces)
    }

    #[tokio::test]
    async fn a_list_of_any_length_is_whole_and_comes_in_pieces_of_bounded_length() {
        for lengths in [vec![], vec![1], vec![PIECE], vec![1, PIECE], vec![PIECE, 1], vec![900; 100], vec![60_000; 20]]
        {
            let app = app(lengths.iter().copied()).await;
            let list = read(&app, ListQuery { limit: 100, status: None }).expect("a list");
            let (json, pieces) = collect(list).await;
            let names: Vec<usize> = json
                .as_array()
                .expect("an array")
                .iter()
                .map(|pet| pet["name"].as_str().expect("a name").len())
                .collect();
            assert_eq!(names, lengths.iter().rev().copied().collect::<Vec<_>>());
            assert!(pieces.iter().all(|length| *length < PIECE + 61_000), "{pieces:?}");
        }
    }

    #[tokio::test]
    async fn a_list_is_that_of_the_moment_of_its_request() {
        let app = app([60_000; 5].into_iter()).await;
        let list = read(&app, ListQuery { limit: 100, status: None }).expect("a list");
        let pet = NewPet { name: "later".to_owned(), category_id: 1, status: None };
        app.store.create(pet).await.expect("an animal");
        let (json, pieces) = collect(list).await;
        assert_eq!(json.as_array().map(Vec::len), Some(5));
        assert!(pieces.len() > 4, "{pieces:?}");
    }
}
