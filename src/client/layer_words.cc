#include "client/layer_words.h"

#include <time.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>

#include "base/units.h"
#include "client/answers.h"
#include "wire/dependencies_json.h"
#include "wire/dependency_words.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

constexpr std::int64_t kMinute = 60;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;

// Days, too, which are what people mean here.
Result<std::int64_t> build_seconds(const std::string& text) {
  if (text.ends_with('d')) {
    auto hours = parse_duration(text.substr(0, text.size() - 1) + "h");
    if (!hours) return fail_invalid("--unused-for '" + text + "' is no time like 7d, 12h or 30m");
    return hours->count() * 24 / 1000;
  }
  auto time = parse_duration(text);
  if (!time) return fail(std::move(time.error()).context("--unused-for"));
  return time->count() / 1000;
}

}  // namespace

Result<std::string> new_layer_json(const LayerWords& words) {
  if (!words.packages.names_packages()) {
    return fail_invalid("say what to install: --with PACKAGE, --requirements FILE or --lock FILE");
  }
  TRY(const Dependencies wanted, wire::read_dependency_words(words.packages));
  json::object body{{"dependencies", wire::dependencies_json(wanted)}, {"refresh", true}};
  body["template"] =
      words.template_name.empty() ? wire::default_template(wanted) : words.template_name;
  return json::serialize(body);
}

Result<std::string> prune_json(const LayerWords& words) {
  json::object body{{"dry_run", words.dry_run}};
  if (!words.unused_for.empty()) {
    TRY(body["unused_for_s"], build_seconds(words.unused_for));
  }
  return json::serialize(body);
}

std::string size_text(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"K", "M", "G", "T"};
  if (bytes < 1024) return std::to_string(bytes);
  double size = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (size >= 1024 && unit + 1 < std::size(kUnits)) {
    size /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, size < 10 ? "%.1f%s" : "%.0f%s", size, kUnits[unit]);
  return text;
}

std::string age_text(const std::string& time, std::int64_t now_seconds) {
  struct tm parts {};
  if (::strptime(time.c_str(), "%Y-%m-%dT%H:%M:%S", &parts) == nullptr) return "-";
  const std::int64_t age = std::max<std::int64_t>(now_seconds - ::timegm(&parts), 0);
  if (age < kMinute) return std::to_string(age) + "s";
  if (age < kHour) return std::to_string(age / kMinute) + "m";
  if (age < 2 * kDay) return std::to_string(age / kHour) + "h";
  return std::to_string(age / kDay) + "d";
}

std::string packages_text(const json::object& layer, std::size_t most) {
  const json::value* list = layer.if_contains("packages");
  if (list == nullptr || !list->is_array()) return "-";
  std::string joined;
  std::size_t count = 0;
  for (const json::value& value : list->get_array()) {
    if (!value.is_object() || ++count > most) continue;
    const json::object& one = value.get_object();
    joined += (count == 1 ? "" : ", ") + shown(one, "name") + " " + shown(one, "version");
  }
  if (count > most) joined += " and " + std::to_string(count - most) + " more";
  return joined.empty() ? "-" : joined;
}

}  // namespace glovebox::client
