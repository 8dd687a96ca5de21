#include "templates/template_request.h"

#include <algorithm>
#include <boost/json.hpp>
#include <optional>

#include "model/profile.h"
#include "model/template_rules.h"
#include "store/session_record.h"
#include "wire/json/object_reader.h"
#include "wire/json/request_fields.h"
#include "wire/json/strict_json.h"
#include "wire/runs/profile_request.h"

namespace glovebox::templates {
namespace {

namespace json = boost::json;
using wire::ObjectReader;

constexpr std::size_t kMaxDescription = 200;
constexpr std::uint64_t kMostPoolBound = 10'000;  // pools.max of the server is lower

// `otherwise`: what it is if it is missing; empty: it may not be.
Result<std::string> read_name(ObjectReader& fields, std::string_view field,
                              const std::string& otherwise = "") {
  TRY(const auto name, fields.text(field, 64));
  if (!name && !otherwise.empty()) return otherwise;
  if (!name) return fields.bad(field, "is missing");
  if (!is_template_name(*name)) {
    return fields.bad(field,
                      "must start with a lower-case letter and have at most 32 lower-case letters, "
                      "digits and dashes");
  }
  return *name;
}

Result<std::string> read_description(ObjectReader& fields) {
  TRY(const auto text, fields.text("description", kMaxDescription));
  if (!text) return std::string();
  const bool is_line = std::all_of(text->begin(), text->end(),
                                   [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
  if (!is_line) return fields.bad("description", "must be one line");
  return *text;
}

// True: a template of a snapshot, which has everything else already.
Result<bool> read_snapshot(ObjectReader& fields, store::TemplateRecord& wanted) {
  TRY(const auto text, fields.text("snapshot", 64));
  if (!text) return false;
  auto id = store::SnapshotId::parse(*text);
  if (!id) return fields.bad("snapshot", id.error().message());
  wanted.snapshot = id->str();
  for (const char* other : {"from", "env", "preload", "profile", "pool", "session_pool"}) {
    if (fields.take(other) != nullptr) {
      return fields.bad(other, "cannot be combined with snapshot, which has its own");
    }
  }
  return true;
}

// {min, max}; `max` is at least `min`, and `min` by default.
Result<std::optional<PoolBounds>> read_pool(ObjectReader& fields, const char* name) {
  const json::value* value = fields.take(name);
  if (value == nullptr) return std::nullopt;
  TRY(ObjectReader bounds, ObjectReader::open(*value, fields.path_of(name)));
  TRY(const auto least, bounds.whole("min", 0, kMostPoolBound));
  TRY(const auto most, bounds.whole("max", 0, kMostPoolBound));
  TRY_OK(bounds.finish());
  const PoolBounds pool{static_cast<std::uint32_t>(least.value_or(0)),
                        static_cast<std::uint32_t>(most.value_or(least.value_or(0)))};
  if (pool.max < pool.min) return bounds.bad("max", "must be at least min");
  return pool;
}

Result<> read_template_profile(ObjectReader& fields, store::TemplateRecord& wanted) {
  const json::value* profile = fields.take("profile");
  if (profile == nullptr) return {};
  TRY(const ProfileRequest requested, wire::read_profile_request(*profile, "profile"));
  if (requested.output_bytes) return fields.bad("profile.output_kb", "can only be set for a run");
  if (requested.reuse != ReuseMode::kNever) {
    return fields.bad("profile.reuse", "can only be set for a run");
  }
  if (!requested.mounts.empty()) {
    return fields.bad("profile.mounts",
                      "can only be set for a run or a sandbox, not for a template");
  }
  wanted.image_name = requested.image;
  wanted.definition.limits = fill_in(requested, Limits{}).limits;
  wanted.dependencies = requested.dependencies;
  return {};
}

}  // namespace

Result<store::TemplateRecord> parse_template_request(std::string_view body) {
  TRY(const json::value document, wire::parse_strict_json(body));
  TRY(ObjectReader fields, ObjectReader::open(document, ""));
  store::TemplateRecord wanted;
  TRY(wanted.name, read_name(fields, "name"));
  TRY(const bool is_snapshot, read_snapshot(fields, wanted));
  if (is_snapshot) {
    TRY(wanted.description, read_description(fields));
    TRY_OK(fields.finish());
    return wanted;
  }
  TRY_OK(read_template_profile(fields, wanted));
  // Of an image, the interpreter that waits is its own Python, if it has one.
  TRY(wanted.definition.from, read_name(fields, "from", wanted.image_name.empty() ? "" : "python"));
  TRY(wanted.description, read_description(fields));
  TRY(wanted.definition.env, wire::read_environment(fields, "env"));
  TRY(wanted.definition.preload, fields.texts("preload", kMaxPreload, kMaxModuleBytes));
  TRY(wanted.pool, read_pool(fields, "pool"));
  TRY(const auto sessions, read_pool(fields, "session_pool"));
  wanted.session_pool = sessions.value_or(PoolBounds{});
  TRY_OK(fields.finish());
  return wanted;
}

Result<> check_memory_of(const store::KeyLimits& key, const TemplateDefinition& wanted,
                         const Template* base) {
  if (key.max_memory_bytes == 0 || base == nullptr) return {};
  const auto chosen = [&](LimitKind kind, std::uint64_t Limits::*of) {
    return wanted.limits.was_asked_for(kind) ? wanted.limits.*of : base->limits.*of;
  };
  // Counted like its runs. Neither is above 2^50 here.
  const std::uint64_t bytes = chosen(LimitKind::kMemory, &Limits::memory_bytes) +
                              chosen(LimitKind::kDisk, &Limits::disk_bytes);
  if (bytes <= key.max_memory_bytes) return {};
  const auto megabytes = [](std::uint64_t some) { return std::to_string(some >> 20) + " MB"; };
  return fail(Errc::kPolicy, "profile: this key may use " + megabytes(key.max_memory_bytes) +
                                 " of memory at once, but a run of this template would need " +
                                 megabytes(bytes) +
                                 " (memory_mb + disk_mb, by default those of its base)");
}

}  // namespace glovebox::templates
