#include "sessions/session_request.h"

#include <algorithm>
#include <boost/json.hpp>

#include "model/template_rules.h"
#include "wire/json/object_reader.h"
#include "wire/json/request_fields.h"
#include "wire/json/strict_json.h"
#include "wire/network/net_policy_json.h"
#include "wire/runs/profile_request.h"

namespace glovebox::sessions {
namespace {

namespace json = boost::json;
using wire::ObjectReader;

// A year; the administrator's limit is lower.
constexpr std::uint64_t kMostTtl = 365ull * 24 * 3600;

Result<> read_what(ObjectReader& fields, CreateRequest& request) {
  TRY(const auto name, fields.text("template", 64));
  if (name) {
    if (!is_template_name(*name)) {
      return fields.bad("template", "must be a name of lowercase letters, digits and dashes");
    }
    request.template_name = *name;
  }
  TRY(const auto snapshot, fields.text("snapshot", 64));
  if (snapshot) {
    if (name) return fields.bad("snapshot", "cannot be combined with template");
    auto id = store::SnapshotId::parse(*snapshot);
    if (!id) return fields.bad("snapshot", id.error().message());
    request.snapshot = id->str();
  }
  return {};
}

Result<> read_session_profile(ObjectReader& fields, CreateRequest& request) {
  const json::value* profile = fields.take("profile");
  if (profile == nullptr) return {};
  TRY(request.profile, wire::read_profile_request(*profile, "profile"));
  if (request.profile.wall) {
    return fields.bad("profile.timeout_ms", "use ttl_s for a sandbox, or timeout_ms of an exec");
  }
  if (request.profile.cpu_time) {
    return fields.bad("profile.cpu_ms", "applies to runs only; a sandbox has cpus and ttl_s");
  }
  if (request.profile.reuse != ReuseMode::kNever) {
    return fields.bad("profile.reuse", "applies to runs only");
  }
  if (request.profile.output_bytes) {
    return fields.bad("profile.output_kb", "applies to runs only; an exec has its own output_kb");
  }
  return {};
}

// No ':', which separates it from a path in `glovebox cp`, and nothing that a shell would change.
bool is_sandbox_name(std::string_view name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !name.empty() && is_plain(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_plain(c) || c == '.' || c == '_' || c == '-'; });
}

// An id, or what the command line would take for the beginning of one.
bool looks_like_id(std::string_view name) {
  const auto is_of_ids = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return name.size() >= store::kLeastIdPrefix && name.size() <= SandboxId::kLength &&
         name.starts_with(SandboxTag::kPrefix) && std::all_of(name.begin(), name.end(), is_of_ids);
}

Result<> read_sandbox_name(ObjectReader& fields, CreateRequest& request) {
  TRY(const auto name, fields.text("name", kMaxSandboxName));
  if (!name) return {};
  if (!is_sandbox_name(*name)) {
    return fields.bad("name",
                      "must begin with a letter or a digit and have only letters, digits, '.', "
                      "'_' and '-'");
  }
  if (looks_like_id(*name)) {
    return fields.bad("name",
                      "must not look like the id of a sandbox or the beginning of one (sb and "
                      "lower-case letters and digits)");
  }
  request.name = *name;
  return {};
}

Result<std::optional<OnTimeout>> read_on_timeout(ObjectReader& fields) {
  TRY(const auto word, fields.text("on_timeout", 16));
  if (!word) return std::optional<OnTimeout>();
  if (*word == "pause") return std::optional(OnTimeout::kPause);
  if (*word == "kill") return std::optional(OnTimeout::kKill);
  return fields.bad("on_timeout", "must be kill or pause");
}

Result<> read_rest(ObjectReader& fields, CreateRequest& request) {
  TRY_OK(read_sandbox_name(fields, request));
  TRY(request.ttl_s, fields.whole("ttl_s", 1, kMostTtl));
  TRY(request.env, wire::read_environment(fields, "env"));
  if (const json::value* metadata = fields.take("metadata")) {
    TRY(request.metadata, read_metadata(fields, *metadata));
  }
  TRY(const auto on_timeout, read_on_timeout(fields));
  request.on_timeout = on_timeout.value_or(OnTimeout::kKill);
  TRY(const auto agent_id, read_agent_id(fields));
  request.agent_id = agent_id.value_or("");
  TRY(const auto private_ports, fields.truth("private_ports"));
  request.private_ports = private_ports.value_or(false);
  TRY(const auto grade, fields.text("min_grade", 32));
  if (grade) {
    const Grade* known = parse_grade(*grade);
    if (known == nullptr) {
      return fields.bad("min_grade", "must be process, jail-partial, jail, user-kernel or vm");
    }
    request.min_grade = *known;
  }
  return {};
}

}  // namespace

