#include "client/requests/key_options.h"

#include <boost/json.hpp>

#include "base/units.h"
#include "options/command_line.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kBytesPerMegabyte = 1u << 20;

}  // namespace

Result<std::string> new_key_json(const NewKeyOptions& key) {
  json::object body;
  if (!key.project.empty()) body["project"] = key.project;
  if (!key.name.empty()) body["name"] = key.name;
  body["role"] = key.admin ? "admin" : "user";
  json::object limits;
  if (!key.max_in_flight.empty()) {
    TRY(limits["max_in_flight"],
        options::parse_count(key.max_in_flight, "--max-in-flight", 1'000'000));
  }
  if (!key.runs_per_minute.empty()) {
    TRY(limits["runs_per_minute"],
        options::parse_count(key.runs_per_minute, "--runs-per-minute", 10'000'000));
  }
  if (!key.max_memory.empty()) {
    auto bytes = parse_size(key.max_memory);
    if (!bytes) return fail(std::move(bytes.error()).context("--max-memory"));
    if (*bytes != 0 && *bytes < kBytesPerMegabyte) {
      return fail(Errc::kInvalidArgument, "--max-memory must be at least 1M, or 0 for no limit");
    }
    limits["max_memory_mb"] = *bytes / kBytesPerMegabyte;
  }
  if (!limits.empty()) body["limits"] = std::move(limits);
  return json::serialize(body);
}

std::string e2b_form(const std::string& key) {
  constexpr std::string_view kOwnPrefix = "gbx_";
  return key.starts_with(kOwnPrefix) ? "e2b_" + key.substr(kOwnPrefix.size()) : key;
}

}  // namespace glovebox::client
