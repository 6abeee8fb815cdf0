//! The table of requests that the vectors are generated from.

use std::collections::{BTreeMap, HashSet};

use animal_store_rules::catalogue::figures::MAX_LIMIT;
use animal_store_rules::request::{
    Ambiguity, CreateBody, Credential, Existence, Expectation, ListQuery, Operation, Parameter, PetId, STATUSES, Shape,
    credential, operation,
};
use animal_store_rules::trace::Context;
use animal_store_rules::trace::exchange::Request;
use animal_store_rules::trace::keys::ApiKey;
use animal_store_rules::trace::knowledge::Extent;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};

use super::{KEY, Kind, Lawful, Sent, Step, Vector};

/// Bodies that must create an animal. `@` stands for a name of its own in each of them.
const VALID: [(&str, &str); 8] = [
    ("an available animal", r#"{"name":"@","categoryId":1,"status":"available"}"#),
    ("a pending animal", r#"{"name":"@","categoryId":1,"status":"pending"}"#),
    ("a sold animal", r#"{"name":"@","categoryId":1,"status":"sold"}"#),
    ("an animal without a status", r#"{"name":"@","categoryId":1}"#),
    ("members in another order", r#"{"status":"sold","categoryId":1,"name":"@"}"#),
    ("an escape in the name of a member", r#"{"n\u0061me":"@","categoryId":1}"#),
    ("a line break in front", "\r\n\t{\"name\":\"@\",\"categoryId\":1}"),
    ("white space and an escaped letter", "{\n  \"name\" : \"@\\u0061\",\n  \"categoryId\" : 1\n}\n"),
];

/// Bodies that may be refused. An animal that is created all the same must be as it was sent.
const ACCEPTABLE: [(&str, &str); 36] = [
    ("the largest category", r#"{"name":"@","categoryId":9223372036854775807}"#),
    ("the smallest category", r#"{"name":"@","categoryId":-9223372036854775808,"status":"sold"}"#),
    ("a category that no double can hold", r#"{"name":"@","categoryId":-9007199254740993,"status":"sold"}"#),
    ("the category 0", r#"{"name":"@","categoryId":0,"status":"sold"}"#),
    ("a category with a fraction of 0", r#"{"name":"@","categoryId":1.0}"#),
    ("a category with an exponent", r#"{"name":"@","categoryId":1e0,"status":"sold"}"#),
    ("a null status", r#"{"name":"@","categoryId":1,"status":null}"#),
    ("an unknown member", r#"{"name":"@","categoryId":1,"status":"sold","colour":"grey"}"#),
    ("an id", r#"{"name":"@","categoryId":1,"status":"sold","id":4711}"#),
    ("a repeated member", r#"{"name":"@","name":"@","categoryId":1}"#),
    ("an empty name", r#"{"name":"","categoryId":1}"#),
    ("a name of digits", r#"{"name":"4711","categoryId":1}"#),
    ("a name of digits with noughts in front", r#"{"name":"0042","categoryId":1}"#),
    ("a name that is a number", r#"{"name":"4.20","categoryId":1}"#),
    ("a name with an exponent", r#"{"name":"7e2","categoryId":1}"#),
    ("a name that is a date", r#"{"name":"2026-06-01","categoryId":1}"#),
    ("a name that every object of JavaScript has", r#"{"name":"constructor","categoryId":1}"#),
    ("a name of 300 characters", r#"{"name":"@LONG","categoryId":1}"#),
    ("a name of 1,100 characters", r#"{"name":"@LONGEST","categoryId":1}"#),
    ("a name with a reference to a character", r#"{"name":"@ &amp; &lt;","categoryId":1}"#),
    ("a name with marks of formats", r#"{"name":"@ $$ %% ?","categoryId":1}"#),
    ("a name from right to left", r#"{"name":"@ שלום","categoryId":1}"#),
    ("a status twice", r#"{"name":"@","categoryId":1,"status":"sold","status":"sold"}"#),
    ("a name in several scripts", r#"{"name":"@ Zoë Ωμ Жук 猫","categoryId":1,"status":"sold"}"#),
    ("a name beyond the basic plane", r#"{"name":"@ \ud83d\udc22 🐢","categoryId":1}"#),
    ("a name with one accent", r#"{"name":"@é","categoryId":1}"#),
    (
        "a name with marks of other languages",
        r#"{"name":"o'neil's  \"old\" cat+dog, 100%41; a\\b\/c <&> #1? {{n}} ${n} @ x-42 7","categoryId":1,"status":"available"}"#,
    ),
    ("a name with a zero character", r#"{"name":"@\u0000 and more","categoryId":1,"status":"sold"}"#),
    ("half of a surrogate pair", r#"{"name":"@ \ud800","categoryId":1}"#),
    ("a byte order mark", "\u{feff}{\"name\":\"@\",\"categoryId\":1}"),
    ("a comment", r#"{"name":"@","categoryId":1/* one */}"#),
    ("a comma after the last member", r#"{"name":"@","categoryId":1,}"#),
    ("a category with noughts in front", r#"{"name":"@","categoryId":001}"#),
    ("a category with a plus sign", r#"{"name":"@","categoryId":+1}"#),
    ("a raw tab in a name", "{\"name\":\"@\ta\",\"categoryId\":1}"),
    ("1,000 levels of nesting", r#"{"name":"@","categoryId":1,"colour":NESTING}"#),
];

/// Bodies that must be refused.
const INVALID: [(&str, &str); 56] = [
    ("no name", r#"{"categoryId":1}"#),
    ("no category", r#"{"name":"@"}"#),
    ("no member", "{}"),
    ("a name that is null", r#"{"name":null,"categoryId":1,"status":"available"}"#),
    ("a name that is a number", r#"{"name":12345,"categoryId":1}"#),
    ("a name that is an array", r#"{"name":["@"],"categoryId":1,"status":"sold"}"#),
    ("a name that is an object", r#"{"name":{"first":"@"},"categoryId":1}"#),
    ("a name that is true", r#"{"name":true,"categoryId":1}"#),
    ("a category that is null", r#"{"name":"@","categoryId":null}"#),
    ("a category that is true", r#"{"name":"@","categoryId":true}"#),
    ("a category in a string", r#"{"name":"@","categoryId":"1"}"#),
    ("a category that is a word", r#"{"name":"@","categoryId":"one","status":"pending"}"#),
    ("a category that is an empty string", r#"{"name":"@","categoryId":""}"#),
    ("a category in an array", r#"{"name":"@","categoryId":[1]}"#),
    ("a category with a fraction", r#"{"name":"@","categoryId":1.5}"#),
    ("a category over int64", r#"{"name":"@","categoryId":9223372036854775808}"#),
    ("a category under int64", r#"{"name":"@","categoryId":-9223372036854775809}"#),
    ("a category far over int64", r#"{"name":"@","categoryId":1e300}"#),
    ("a category of 1,000 digits", r#"{"name":"@","categoryId":DIGITS}"#),
    ("a category that is false", r#"{"name":"@","categoryId":false}"#),
    ("a category in an object", r#"{"name":"@","categoryId":{"id":1}}"#),
    ("a category named as in SQL", r#"{"name":"@","category_id":1}"#),
    ("a category with another capital", r#"{"name":"@","categoryID":1}"#),
    ("a category that is NaN", r#"{"name":"@","categoryId":NaN}"#),
    ("an unknown status", r#"{"name":"@","categoryId":1,"status":"lost"}"#),
    ("a status with a capital", r#"{"name":"@","categoryId":1,"status":"Available"}"#),
    ("a status in capitals", r#"{"name":"@","categoryId":1,"status":"SOLD"}"#),
    ("an empty status", r#"{"name":"@","categoryId":1,"status":""}"#),
    ("a status with a space", r#"{"name":"@","categoryId":1,"status":"sold "}"#),
    ("a status with a line break", r#"{"name":"@","categoryId":1,"status":"sold\n"}"#),
    ("a status that is a number", r#"{"name":"@","categoryId":1,"status":0}"#),
    ("a status that is true", r#"{"name":"@","categoryId":1,"status":true}"#),
    ("a status in an array", r#"{"name":"@","categoryId":1,"status":["sold"]}"#),
    ("a status in an object", r#"{"name":"@","categoryId":1,"status":{"sold":null}}"#),
    ("a status that every object of JavaScript has", r#"{"name":"@","categoryId":1,"status":"constructor"}"#),
    ("a status that is a method", r#"{"name":"@","categoryId":1,"status":"toString"}"#),
    ("an animal in another object", r#"{"pet":{"name":"@","categoryId":1}}"#),
    ("a status and no name", r#"{"categoryId":1,"status":"sold"}"#),
    ("members in another case", r#"{"Name":"@","CategoryId":1}"#),
    ("no body", ""),
    ("a space", " "),
    ("null", "null"),
    ("true", "true"),
    ("a number", "0"),
    ("a string", "\"name\""),
    ("an empty array", "[]"),
    ("an array of animals", r#"[{"name":"@","categoryId":1}]"#),
    ("the values in an array", r#"["@",1,"sold"]"#),
    ("a form", "name=Rex&categoryId=1"),
    ("no last brace", r#"{"name":"@","categoryId":1"#),
    ("a brace alone", "{"),
    ("a body that is cut", r#"{"name":"@"#),
    ("text after the JSON", r#"{"name":"@","categoryId":1} x"#),
    ("two JSON texts", r#"{"name":"@","categoryId":1}{"name":"@","categoryId":1}"#),
    ("a comma in front", r#",{"name":"@","categoryId":1}"#),
    ("two commas", r#"{"name":"@",,"categoryId":1}"#),
];

/// The first of them, with what is wrong in each, are followed by a list that shows that nothing was stored.
const STORE_NOTHING: [&str; 3] = ["no category", "a category in a string", "an unknown status"];

/// Queries of lists.
const QUERIES: [&str; 22] = [
    "",
    "limit=1",
    "limit=2",
    "limit=20",
    "limit=99",
    "limit=100",
    "limit=3&status=available",
    "status=sold&limit=100",
    "limit=0",
    "limit=-1",
    "limit=101",
    "limit=1000",
    "limit=4294967297",
    "limit=99999999999999999999",
    "limit=1.5",
    "limit=ten",
    "limit=",
    "status=lost",
    "status=SOLD",
    "status=",
    "status=sold,pending",
    "colour=grey",
];

/// What stands in the place of an id.
const IDS: [&str; 17] = [
    "9223372036854775807",
    "-9223372036854775808",
    "4611686018427387904",
    "-4611686018427387905",
    "9223372036854775808",
    "-9223372036854775809",
    "99999999999999999999",
    "18446744073709551617",
    "abc",
    "not-a-number",
    "1.5",
    "1e3",
    "0x1",
    "null",
    "NaN",
    "true",
    "1abc",
];

/// Values of `Authorization` that are no valid key, with what is wrong in each.
const CREDENTIALS: [(&str, &str); 33] = [
    ("an unknown key", "Bearer unknown-key-7"),
    (
        "a long unknown key",
        "Bearer unknown-key-and-longer-than-others-and-longer-than-others-and-longer-than-others-and-longer",
    ),
    ("the scheme alone", "Bearer"),
    ("an empty field", ""),
    ("null for a key", "Bearer null"),
    ("undefined for a key", "Bearer undefined"),
    ("a wildcard", "Bearer %"),
    ("the key and a letter more", "Bearer Vector-Key-1x"),
    ("the key and a digit more", "Bearer Vector-Key-10"),
    ("a letter and the key", "Bearer xVector-Key-1"),
    ("the key without its last letter", "Bearer Vector-Key-"),
    ("the first half of the key", "Bearer Vector"),
    ("the key without its first letter", "Bearer ector-Key-1"),
    ("another last letter", "Bearer Vector-Key-2"),
    ("the case of each letter inverted", "Bearer vECTOR-kEY-1"),
    ("the key in lower case", "Bearer vector-key-1"),
    ("the key in upper case", "Bearer VECTOR-KEY-1"),
    ("the key twice", "Bearer Vector-Key-1Vector-Key-1"),
    ("the key and a fragment", "Bearer Vector-Key-1#x"),
    ("the key and a password", "Bearer Vector-Key-1:x"),
    ("the key and a second value", "Bearer Vector-Key-1,x"),
    ("the key and padding", "Bearer Vector-Key-1="),
    ("the key in quotation marks", "Bearer \"Vector-Key-1\""),
    ("the key and a word more", "Bearer Vector-Key-1 more"),
    ("the scheme twice", "Bearer Bearer Vector-Key-1"),
    ("the key without a scheme", "Vector-Key-1"),
    ("no space before the key", "BearerVector-Key-1"),
    ("a colon before the key", "Bearer:Vector-Key-1"),
    ("the scheme Token", "Token Vector-Key-1"),
    ("the scheme ApiKey", "ApiKey Vector-Key-1"),
    ("the scheme Basic and the bare key", "Basic Vector-Key-1"),
    ("the key as a user under Basic", "Basic VmVjdG9yLUtleS0xOg=="),
    ("the key as user and password under Basic", "Basic VmVjdG9yLUtleS0xOlZlY3Rvci1LZXktMQ=="),
];

/// Fields other than `Authorization`, and queries, that hold the key.
const ELSEWHERE: [(&str, &str); 9] = [
    ("X-API-Key", "Vector-Key-1"),
    ("Api-Key", "Vector-Key-1"),
    ("X-Auth-Token", "Vector-Key-1"),
    ("X-Access-Token", "Vector-Key-1"),
    ("Proxy-Authorization", "Bearer Vector-Key-1"),
    ("Cookie", "api_key=Vector-Key-1; token=Vector-Key-1; access_token=Vector-Key-1"),
    ("?", "api_key=Vector-Key-1"),
    ("?", "access_token=Vector-Key-1&token=Vector-Key-1"),
    ("?", "key=Vector-Key-1&apikey=Vector-Key-1&apiKey=Vector-Key-1"),
];

/// Requests that nothing but 401 can answer without a key, although something else is wrong with them.
const INVALID_READS: [&str; 6] = [
    "/pets?status=lost",
    "/pets?limit=0",
    "/pets?limit=101",
    "/pets?limit=ten",
    "/pets/9223372036854775807",
    "/pets/not-a-number",
];

const INVALID_BODIES: [&str; 6] = [
    "",
    "{",
    "null",
    r#"{"categoryId":1}"#,
    r#"{"name":"@","categoryId":"x"}"#,
    r#"{"name":"@","categoryId":1,"status":"lost"}"#,
];

/// More animals than the default limit, and than some stores keep.
const MANY: usize = 26;

/// Every file of vectors, by its name.
pub(super) fn table() -> Vec<(&'static str, Vec<Vector>)> {
    let mut maker = Maker { names: 0 };
    vec![
        ("empty-store.json", maker.empty_store()),
        ("creations-valid.json", maker.creations(&VALID)),
        ("creations-acceptable.json", maker.acceptable()),
        ("creations-invalid.json", maker.invalid()),
        ("lists.json", maker.lists()),
        ("fetches.json", maker.fetches()),
        ("credentials.json", maker.credentials()),
        ("sequences.json", maker.sequences()),
    ]
}

fn get(target: &str) -> Request {
    match target.split_once('?') {
        Some((path, query)) => Request::new("GET", path).query(query),
        None => Request::new("GET", target),
    }
}

fn post(body: impl Into<Vec<u8>>) -> Request {
    Request::new("POST", "/pets").json(body)
}

fn keyed(request: Request) -> Request {
    request.authorization(format!("Bearer {KEY}"))
}

/// Fetches the animal of the first exchange.
fn fetch() -> Step {
    let mut step = Step::of(&keyed(get("/pets/{1}")), Some(Existence::Certain), &HashSet::new());
    step.lawful.iter_mut().for_each(|lawful| lawful.same_as = Some(1));
    step
}

/// A list of up to 100 animals.
fn list(change: impl Fn(&mut Lawful)) -> Step {
    query("limit=100", change)
}

fn query(query: &str, change: impl Fn(&mut Lawful)) -> Step {
    let mut step = Step::of(&keyed(get("/pets").query(query)), None, &HashSet::new());
    step.lawful.iter_mut().filter(|lawful| lawful.body == Kind::Pets).for_each(change);
    step
}

/// Makes vectors, each with names of its own.
struct Maker {
    names: usize,
}

impl Maker {
    /// A new name; it is plain, as no store could refuse it.
    fn name(&mut self) -> String {
        self.names += 1;
        format!("Rex {}", self.names)
    }

    /// A body with a new name.
    fn filled(&mut self, template: &str) -> String {
        let long = |length: usize| " and so on".repeat(length / 10);
        let template = template.replace("LONGEST", &long(1_100)).replace("LONG", &long(300));
        let nesting = format!("{}{}", "[".repeat(1_000), "]".repeat(1_000));
        let template = template.replace("NESTING", &nesting).replace("DIGITS", &"9".repeat(1_000));
        if template.contains('@') { template.replace('@', &self.name()) } else { template }
    }

    /// A creation that must succeed.
    fn creation(&mut self, status: &str) -> Step {
        let body = json!({"name": self.name(), "categoryId": 1, "status": status}).to_string();
        Step::of(&keyed(post(body)), None, &HashSet::new())
    }

    /// A vector for each body: it is created, or refused, and then fetched and listed.
    fn creations(&mut self, rows: &[(&str, &str)]) -> Vec<Vector> {
        let mut vectors = Vec::new();
        for (about, template) in rows {
            let created = Step::of(&keyed(post(self.filled(template))), None, &HashSet::new());
            vectors.push(Vector::new(about, vec![created, fetch(), list(|list| list.includes = vec![1, 2])]));
        }
        vectors
    }

    fn acceptable(&mut self) -> Vec<Vector> {
        let mut vectors = self.creations(&ACCEPTABLE);
        for media_type in ["text/plain", "application/x-www-form-urlencoded"] {
            let body = self.filled(r#"{"name":"@","categoryId":1}"#);
            let request = Request::new("POST", "/pets").body(media_type, body);
            let step = Step::of(&keyed(request), None, &HashSet::new());
            vectors.push(Vector::new(&format!("JSON labelled {media_type}"), vec![step]));
        }
        vectors
    }

    /// What is sent before anything else.
    fn empty_store(&mut self) -> Vec<Vector> {
        let by_status = || STATUSES.map(|status| query(&format!("status={status}"), |_| {}));
        let mut steps = vec![Step::of(&keyed(get("/pets")), None, &HashSet::new())];
        steps.extend(by_status());
        steps.push(self.creation("available"));
        steps.extend(by_status());
        vec![Vector::new("lists before and after the first animal", steps)]
    }

    fn invalid(&mut self) -> Vec<Vector> {
        let mut vectors = Vec::new();
        for (about, template) in INVALID {
            let body = self.filled(template);
            let mut steps = vec![Step::of(&keyed(post(body)), None, &HashSet::new())];
            if STORE_NOTHING.contains(&about) {
                let name = format!("Rex {}", self.names);
                steps.push(list(|list| list.excludes = vec![name.clone()]));
            }
            vectors.push(Vector::new(about, steps));
        }
        let latin = b"{\"name\":\"Zo\xeb\",\"categoryId\":1}";
        let steps = vec![Step::of(&keyed(post(latin.as_slice())), None, &HashSet::new())];
        vectors.push(Vector::new("a body that is not UTF-8", steps));
        vectors
    }

    fn lists(&mut self) -> Vec<Vector> {
        let mut vectors = Vec::new();
        for status in STATUSES {
            let other = STATUSES.into_iter().find(|other| *other != status).expect("three of them");
            let steps = vec![
                self.creation(status),
                self.creation(other),
                self.creation(status),
                query(&format!("status={status}&limit=100"), |list| list.includes = vec![1, 3]),
                query(&format!("status={status}&limit=1"), |list| list.at_least = Some(1)),
            ];
            vectors.push(Vector::new(&format!("those that are {status}"), steps));
        }
        let mut steps = vec![self.creation("pending")];
        steps.extend((1..MANY).map(|_| self.creation("sold")));
        steps.push(query("status=pending&limit=100", |list| list.includes = vec![1]));
        for (text, count) in [
            ("", 20),
            ("status=sold", 20),
            ("limit=1", 1),
            ("limit=2", 2),
            ("limit=15", 15),
            ("limit=23", 23),
            ("limit=3&status=sold", 3),
        ] {
            let list = if text.is_empty() { get("/pets") } else { get("/pets").query(text) };
            let mut step = Step::of(&keyed(list), None, &HashSet::new());
            step.lawful.iter_mut().for_each(|lawful| lawful.at_least = Some(count));
            steps.push(step);
        }
        steps.push(list(|list| list.includes = (1..=MANY).collect()));
        let body = json!({"name": self.name(), "categoryId": 1}).to_string();
        steps.push(Step::of(&keyed(post(body)), None, &HashSet::new()));
        vectors.push(Vector::new("more animals than the default limit", steps));
        for text in QUERIES {
            let about = if text.is_empty() { "no query" } else { text };
            let list = if text.is_empty() { get("/pets") } else { get("/pets").query(text) };
            vectors.push(Vector::new(about, vec![Step::of(&keyed(list), None, &HashSet::new())]));
        }
        vectors
    }

    fn fetches(&mut self) -> Vec<Vector> {
        let of_id = |id: &&str| {
            let step = Step::of(&keyed(get(&format!("/pets/{id}"))), Some(Existence::Unknown), &HashSet::new());
            Vector::new(id, vec![step])
        };
        let mut vectors: Vec<Vector> = IDS.iter().map(of_id).collect();
        for suffix in ["abc", ".5", "-"] {
            let mut step = Step::of(&keyed(get(&format!("/pets/1{suffix}"))), None, &HashSet::new());
            step.request.target = format!("/pets/{{1}}{suffix}");
            vectors.push(Vector::new(&format!("an id and {suffix}"), vec![self.creation("pending"), step]));
        }
        vectors.push(Vector::new("orders", vec![Step::of(&keyed(get("/store/orders")), None, &HashSet::new())]));
        vectors
    }

    /// One request for each operation.
    fn operations(&mut self) -> [Request; 4] {
        let body = json!({"name": self.name(), "categoryId": 1, "status": "sold"});
        [get("/pets"), get("/pets/1"), get("/store/orders"), post(body.to_string())]
    }

    fn credentials(&mut self) -> Vec<Vector> {
        let none = HashSet::new();
        let nothing_stored = |name: String| list(|list| list.excludes = vec![name.clone()]);
        let mut vectors = Vec::new();
        let mut add = |maker: &mut Maker, about: &str, requests: Vec<Request>| {
            let mut steps: Vec<Step> = requests.iter().map(|request| Step::of(request, None, &none)).collect();
            steps.push(nothing_stored(format!("Rex {}", maker.names)));
            vectors.push(Vector::new(about, steps));
        };
        let requests = self.operations();
        add(self, "no credential", requests.to_vec());
        for (about, value) in CREDENTIALS {
            let requests = self.operations().map(|request| request.authorization(value));
            add(self, about, requests.to_vec());
        }
        for (name, value) in ELSEWHERE {
            let requests = self.operations().map(|request| match name {
                "?" => request.query(value),
                name => request.header(name, value),
            });
            let place = if name == "?" { value.split('=').next().unwrap_or(value) } else { name };
            add(self, &format!("the key in {place} instead"), requests.to_vec());
        }
        let name = self.name();
        let members = json!({"name": name, "categoryId": 1, "api_key": KEY, "access_token": KEY});
        add(self, "the key in the body instead", vec![post(members.to_string())]);
        let reads = INVALID_READS.map(get);
        let bodies = INVALID_BODIES.map(|template| post(self.filled(template)));
        let name = self.name();
        let labelled = post(json!({"name": name, "categoryId": 1}).to_string());
        let labelled = ["text/plain", "application/x-www-form-urlencoded"].map(|media_type| {
            let mut labelled = labelled.clone();
            labelled.body.as_mut().expect("a body").content_type = media_type.to_owned();
            labelled
        });
        let all: Vec<Request> = reads.into_iter().chain(bodies).chain(labelled).collect();
        add(self, "invalid requests without a credential", all.clone());
        let unknown = |request: Request| request.authorization("Bearer unknown-key-7");
        add(self, "invalid requests with an unknown key", all.into_iter().map(unknown).collect());
        let lower = Step::of(&get("/pets").authorization(format!("bearer {KEY}")), None, &none);
        vectors.push(Vector::new("the scheme in lower case", vec![lower]));
        vectors
    }

    fn sequences(&mut self) -> Vec<Vector> {
        let without_key = |target: &str| Step::of(&get(target), None, &HashSet::new());
        let lists = || query("limit=7", |_| {});
        let mut fetch_without_key = without_key("/pets/1");
        fetch_without_key.request.target = "/pets/{1}".to_owned();
        let body = json!({"name": self.name(), "categoryId": 1, "status": "sold"}).to_string();
        let name: String = format!("Rex {}", self.names);
        let again = Step::of(&keyed(post(body.clone())), None, &HashSet::from([name]));
        let first = Step::of(&keyed(post(body)), None, &HashSet::new());
        vec![
            Vector::new(
                "the same list without and with a key",
                vec![without_key("/pets?limit=7"), lists(), without_key("/pets?limit=7"), lists()],
            ),
            Vector::new(
                "the same animal with and without a key",
                vec![self.creation("sold"), fetch(), fetch_without_key, fetch()],
            ),
            Vector::new("the same body twice", vec![first, again, list(|list| list.includes = vec![1, 2])]),
            Vector::new(
                "the same after an animal was added",
                vec![
                    query("status=pending&limit=100", |_| {}),
                    self.creation("pending"),
                    query("status=pending&limit=100", |list| list.includes = vec![2]),
                ],
            ),
        ]
    }
}

impl Vector {
    fn new(about: &str, exchanges: Vec<Step>) -> Vector {
        Vector { about: about.to_owned(), exchanges }
    }
}

impl Step {
    /// A request and the lawful responses to it, where these names were sent before.
    fn of(request: &Request, existence: Option<Existence>, names: &HashSet<String>) -> Step {
        let mut context = Context::new(Extent::Run, "http://localhost/v1");
        context.keys = vec![ApiKey::new(KEY).expect("a usable key")].into();
        let (called, credential) = (operation(request, None, &context, names), credential(request, &context));
        let mut expectation = Expectation::of(&called, credential);
        if request.path == "/pets/{1}" && !credential.is_invalid() {
            expectation = Expectation::of(&Operation::Get(PetId::Int64(1)), credential);
        }
        if let Some(existence) = existence {
            let id = request.path.rsplit('/').next().and_then(|id| id.parse().ok()).unwrap_or(1);
            expectation = expectation.given(id, existence);
        }
        Step { request: Sent::of(request), lawful: lawful(expectation, &called, credential) }
    }
}

impl Sent {
    fn of(request: &Request) -> Sent {
        let mut headers: BTreeMap<String, String> = request.headers.iter().cloned().collect();
        headers.extend(request.authorization.clone().map(|value| ("Authorization".to_owned(), value)));
        headers.extend(request.body.as_ref().map(|body| ("Content-Type".to_owned(), body.content_type.clone())));
        let bytes = request.body.as_ref().map(|body| body.bytes.clone());
        let body = bytes.clone().and_then(|bytes| String::from_utf8(bytes).ok());
        let body_base64 = bytes.filter(|_| body.is_none()).map(|bytes| BASE64_STANDARD.encode(bytes));
        Sent { method: request.method.clone(), target: request.target(), headers, body, body_base64 }
    }
}

/// The lawful responses: those with a body of one kind each, with the ranges of their statuses.
fn lawful(expectation: Expectation, called: &Operation, credential: Credential) -> Vec<Lawful> {
    let mut statuses: BTreeMap<Kind, Vec<u16>> = BTreeMap::new();
    for status in 200..600 {
        // A valid key is accepted, and whether it may be limited depends on other requests.
        let is_for_the_key = matches!(credential, Credential::Valid(_)) && matches!(status, 401 | 429);
        if let Some(kind) = kind_of(expectation, status, credential).filter(|_| !is_for_the_key) {
            statuses.entry(kind).or_default().push(status);
        }
    }
    let of_kind = |(body, statuses): (Kind, Vec<u16>)| {
        let mut lawful = Lawful { status: ranges(&statuses), body, ..Lawful::default() };
        match (body, called) {
            (Kind::Pet, Operation::Create(body)) => lawful.equal = members(body),
            (Kind::Pets, Operation::List(query)) => bound(&mut lawful, query),
            _ => {}
        }
        lawful
    };
    statuses.into_iter().map(of_kind).collect()
}

/// What the body of a lawful response with this status is; none if the status is not lawful.
fn kind_of(expectation: Expectation, status: u16, credential: Credential) -> Option<Kind> {
    if !expectation.admits(status) {
        return None;
    }
    let shapes = [(Shape::Pet, Kind::Pet), (Shape::Pets, Kind::Pets)];
    let success = shapes.into_iter().find(|(shape, _)| {
        expectation.admits_answer(status, *shape) && !expectation.admits_answer(status, Shape::Other)
    });
    // The statuses of the table of errors have the Error for each request that is sound as HTTP, wherever it is refused.
    let is_described = matches!(status, 400 | 401 | 404) && !credential.is_malformed();
    let has_error = is_described || !expectation.admits_answer(status, Shape::Other);
    Some(success.map_or(if has_error { Kind::Error } else { Kind::Any }, |(_, kind)| kind))
}

/// Statuses as ranges of those that follow each other.
fn ranges(statuses: &[u16]) -> Vec<String> {
    let of_chunk = |chunk: &[u16]| match chunk {
        [only] => only.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    };
    statuses.chunk_by(|one, next| next - one == 1).map(of_chunk).collect()
}

/// The members that an animal has as they were sent. Which of two values counts is open.
fn members(body: &CreateBody) -> Map<String, Value> {
    let mut members = Map::new();
    let CreateBody::NewPet(draft, ambiguities) = body else { return members };
    if ambiguities.contains(&Ambiguity::RepeatedMember) {
        return members;
    }
    members.extend(draft.name.clone().map(|name| ("name".to_owned(), name.into())));
    members.extend(draft.category_id.map(|category| ("categoryId".to_owned(), category.into())));
    members.extend(draft.status.clone().map(|status| ("status".to_owned(), status.into())));
    members
}

/// The number and the status of the animals in a list.
fn bound(lawful: &mut Lawful, query: &ListQuery) {
    lawful.at_most = Some(query.bound().filter(|_| !query.unknown).unwrap_or(MAX_LIMIT));
    match &query.status {
        Parameter::Lawful(status) => lawful.every_status = Some(status.clone()),
        // An unknown word matches nothing. Anything else may be read in another way.
        Parameter::Ambiguous(text) if text.bytes().all(|byte| byte.is_ascii_alphanumeric()) && !text.is_empty() => {
            lawful.at_most = Some(0);
        }
        _ => {}
    }
}
