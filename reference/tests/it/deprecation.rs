//! The end of one operation.

use crate::support::{Folder, eventually};

const LINK: &str = "</v1/pets?status=available>; rel=\"successor-version\"";

#[test]
fn the_operation_goes_away_while_the_server_runs() {
    let folder = Folder::new();
    let key = folder.issue(&["enterprise"]);
    let server = folder.serve(&["--now", "2030-12-04T23:59:58Z"]);
    let added = server.post(&key, r#"{"name":"last","categoryId":1}"#);
    assert_eq!(added.status, 201);
    let path = format!("/v1/pets/{}", added.json()["id"]);
    let gone = eventually("the operation is removed", || {
        let answer = server.ask("GET", &path, &key);
        if answer.status == 410 {
            return Some(answer);
        }
        assert_eq!((answer.status, answer.body.as_str()), (200, added.body.as_str()));
        assert_eq!(answer.header("sunset"), Some("Thu, 05 Dec 2030 00:00:00 GMT"));
        assert_eq!(answer.header("link"), Some(LINK));
        assert_eq!(answer.header("deprecation"), None);
        assert!(answer.header("date").is_some_and(|date| date.starts_with("Wed, 04 Dec 2030 23:59:5")), "{answer:?}");
        None
    });
    gone.assert_error(410);
    assert_eq!(gone.header("link"), Some(LINK));
    assert!(gone.header("date").is_some_and(|date| date.starts_with("Thu, 05 Dec 2030 00:00:0")), "{gone:?}");
    assert_eq!(server.ask("GET", "/v1/pets", &key).body, format!("[{}]", added.body), "the list still has it");
    assert_eq!(server.ask("GET", &path, "").status, 401);
}
