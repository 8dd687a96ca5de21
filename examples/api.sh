#!/bin/bash
# The API of a running `glovebox serve`, with curl:
#
#   examples/api.sh [DATA-DIR]
#
# DATA-DIR is the server's, by default /var/lib/glovebox for root. It says where the server is, and
# has the admin key. GLOVEBOX_URL and GLOVEBOX_API_KEY are used instead if they are set.
set -euo pipefail
default=/var/lib/glovebox
[ "$(id -u)" = 0 ] || default=${XDG_DATA_HOME:-$HOME/.local/share}/glovebox
data=${1:-$default}
url=${GLOVEBOX_URL:-$(/usr/bin/python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["url"])' "$data/serve.json")}
key=${GLOVEBOX_API_KEY:-$(cat "$data/admin.key")}

call() { curl -sS --fail-with-body -H "X-API-Key: $key" -H 'Content-Type: application/json' "$@"; }
field() { /usr/bin/python3 -c 'import json, sys; print(eval(sys.argv[1], {"answer": json.load(sys.stdin)}))' "$1"; }

echo "the value of the last expression:"
call "$url/v1/run" -d '{"language": "python", "code": "sum(range(10))"}' | field 'answer["result"]["text/plain"]'

echo "a file in, a file out:"
call "$url/v1/run" -d '{
  "command": "sort in.txt > out.txt",
  "files": [{"path": "in.txt", "content": "b\na\n"}],
  "return_files": ["out.txt"]}' | field 'answer["files"][0]["content"].split()'

echo "an exception, with the line of the code that was sent:"
call "$url/v1/run" -d '{"language": "python", "code": "x = 1\nx / 0"}' |
  field '"%s in line %d" % (answer["error"]["name"], answer["error"]["line"])'

echo "a limit:"
call "$url/v1/run" -d '{"language": "python", "code": "while True: pass", "profile": {"timeout_ms": 300}}' |
  field 'answer["error"]["message"]'

echo "live:"
call -N -H 'Accept: application/x-ndjson' "$url/v1/run" -d '{
  "language": "python",
  "code": "import time\nfor i in range(3):\n    print(i)\n    time.sleep(0.2)"}' | cut -c 1-60
