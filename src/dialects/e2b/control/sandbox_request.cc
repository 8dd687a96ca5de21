#include "dialects/e2b/control/sandbox_request.h"

#include <boost/json.hpp>
#include <charconv>
#include <chrono>

#include "base/percent_encoding.h"
#include "http/target.h"
#include "routing/port_proxy.h"
#include "sessions/session_lifecycle.h"
#include "wire/json/object_reader.h"
#include "wire/json/request_fields.h"
#include "wire/json/strict_json.h"

namespace glovebox::e2b {
namespace {

namespace json = boost::json;
using wire::ObjectReader;

constexpr std::uint64_t kMaxTimeout = 365ull * 24 * 3600;  // the administrator allows less
constexpr std::uint32_t kPage = 100;
constexpr std::size_t kMaxMask = 1024;  // is_host_mask() allows less

// An empty body is an empty object.
Result<json::value> read_body(std::string_view body) {
  if (body.empty()) return json::value(json::object());
  return wire::parse_strict_json(body);
}

Result<> read_network(ObjectReader& fields, CreateSandboxRequest& wanted) {
  TRY(const auto internet, fields.truth("allow_internet_access"));
  wanted.egress.internet = internet.value_or(true);
  const json::value* value = fields.take("network");
  if (value == nullptr) return {};
  TRY(ObjectReader network, ObjectReader::open(*value, "network"));
  TRY_OK(read_egress(network, wanted.egress));
  TRY(const auto mask, network.text("maskRequestHost", kMaxMask));
  if (mask && !mask->empty()) {
    if (!routing::is_host_mask(*mask)) {
      return network.bad("maskRequestHost",
                         "must be a host name, with ${PORT} for the port of the service, like "
                         "\"${PORT}-app.example.com\" or \"localhost:${PORT}\"");
    }
    wanted.request.host_mask = *mask;
  }
  if (is_given(network.take("httpsPorts"))) {
    return network.bad("httpsPorts",
                       "is not supported: services in a sandbox are reached over plain HTTP");
  }
  TRY(const auto is_public, network.truth("allowPublicTraffic"));
  wanted.request.private_ports = !is_public.value_or(true);
  return {};
}

Result<> read_lifecycle(ObjectReader& fields, sessions::CreateRequest& request) {
  TRY(const auto pauses, fields.truth("autoPause"));
  TRY(const auto keeps_memory, fields.truth("autoPauseMemory"));
  if (pauses.value_or(false)) {
    request.on_timeout = keeps_memory.value_or(true) ? OnTimeout::kPause : OnTimeout::kPauseFiles;
  }
  bool wakes = false;
  if (const json::value* value = fields.take("autoResume")) {
    TRY(ObjectReader resume, ObjectReader::open(*value, "autoResume"));
    TRY(const auto enabled, resume.truth("enabled"));
    wakes = enabled.value_or(false);
  }
  if (!keeps_memory.value_or(true)) {
    if (wakes) return fields.bad("autoPauseMemory", "must not be false together with autoResume");
    if (!pauses.value_or(false)) return fields.bad("autoPauseMemory", "requires autoPause");
  }
  if (wakes) request.metadata[std::string(sessions::kAutoResume)] = "true";
  return {};
}

Result<> refuse_hosted_features(ObjectReader& fields) {
  if (is_given(fields.take("volumeMounts"))) {
    return fields.bad("volumeMounts", "is not supported: this server has no volumes");
  }
  const json::value* iam = fields.take("iam");
  if (iam == nullptr || !iam->is_object()) return {};
  if (is_given(iam->get_object().if_contains("tokens"))) {
    return fields.bad("iam.tokens", "is not supported: this server has no workload identities");
  }
  return {};
}

Result<std::uint64_t> read_seconds(ObjectReader& fields, std::string_view name, std::uint64_t least,
                                   std::uint64_t otherwise) {
  TRY(const auto seconds, fields.whole(name, least, kMaxTimeout));
  return seconds.value_or(otherwise);
}

Result<std::uint64_t> need_seconds(std::string_view body, std::string_view name,
                                   std::uint64_t least) {
  TRY(const json::value document, read_body(body));
  TRY(ObjectReader fields, ObjectReader::open(document, ""));
  TRY(const auto seconds, fields.whole(name, least, kMaxTimeout));
  if (!seconds) return fields.bad(name, "is required");
  return *seconds;
}

// Exactly `count` digits.
bool take_digits(std::string_view& text, std::size_t count, int& into) {
  if (text.size() < count) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + count, into);
  if (error != std::errc{} || end != text.data() + count || text[0] == '-') return false;
  text.remove_prefix(count);
  return true;
}

bool take_mark(std::string_view& text, std::string_view marks) {
  if (text.empty() || marks.find(text[0]) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// The fraction of a second: ".123456".
bool take_fraction(std::string_view& text, int& thousandths) {
  if (text.empty() || text[0] != '.') return true;
  text.remove_prefix(1);
  int digits = 0;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    if (digits < 3) thousandths = thousandths * 10 + (text[0] - '0');
    ++digits;
    text.remove_prefix(1);
  }
  for (int i = digits; i < 3; ++i) thousandths *= 10;
  return digits > 0;
}

// "Z" or "+02:00"; a plus that a client did not encode arrives as a space.
bool take_zone(std::string_view& text, int& minutes) {
  if (take_mark(text, "Zz")) return text.empty();
  const bool is_west = !text.empty() && text[0] == '-';
  int hour = 0;
  int minute = 0;
  if (!take_mark(text, "+- ") || !take_digits(text, 2, hour) || !take_mark(text, ":") ||
      !take_digits(text, 2, minute) || hour > 23 || minute > 59) {
    return false;
  }
  minutes = (hour * 60 + minute) * (is_west ? -1 : 1);
  return text.empty();
}

Result<> read_states(std::string_view text, store::SessionFilter& filter) {
  while (!text.empty()) {
    const std::string_view state = text.substr(0, text.find(','));
    text.remove_prefix(std::min(state.size() + 1, text.size()));
    if (state == "running") {
      filter.states.push_back(SessionState::kRunning);
    } else if (state == "paused") {
      filter.states.push_back(SessionState::kPaused);
    } else {
      return fail(Errc::kInvalidArgument,
                  "state: must be running, paused or both, separated by a comma");
    }
  }
  return {};
}

}  // namespace

Result<CreateSandboxRequest> parse_create(std::string_view body, std::uint64_t default_timeout) {
  TRY(const json::value document, read_body(body));
  TRY(ObjectReader fields, ObjectReader::open(document, ""));
  CreateSandboxRequest wanted;
  TRY(const auto template_id, fields.text("templateID", 256));
  if (template_id && !template_id->empty()) wanted.template_id = *template_id;
  sessions::CreateRequest& request = wanted.request;
  TRY(request.ttl_s, read_seconds(fields, "timeout", 1, default_timeout));
  TRY(request.env, wire::read_environment(fields, "envVars"));
  if (const json::value* metadata = fields.take("metadata")) {
    TRY(request.metadata, sessions::read_metadata(fields, *metadata));
    if (request.metadata.count(std::string(sessions::kAutoResume)) != 0) {
      return fields.bad("metadata." + std::string(sessions::kAutoResume),
                        "is reserved: use autoResume");
    }
  }
  TRY_OK(read_lifecycle(fields, request));
  TRY_OK(read_network(fields, wanted));
  // The client itself starts the gateway, with this configuration, after the creation.
  if (const json::value* mcp = fields.take("mcp"); mcp != nullptr && !mcp->is_null()) {
    if (!mcp->is_object()) return fields.bad("mcp", "must be an object");
    wanted.has_mcp = true;
  }
  TRY_OK(refuse_hosted_features(fields));
  return wanted;
}

Result<ConnectRequest> parse_connect(std::string_view body, std::uint64_t default_timeout) {
  TRY(const json::value document, read_body(body));
  TRY(ObjectReader fields, ObjectReader::open(document, ""));
  ConnectRequest wanted;
  TRY(wanted.timeout_s, read_seconds(fields, "timeout", 1, default_timeout));
  TRY(const auto memory, fields.truth("memory"));
  wanted.memory = memory.value_or(true);
  return wanted;
}

Result<std::uint64_t> parse_timeout(std::string_view body) {
  return need_seconds(body, "timeout", 0);
}

Result<std::uint64_t> parse_refresh(std::string_view body) {
  TRY(const json::value document, read_body(body));
  TRY(ObjectReader fields, ObjectReader::open(document, ""));
  return read_seconds(fields, "duration", 0, kTimeoutV1);
}

Result<std::optional<bool>> parse_memory(std::string_view body) {
  TRY(const json::value document, read_body(body));
  TRY(ObjectReader fields, ObjectReader::open(document, ""));
  return fields.truth("memory");
}

Result<ForkRequest> parse_fork(std::string_view body) {
  TRY(const json::value document, read_body(body));
  TRY(ObjectReader fields, ObjectReader::open(document, ""));
  ForkRequest wanted;
  TRY(const auto count, fields.whole("count", 1, kMaxForks));
  wanted.count = count.value_or(1);
  TRY(wanted.timeout_s, read_seconds(fields, "timeout", 1, kTimeoutV1));
  return wanted;
}

Result<SnapshotRequest> parse_snapshot(std::string_view body) {
  TRY(const json::value document, read_body(body));
  TRY(ObjectReader fields, ObjectReader::open(document, ""));
  SnapshotRequest wanted;
  TRY(const auto name, fields.text("name", sessions::kMaxSnapshotName));
  wanted.name = name.value_or("");
  TRY(wanted.memory, fields.truth("memory"));
  return wanted;
}

Result<std::vector<std::pair<std::string, std::string>>> parse_metadata_filter(
    std::string_view text) {
  std::vector<std::pair<std::string, std::string>> pairs;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(pair.size() + 1, text.size()));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    std::string parts[2] = {std::string(pair.substr(0, equals)),
                            std::string(pair.substr(std::min(equals + 1, pair.size())))};
    for (std::string& part : parts) {
      // As a form field; before that, clients have escaped the key and the value themselves.
      auto once = percent_decode(part, PlusSign::kSpace);
      auto twice = once ? percent_decode(*once) : once;
      if (!twice || twice->find('\0') != std::string::npos) {
        return fail(Errc::kInvalidArgument, "metadata: malformed percent-encoding");
      }
      part = std::move(*twice);
    }
    pairs.emplace_back(std::move(parts[0]), std::move(parts[1]));
  }
  return pairs;
}

