// Rewrites requests to a port inside a sandbox, and their answers. A guest never gets our keys and
// tokens, and in a browser its answers under our address cannot act for our address. Pure
// functions; http/proxy/proxy.h transfers the bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/message.h"
#include "http/proxy/proxy.h"
#include "routing/key_forms.h"

namespace glovebox::routing {

// How a request names its port.
enum class RoutedBy : std::uint8_t {
  kPath,  // /v1/sandboxes/{id}/ports/{port}/...: under the API's own address
  kPage,  // /ports/{id}/{port}/{pass}/...: the same, opened in a browser
  kHost,  // 3000-sbid.example.com, or a dialect's headers: an address of its own
};

struct PortTarget {
  std::string id;
  std::uint16_t port = 0;
};

// "1" to "65535".
std::optional<std::uint16_t> parse_port(std::string_view text);
// Whether a text can be a sandbox's id in a host name: a DNS label of lowercase letters and digits.
bool is_sandbox_label(std::string_view text);
// Reads the first label of a Host ("3000-sbid.localhost:7070"). Nothing: it names no sandbox.
std::optional<PortTarget> port_target_of(const http::Request& request);

// "/v1/sandboxes/x/ports/3000/a%20b?c" -> {"/v1/sandboxes/x/ports/3000", "/a%20b?c"}, undecoded.
// For kPage the prefix ends with the pass.
struct SplitTarget {
  std::string prefix;
  std::string rest;
};
SplitTarget split_port_target(std::string_view target, RoutedBy routed_by = RoutedBy::kPath);

// A Host with the variable ${PORT} in it: letters, digits, ".", "-", "_" and a port.
bool is_host_mask(std::string_view text);

// Rewrites requests to ports of sandboxes and their answers.
class PortProxy {
 public:
  // `private_headers` are credentials and routing headers that no guest may see, and
  // `private_cookies` are names of cookies.
  PortProxy(std::vector<std::string_view> private_headers, KeyForms key_forms,
            std::vector<std::string> private_cookies = {})
      : private_headers_(std::move(private_headers)),
        key_forms_(std::move(key_forms)),
        private_cookies_(std::move(private_cookies)) {}

  // The guest sees `host_mask` as the Host, with "${PORT}" replaced; empty: localhost and the port.
  http::ProxyPlan plan(const http::Request& request, std::uint16_t port, RoutedBy routed_by,
                       std::string_view host_mask = {}) const;

 private:
  void remove_credentials(const http::Request& request, RoutedBy routed_by,
                          http::Headers& headers) const;

  const std::vector<std::string_view> private_headers_;
  const KeyForms key_forms_;
  const std::vector<std::string> private_cookies_;
};

// For kPath and kPage: removes headers that a guest must not set for our address, gives the answer
// an opaque origin, and prepends `prefix` to a Location.
void restrict_answer(http::Headers& headers, std::string_view prefix,
                     RoutedBy routed_by = RoutedBy::kPath);
// For RoutedBy::kHost: restricts cookies to the host name that set them, and removes what would
// clear those of the whole domain.
void restrict_cookies(http::Headers& headers);

// {"sandboxId","message","port"?,"code"}, as clients of a sandbox's own address expect.
http::Response port_refusal(int status, const std::string& id, std::string_view message,
                            std::optional<std::uint16_t> port = std::nullopt);

}  // namespace glovebox::routing
