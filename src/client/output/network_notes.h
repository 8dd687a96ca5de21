// The line on standard error that explains a network refusal, for runs and for programs in a
// sandbox. Empty, or one line with its end.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>

#include "client/connection/api_client.h"

namespace glovebox::client {

// `figures`: metrics.network of a run, or the response of GET /v1/sandboxes/{id}/network. Only
// refusals at or after `since` ("2026-11-18T02:00:00.000Z"; empty: all).
std::string refusals_note(const boost::json::object& figures, const std::string& since = {});

// `has_network_errors`: see wire::NetworkErrorDetector.
std::string run_network_note(const boost::json::object& result, bool has_network_errors);

// For a program that failed in a sandbox: asks the server what the gateway refused since then.
std::string exec_network_note(ApiClient& api, const std::string& sandbox, const std::string& since,
                              bool has_network_errors);

}  // namespace glovebox::client
