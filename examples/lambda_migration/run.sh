#!/bin/bash
# The handler from the command line, without a server:
#
#   examples/lambda_migration/run.sh          # sandbox-run must be in PATH (make build: build/bin)
set -uo pipefail
cd "$(dirname "$0")"
rates=(--env 'RATES={"EU": 4.9, "US": 7.5}')

echo "one request:"
sandbox-run handler.py --handler lambda_handler "${rates[@]}" --event-file events/quote.json

echo "a request that fails: Lambda's error object, and exit status 1:"
sandbox-run handler.py --handler lambda_handler "${rates[@]}" --event-file events/too_heavy.json
echo "exit status $?"

echo "a batch from a queue, with one message that fails; where time and memory went:"
sandbox-run handler.py --handler lambda_handler "${rates[@]}" --event-file events/queue.json --profile

if command -v node > /dev/null; then
  echo "the same in Node, the event from standard input:"
  sandbox-run index.mjs "${rates[@]}" --timeout 3 < events/quote.json
fi