Result<std::optional<std::string>> read_agent_id(ObjectReader& fields) {
  TRY(auto agent_id, fields.text("agent_id", kMaxAgentId));
  if (!agent_id) return agent_id;
  if (agent_id->empty()) return fields.bad("agent_id", "must not be empty");
  TRY_OK(wire::check_no_nul(*agent_id, "agent_id"));
  if (agent_id->starts_with(kReservedAgentPrefix)) {
    return fields.bad("agent_id", "must not begin with \"mcp:\", which is reserved for /mcp");
  }
  return agent_id;
}

Result<store::Metadata> read_metadata(const ObjectReader& fields, const json::value& value) {
  const json::object* pairs = value.if_object();
  if (pairs == nullptr) return fields.bad("metadata", "must be an object of strings");
  if (pairs->size() > kMaxMetadata) {
    return fields.bad("metadata", "must have at most " + std::to_string(kMaxMetadata) + " entries");
  }
  store::Metadata metadata;
  for (const auto& pair : *pairs) {
    std::string key(pair.key().data(), pair.key().size());
    const std::string at = "metadata." + key.substr(0, 60);
    const json::string* text = pair.value().if_string();
    if (text == nullptr) return fields.bad(at, "must be a string");
    if (key.empty() || key.size() > kMaxMetadataKey) {
      return fields.bad(at, "a key must have 1 to " + std::to_string(kMaxMetadataKey) + " bytes");
    }
    if (text->size() > kMaxMetadataValue) {
      return fields.bad(at, "must have at most " + std::to_string(kMaxMetadataValue) + " bytes");
    }
    std::string content(text->data(), text->size());
    TRY_OK(wire::check_no_nul(key, at));
    TRY_OK(wire::check_no_nul(content, at));
    metadata.emplace(std::move(key), std::move(content));
  }
  return metadata;
}

Result<CreateRequest> parse_create_request(std::string_view body) {
  if (body.empty()) return CreateRequest{};  // every field has a default
  TRY(const json::value document, wire::parse_strict_json(body));
  TRY(ObjectReader fields, ObjectReader::open(document, ""));
  CreateRequest request;
  TRY_OK(read_what(fields, request));
  TRY_OK(read_session_profile(fields, request));
  TRY_OK(read_rest(fields, request));
  TRY_OK(fields.finish());
  return request;
}

Result<ChangeRequest> parse_change_request(std::string_view body) {
  TRY(const json::value document, wire::parse_strict_json(body));
  TRY(ObjectReader fields, ObjectReader::open(document, ""));
  ChangeRequest request;
  TRY(request.ttl_s, fields.whole("ttl_s", 1, kMostTtl));
  if (const json::value* metadata = fields.take("metadata")) {
    TRY(request.metadata, read_metadata(fields, *metadata));
  }
  if (const json::value* net = fields.take("net")) {
    TRY(request.net, wire::read_net_policy(*net, "net"));
  }
  TRY(request.on_timeout, read_on_timeout(fields));
  TRY_OK(fields.finish());
  if (!request.ttl_s && !request.metadata && !request.net && !request.on_timeout) {
    return fail(Errc::kInvalidArgument,
                "the request changes nothing; give ttl_s, on_timeout, metadata or net");
  }
  return request;
}

Result<std::optional<std::uint64_t>> parse_keepalive_request(std::string_view body) {
  if (body.empty()) return std::optional<std::uint64_t>();
  TRY(const json::value document, wire::parse_strict_json(body));
  TRY(ObjectReader fields, ObjectReader::open(document, ""));
  TRY(const auto ttl_s, fields.whole("ttl_s", 1, kMostTtl));
  TRY_OK(fields.finish());
  return ttl_s;
}

Result<std::string> parse_snapshot_request(std::string_view body) {
  if (body.empty()) return std::string();
  TRY(const json::value document, wire::parse_strict_json(body));
  TRY(ObjectReader fields, ObjectReader::open(document, ""));
  TRY(const auto name, fields.text("name", kMaxSnapshotName));
  TRY_OK(fields.finish());
  if (name) TRY_OK(wire::check_no_nul(*name, "name"));
  return name.value_or("");
}

}  // namespace glovebox::sessions
