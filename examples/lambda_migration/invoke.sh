#!/bin/bash
# The same handler through a running `glovebox serve`: POST /v1/functions/invoke, with curl.
#
#   examples/lambda_migration/invoke.sh [DATA-DIR]
#
# DATA-DIR is the server's, by default /var/lib/glovebox for root. GLOVEBOX_URL and GLOVEBOX_API_KEY
# are used instead if they are set.
set -euo pipefail
default=/var/lib/glovebox
[ "$(id -u)" = 0 ] || default=${XDG_DATA_HOME:-$HOME/.local/share}/glovebox
data=${1:-$default}
url=${GLOVEBOX_URL:-$(/usr/bin/python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["url"])' "$data/serve.json")}
key=${GLOVEBOX_API_KEY:-$(cat "$data/admin.key")}
cd "$(dirname "$0")"

request() {  # the handler's source and an event, as one JSON object
  /usr/bin/python3 -c 'import json, sys; print(json.dumps({
    "runtime": "python3.11", "handler": "lambda_handler", "file_name": "handler.py",
    "code": open("handler.py").read(), "event": json.load(open(sys.argv[1])),
    "env": {"RATES": "{\"EU\": 4.9, \"US\": 7.5}"},
    "context": {"function_name": "quote"}, "timeout_ms": 5000}))' "$1"
}
invoke() {
  request "$1" | curl -sS --fail-with-body -H "X-API-Key: $key" -H 'Content-Type: application/json' -d @- \
    "$url/v1/functions/invoke"
}
field() { /usr/bin/python3 -c 'import json, sys; print(json.dumps(json.load(sys.stdin)[sys.argv[1]]))' "$1"; }

echo "one request:"
invoke events/quote.json | field result

echo "a request that fails:"
invoke events/too_heavy.json | field error

echo "a batch from a queue:"
invoke events/queue.json | field result
