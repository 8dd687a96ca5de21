#include "client/requests/limit_options.h"

#include <boost/json.hpp>
#include <charconv>

#include "base/units.h"
#include "options/command_line.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kMostPids = 65'536;

Result<std::uint64_t> megabytes_of(const std::string& text, std::string_view option) {
  auto bytes = parse_size(text);
  if (!bytes) return fail(std::move(bytes.error()).context(option));
  if (*bytes < kMegabyte) {
    return fail(Errc::kInvalidArgument, std::string(option) + " must be at least 1M");
  }
  return *bytes / kMegabyte;
}

Result<double> parse_cpus(const std::string& text) {
  double cpus = 0;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, cpus);
  if (error != std::errc{} || last != end || !(cpus > 0)) {
    return fail(Errc::kInvalidArgument, "--cpus must be a number like 0.5 or 2");
  }
  return cpus;
}

}  // namespace

Result<> add_limits(const LimitOptions& limits, json::object& profile) {
  if (!limits.memory.empty()) {
    TRY(profile["memory_mb"], megabytes_of(limits.memory, "--memory"));
  }
  if (!limits.disk.empty()) {
    TRY(profile["disk_mb"], megabytes_of(limits.disk, "--disk"));
  }
  if (!limits.pids.empty()) {
    TRY(profile["pids"], options::parse_count(limits.pids, "--pids", kMostPids));
  }
  if (!limits.cpus.empty()) {
    TRY(profile["cpus"], parse_cpus(limits.cpus));
  }
  return {};
}

Result<json::object> named_values_json(const std::vector<std::string>& words,
                                       std::string_view option) {
  json::object object;
  for (const std::string& word : words) {
    TRY(const options::NamedValue pair, options::parse_named_value(word, option));
    object[pair.name] = pair.value;
  }
  return object;
}

}  // namespace glovebox::client
