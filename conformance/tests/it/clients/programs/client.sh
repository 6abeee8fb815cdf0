#!/bin/sh
# A client with curl, a new process and connection for each request: client.sh MODE
head=$(mktemp)
trap 'rm -f "$head"' EXIT
job=0
while [ "$job" -lt 45 ]; do
    status=$(curl --silent --noproxy '*' --dump-header "$head" --output /dev/null --write-out '%{http_code}' \
        --header "Authorization: Bearer $CLIENT_KEY" "$CONFORM_PROXY_URL/pets?limit=1")
    if [ "$status" = 429 ] && [ "$1" = told ]; then
        told=$(sed -n 's/^retry-after: *\([^\r]*\).*/\1/Ip' "$head")
        case $told in
        *[!0-9]*) told=$(($(date --date "$told" +%s) - $(date +%s))) ;;
        esac
        if [ "$told" -gt 0 ]; then sleep "$told"; fi
    fi
    # The pause shows a single task.
    sleep 0.06
    job=$((job + 1))
done
