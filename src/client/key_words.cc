#include "client/key_words.h"

#include <boost/json.hpp>

#include "base/units.h"
#include "client/words.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

}  // namespace

Result<std::string> new_key_json(const NewKeyWords& words) {
  json::object body;
  if (!words.project.empty()) body["project"] = words.project;
  if (!words.name.empty()) body["name"] = words.name;
  body["role"] = words.admin ? "admin" : "user";
  json::object limits;
  if (!words.max_in_flight.empty()) {
    TRY(limits["max_in_flight"], parse_count(words.max_in_flight, "--max-in-flight", 1'000'000));
  }
  if (!words.runs_per_minute.empty()) {
    TRY(limits["runs_per_minute"],
        parse_count(words.runs_per_minute, "--runs-per-minute", 10'000'000));
  }
  if (!words.max_memory.empty()) {
    auto bytes = parse_size(words.max_memory);
    if (!bytes) return fail(std::move(bytes.error()).context("--max-memory"));
    if (*bytes != 0 && *bytes < kMegabyte) {
      return fail(Errc::kInvalidArgument, "--max-memory must be at least 1M, or 0 for no limit");
    }
    limits["max_memory_mb"] = *bytes / kMegabyte;
  }
  if (!limits.empty()) body["limits"] = std::move(limits);
  return json::serialize(body);
}

std::string e2b_form(const std::string& key) {
  constexpr std::string_view kOurs = "gbx_";
  return key.starts_with(kOurs) ? "e2b_" + key.substr(kOurs.size()) : key;
}

}  // namespace glovebox::client
