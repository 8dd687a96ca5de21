// What is changed in a request on its way to a port inside a sandbox, and in the answer on its way
// back. Our keys and tokens never arrive there; what comes back under our own address cannot act
// for it in a browser. Pure functions; the bytes go through http/proxy/proxy.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/message.h"
#include "http/proxy/proxy.h"
#include "routing/authenticator.h"

namespace glovebox::routing {

// How a request found its port.
enum class PortRouting : std::uint8_t {
  kPath,  // /v1/sandboxes/{id}/ports/{port}/...: under the API's own address
  kHost,  // 3000-sbid.example.com, or E2b-Sandbox-*: an address of its own
};

struct PortTarget {
  std::string id;
  std::uint16_t port = 0;
};

// "1" to "65535".
std::optional<std::uint16_t> parse_port(std::string_view text);
// Of the first label of a Host ("3000-sbid.localhost:7070"), else of the headers E2b-Sandbox-Id and
// E2b-Sandbox-Port. Nothing: this request is for us.
std::optional<PortTarget> port_target_of(const http::Request& request);

// "/v1/sandboxes/x/ports/3000/a%20b?c" -> {"/v1/sandboxes/x/ports/3000", "/a%20b?c"}, undecoded.
struct SplitTarget {
  std::string prefix;
  std::string rest;
};
SplitTarget split_port_target(std::string_view target);

http::ProxyPlan port_plan(const Authenticator& authenticator, const http::Request& request, std::uint16_t port,
                          PortRouting door);

// By PortRouting::kPath: what an answer may not say under our address. `prefix` goes before a
// Location.
void restrict_answer(http::Headers& headers, std::string_view prefix);
// By PortRouting::kHost: cookies stay with the one name they came from.
void restrict_cookies(http::Headers& headers);

// {"sandboxId","message","port"?,"code"}: what clients of E2B understand.
http::Response port_refusal(int status, const std::string& id, std::string_view message,
                            std::optional<std::uint16_t> port = std::nullopt);

}  // namespace glovebox::routing