Result<std::int64_t> parse_time(std::string_view text) {
  int year = 0;
  int month = 0;
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  int milliseconds = 0;
  int zone = 0;
  const bool is_formed =
      take_digits(text, 4, year) && take_mark(text, "-") && take_digits(text, 2, month) &&
      take_mark(text, "-") && take_digits(text, 2, day) && take_mark(text, "Tt ") &&
      take_digits(text, 2, hour) && take_mark(text, ":") && take_digits(text, 2, minute) &&
      take_mark(text, ":") && take_digits(text, 2, second) && take_fraction(text, milliseconds) &&
      take_zone(text, zone);
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!is_formed || !date.ok() || hour > 23 || minute > 59 || second > 60) {
    return fail(Errc::kInvalidArgument, "startedAfter: must be a time like 2026-01-31T12:00:00Z");
  }
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const std::int64_t minutes = (days * 24 + hour) * 60 + minute - zone;
  return (minutes * 60 + second) * 1000 + milliseconds;
}

Result<std::uint32_t> parse_limit(const http::Params& query) {
  const std::string* text = query.find("limit");
  if (text == nullptr) return kPage;
  std::uint64_t limit = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, limit);
  if (error != std::errc{} || stop != end || limit == 0) {
    return fail(Errc::kInvalidArgument, "limit: must be a whole number from 1 to 100");
  }
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(limit, kPage));
}

Result<store::SessionFilter> parse_list(const http::Params& query) {
  store::SessionFilter filter;
  TRY(filter.limit, parse_limit(query));
  filter.cursor = std::string(query.get("nextToken"));
  for (const auto& [name, value] : query) {
    if (name == "state") TRY_OK(read_states(value, filter));
  }
  if (filter.states.empty()) filter.states = {SessionState::kRunning, SessionState::kPaused};
  if (const std::string* metadata = query.find("metadata")) {
    TRY(filter.metadata, parse_metadata_filter(*metadata));
  }
  if (const std::string* after = query.find("startedAfter")) {
    TRY(filter.created_from_ms, parse_time(*after));
  }
  const std::string_view order = query.get("order");
  if (!order.empty() && order != "asc" && order != "desc") {
    return fail(Errc::kInvalidArgument, "order: must be asc or desc");
  }
  filter.oldest_first = order == "asc";
  return filter;
}

}  // namespace glovebox::e2b
