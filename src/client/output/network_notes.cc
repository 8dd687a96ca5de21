#include "client/output/network_notes.h"

#include <boost/json.hpp>

#include "base/percent_encoding.h"
#include "client/output/response_fields.h"
#include "client/output/run_result.h"
#include "wire/network/net_refusals.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

std::string note_of(std::string_view line) {
  return line.empty() ? std::string() : "glovebox: " + std::string(line) + "\n";
}

}  // namespace

std::string refusals_note(const json::object& figures, const std::string& since) {
  const auto refusals = array_field(figures, "refusals");
  if (!refusals) return {};  // an older server
  std::vector<std::string> messages;
  for (const json::value& value : *refusals) {
    if (!value.is_object()) continue;
    const json::object& one = value.get_object();
    if (string_field(one, "last_at") < since) continue;
    const std::string message = string_field(one, "message");
    if (!message.empty()) messages.push_back(message);
  }
  return note_of(wire::refusals_line(messages));
}

std::string run_network_note(const json::object& result, bool has_network_errors) {
  const json::value* metrics = result.if_contains("metrics");
  if (metrics == nullptr || !metrics->is_object()) return {};
  const json::value* network = metrics->get_object().if_contains("network");
  if (network == nullptr) return {};
  if (network->is_object()) return refusals_note(network->get_object());
  const bool lacks_network =
      network->is_null() && has_network_errors && exit_status_of(result) != 0;
  return lacks_network ? note_of(wire::kNoNetworkHint) : std::string();
}

std::string exec_network_note(ApiClient& api, const std::string& sandbox, const std::string& since,
                              bool has_network_errors) {
  const auto response =
      api.send(get_request("/v1/sandboxes/" + percent_encode(sandbox) + "/network"));
  if (!response || api.error_in(*response)) return {};  // a hint that is not there
  const auto figures = parse_response(response->body);
  if (!figures) return {};
  if (has_network_errors && string_field(*figures, "net") == "none") {
    return note_of(
        "network: this sandbox has none; create it with --net https-only for HTTPS, or with --net "
        "NAME for one name");
  }
  return refusals_note(*figures, since);
}

}  // namespace glovebox::client
