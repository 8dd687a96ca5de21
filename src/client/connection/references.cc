#include "client/connection/references.h"

#include <algorithm>
#include <boost/json.hpp>

#include "base/id.h"
#include "base/percent_encoding.h"
#include "base/utf8.h"
#include "client/output/print.h"
#include "client/output/response_fields.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

constexpr std::size_t kMostListed = 5;
constexpr std::size_t kIdLength = SandboxId::kLength;

bool is_whole_id(std::string_view word, std::string_view prefix) {
  return word.size() == kIdLength && word.starts_with(prefix) &&
         std::all_of(word.begin(), word.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

std::string listed(const std::vector<Reference>& candidates) {
  std::string text;
  for (std::size_t i = 0; i < std::min(candidates.size(), kMostListed); ++i) {
    const Reference& one = candidates[i];
    text += (text.empty() ? "" : ", ") + one.id + (one.name.empty() ? "" : " (" + one.name + ")");
  }
  if (candidates.size() > kMostListed) {
    text += " and " + std::to_string(candidates.size() - kMostListed) + " more";
  }
  return text;
}

Result<std::vector<Reference>> references_at(ApiClient& api, const std::string& target,
                                             std::string_view list) {
  TRY(const http::ClientResponse response, api.send(get_request(target)));
  if (const auto error = api.error_in(response)) return fail(Errc::kPolicy, error->message);
  TRY(const json::object body, parse_response(response.body));
  TRY(const json::array values, array_field(body, list));
  std::vector<Reference> references;
  for (const json::value& value : values) {
    if (!value.is_object()) continue;
    const json::object& one = value.get_object();
    references.push_back({string_field(one, "id"), string_field(one, "name")});
  }
  return references;
}

}  // namespace

Result<std::string> choose_reference(std::string_view kind, const std::string& word,
                                     const std::vector<Reference>& candidates) {
  std::vector<Reference> named;
  std::vector<Reference> begun;
  for (const Reference& one : candidates) {
    if (one.id == word) return one.id;
    if (!word.empty() && one.name == word) named.push_back(one);
    if (word.size() >= kLeastIdLetters && one.id.starts_with(word)) begun.push_back(one);
  }
  const std::vector<Reference>& found = named.empty() ? begun : named;
  if (found.size() == 1) return found[0].id;
  const std::string what(kind);
  if (found.empty()) {
    return fail(Errc::kNotFound, "there is no " + what + " with the id or name '" + word +
                                     "', and none whose id begins with that (at least " +
                                     std::to_string(kLeastIdLetters) + " letters)");
  }
  return fail(Errc::kConflict,
              "'" + word + "' is ambiguous: " +
                  (named.empty() ? "the beginning of the ids of " : "the name of ") +
                  std::to_string(found.size()) + " " + what +
                  (kind.ends_with('x') ? "es: " : "s: ") + listed(found));
}

Result<std::string> resolve_sandbox(ApiClient& api, const std::string& word) {
  if (is_whole_id(word, "sb")) return word;
  const std::string target = "/v1/sandboxes?limit=200&match=" + percent_encode(word);
  TRY(std::vector<Reference> found,
      references_at(api, target + "&state=pending,starting,running,paused", "sandboxes"));
  if (found.empty()) {
    TRY(found, references_at(api, target, "sandboxes"));
  }
  return choose_reference("sandbox", word, found);
}

Result<std::string> resolve_snapshot(ApiClient& api, const std::string& word) {
  if (is_whole_id(word, "sn")) return word;
  TRY(const std::vector<Reference> found, references_at(api, "/v1/snapshots", "snapshots"));
  return choose_reference("snapshot", word, found);
}

Result<std::string> resolve_key(ApiClient& api, const std::string& word) {
  if (is_whole_id(word, "ky")) return word;
  TRY(const std::vector<Reference> found, references_at(api, "/v1/keys", "keys"));
  return choose_reference("key", word, found);
}

Result<std::string> resolve_run(ApiClient& api, const std::string& word) {
  if (is_whole_id(word, "rn")) return word;
  TRY(const std::vector<Reference> found, references_at(api, "/v1/runs?limit=200", "runs"));
  return choose_reference("run", word, found);
}

Result<std::string> resolve_context(ApiClient& api, const std::string& sandbox,
                                    const std::string& word) {
  const std::string target = "/v1/sandboxes/" + percent_encode(sandbox) + "/contexts";
  TRY(const std::vector<Reference> found, references_at(api, target, "contexts"));
  return choose_reference("context", word, found);
}

std::optional<int> resolve_or_report(const ServerLocationOptions& server, Resolve resolve,
                                     std::string& word) {
  auto api = ApiClient::connect(server);
  if (!api) return usage_error_or_failure(api.error());
  auto id = resolve(*api, word);
  if (id) {
    word = std::move(*id);
    return std::nullopt;
  }
  return id.error().code() == Errc::kUnavailable ? failure(id.error())
                                                 : server_refused(id.error().message());
}

}  // namespace glovebox::client
