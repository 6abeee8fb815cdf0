//! The three operations on animals (specification: "Endpoints").

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Body;

use crate::app::App;
use crate::error::ApiError;
use crate::query::ListQuery;
use crate::respond::Reply;
use crate::store::AnimalRow;
use crate::wire::{NewPet, write_pet};

/// Lists animals, the newest first: there is no second page, so a new animal must be on the first.
///
/// # Errors
///
/// 400 for a bad query; 5xx when the store fails.
pub fn list(app: &App, query: Option<&str>) -> Result<Reply, ApiError> {
    let ListQuery { limit, status } = ListQuery::parse(query)?;
    let mut body = Vec::with_capacity(2048);
    body.push(b'[');
    app.store.newest(status, limit, |pet| {
        if body.len() > 1 {
            body.push(b',');
        }
        write_pet(&mut body, pet);
    })?;
    body.push(b']');
    Ok(Reply::ok(body.into()))
}

/// Fetches one animal; `id` is `None` when the path held no int64.
///
/// # Errors
///
/// 404 if there is no such animal; 5xx when the store fails.
pub fn get(app: &App, id: Option<i64>) -> Result<Reply, ApiError> {
    let unknown = || ApiError::not_found("no animal has this identifier");
    let id = id.ok_or_else(unknown)?;
    if let Some(body) = app.bodies.get(id) {
        return Ok(Reply::ok(body));
    }
    let body = app.store.animal(id, render)?.ok_or_else(unknown)?;
    app.bodies.put(id, &body);
    Ok(Reply::ok(body))
}

/// Adds an animal, and answers once it would survive a power cut.
///
/// # Errors
///
/// 400, 408, 413 or 415 for a body that cannot be used; 5xx when the store fails.
pub async fn create<B>(app: &App, request: Request<B>) -> Result<Reply, ApiError>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
{
    let announced = announced_as_json(request.headers());
    if announced == Some(false) {
        return Err(ApiError::unsupported_media_type());
    }
    let body = read_body(app, request.into_body()).await?;
    if announced.is_none() && !body.is_empty() {
        return Err(ApiError::unsupported_media_type());
    }
    let pet = NewPet::parse(&body).map_err(ApiError::invalid_body)?;
    let (name, category_id, status) = (pet.name.clone(), pet.category_id, pet.status);
    let id = app.store.create(pet).await?;
    let body = render(AnimalRow { id, name: &name, category_id, status });
    app.bodies.put(id, &body);
    Ok(Reply { status: StatusCode::CREATED, body })
}

fn render(pet: AnimalRow<'_>) -> Bytes {
    let mut body = Vec::with_capacity(80 + pet.name.len());
    write_pet(&mut body, pet);
    body.into()
}

/// Whether the headers announce plain JSON; `None` if they announce nothing.
fn announced_as_json(headers: &HeaderMap) -> Option<bool> {
    let coded = headers.get_all(header::CONTENT_ENCODING).iter().any(|coding| coding != "identity");
    let mut types = headers.get_all(header::CONTENT_TYPE).iter();
    match (types.next(), types.next()) {
        _ if coded => Some(false),
        (None, _) => None,
        (Some(_), Some(_)) => Some(false),
        (Some(only), None) => {
            let essence = only.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
            Some(essence.eq_ignore_ascii_case("application/json"))
        }
    }
}

async fn read_body<B>(app: &App, body: B) -> Result<Bytes, ApiError>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
{
    let too_large = || ApiError::payload_too_large(app.limits.max_body);
    if body.size_hint().lower() > app.limits.max_body as u64 {
        return Err(too_large());
    }
    let reading = tokio::time::timeout(app.limits.request_timeout, Limited::new(body, app.limits.max_body).collect());
    match reading.await {
        Err(_elapsed) => Err(ApiError::request_timeout()),
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(_broken)) => {
            Err(ApiError::invalid_body("the body ended early or is not framed as HTTP asks".to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_json_is_announced_as_json() {
        let announced = |pairs: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.append(*name, http::HeaderValue::from_static(value));
            }
            announced_as_json(&headers)
        };
        assert_eq!(announced(&[]), None);
        for good in ["application/json", "Application/JSON", "application/json; charset=utf-8", "application/json;"] {
            assert_eq!(announced(&[("content-type", good)]), Some(true), "{good}");
        }
        for bad in
            ["", "text/plain", "application/jsonp", "application/vnd.api+json", "application/x-www-form-urlencoded"]
        {
            assert_eq!(announced(&[("content-type", bad)]), Some(false), "{bad}");
        }
        assert_eq!(
            announced(&[("content-type", "application/json"), ("content-type", "application/json")]),
            Some(false)
        );
        assert_eq!(announced(&[("content-type", "application/json"), ("content-encoding", "gzip")]), Some(false));
    }
}
