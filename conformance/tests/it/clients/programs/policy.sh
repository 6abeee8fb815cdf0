#!/bin/sh
# Each row of the policy about clients, with curl and a new connection for each request: policy.sh MODE
head=$(mktemp)
trap 'rm -f "$head"' EXIT

# ask PATH [OPTION…]: the body of the answer.
ask() {
    path=$1
    shift
    curl --silent --noproxy '*' --dump-header "$head" "$@" "$CONFORM_PROXY_URL$path"
}
with_key() { ask "$@" --header "Authorization: Bearer $CLIENT_KEY"; }
list() { with_key '/pets?limit=1' > /dev/null; }
post() { with_key /pets --header 'Content-Type: application/json' --data "$1"; }

# Lists until the key is refused; sets `told` to the seconds to wait.
refused() {
    list
    until grep -q '^HTTP/1.1 429' "$head"; do list; done
    told=$(sed -n 's/^retry-after: *\([^\r]*\).*/\1/Ip' "$head")
    case $told in
    *[!0-9]*) told=$(($(date --date "$told" +%s) - $(date +%s))) ;;
    esac
}
created() { post '{"name":"Rex","categoryId":1}' | sed 's/.*"id":\([0-9]*\).*/\1/'; }

case $1 in
told) for _ in 1 2 3; do refused; sleep "$told"; done ;;
early) refused; for _ in 1 2 3 4 5; do sleep 0.5; list; done ;;
early-once) refused; sleep 1.5; list; sleep "$told"; list ;;
hammer) refused; for _ in $(seq 150); do list; done ;;
key-in-query) ask "/pets?api_key=$CLIENT_KEY" > /dev/null ;;
key-in-body) ask /pets --json "{\"name\":\"Rex\",\"categoryId\":1,\"apiKey\":\"$CLIENT_KEY\"}" > /dev/null ;;
key-in-path) list; ask "/$CLIENT_KEY/pets" > /dev/null ;;
key-in-field) ask /pets --header "X-Api-Key: $CLIENT_KEY" > /dev/null ;;
key-outside) list; ask "/../metrics?who=$CLIENT_KEY" > /dev/null ;;
scheme) list; ask '/pets?limit=1' --header "Authorization: Token $CLIENT_KEY" > /dev/null ;;
scheme-case) list; ask '/pets?limit=1' --header "Authorization: bearer $CLIENT_KEY" > /dev/null ;;
bad-body) for _ in 1 2 3 4 5 6; do post '{"name":"Rex"}' > /dev/null; done ;;
bad-query) for _ in 1 2 3 4 5 6; do with_key '/pets?limit=1000' > /dev/null; done ;;
bad-values) for at in 1 2 3 4 5 6 7 8; do post "{\"name\":\"Rex $at\"}" > /dev/null; done ;;
double-ids) with_key "/pets/$(created | awk '{ printf "%.0f", $1 }')" > /dev/null ;;
cut-ids) with_key "/pets/$(($(created) & 0xffffffff))" > /dev/null ;;
separated-ids) with_key "/pets/$(created | sed -E ':more; s/([0-9])([0-9]{3})(,|$)/\1,\2\3/; t more')" > /dev/null ;;
exact-ids) id=$(created); for path in "$id" "$id" 4711; do with_key "/pets/$path" > /dev/null; done ;;
removed) for _ in 1 2 3; do with_key /pets/2031 > /dev/null; done ;;
*) exit 2 ;;
esac
