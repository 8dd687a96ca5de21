// What a sandbox may reach, between requests, the administrator's ceiling, and the store.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>

#include "base/result.h"
#include "net/net_policy.h"
#include "node/network_service.h"

namespace glovebox::control {

// kPolicy, with what is asked for too much and what the ceiling is. kInvalidArgument: more rules
// than a policy may have.
Result<> check_reach(const net::NetPolicy& asked, const net::NetCeiling& ceiling);

// All that may be asked for: what a client means that knows only "with" and "without".
net::NetPolicy all_allowed(const net::NetCeiling& ceiling);

// As a record has it (net::canonical_text). What cannot be read reaches nothing.
net::NetPolicy stored_policy(const std::string& text);
// The same as it is shown, without reading its rules: a list has many of them. "none" for what is
// no JSON.
boost::json::value stored_policy_json(const std::string& text);

// The data of the events network.decided and network.restarted.
std::string decided_event(const node::NetworkService::Decided& decided, std::uint64_t left_out);
std::string restarted_event(const node::NetworkService::Restarted& restarted);

}  // namespace glovebox::control
