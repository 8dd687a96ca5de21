#include "wire/json/stored_policy.h"

#include <boost/json.hpp>

#include "base/log.h"
#include "wire/json/strict_json.h"
#include "wire/network/net_policy_json.h"

namespace glovebox::wire {

namespace json = boost::json;

net::NetPolicy stored_policy(const std::string& text) {
  const auto read = [&text]() -> Result<net::NetPolicy> {
    TRY(const json::value value, parse_strict_json(text));
    return read_net_policy(value, "net");
  };
  Result<net::NetPolicy> policy = read();
  if (policy) return std::move(*policy);
  log::warn("a stored network policy cannot be read", {{"error", policy.error().message()}});
  return {};
}

json::value stored_policy_json(const std::string& text) {
  boost::system::error_code error;
  json::value value = json::parse(text, error);
  return error ? json::value("none") : value;
}

}  // namespace glovebox::wire
