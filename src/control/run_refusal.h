// A run that did not happen, as an answer: whose fault it is decides the status. 429 is the
// caller's own limit, 503 is ours; both say when to come back.
#pragma once

#include "base/error.h"
#include "http/message.h"
#include "store/key_usage.h"

namespace glovebox::control {

// Of what the node or the planning said.
http::Response refuse_run(const Error& error);
// Of the key's own limits.
http::Response refuse_run(const store::Refusal& refusal);

// Of a client that left before its answer: nobody reads it, but the log and the figures have it.
http::Response refuse_gone_client();

}  // namespace glovebox::control
