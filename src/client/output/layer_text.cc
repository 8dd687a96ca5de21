#include "client/output/layer_text.h"

#include <time.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>

#include "base/utf8.h"
#include "client/output/response_fields.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

constexpr std::int64_t kMinute = 60;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;

}  // namespace

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
    joined += (count == 1 ? "" : ", ") + field_text(one, "name") + " " + field_text(one, "version");
  }
  if (count > most) joined += " and " + std::to_string(count - most) + " more";
  return joined.empty() ? "-" : joined;
}

Result<std::string> pruned_text(const std::string& body, const std::string& things) {
  TRY(const json::object report, parse_response(body));
  TRY(const json::array removed, array_field(report, "removed"));
  std::string text;
  for (const json::value& id : removed) {
    if (id.is_string()) text += printable(std::string(id.get_string())) + "\n";
  }
  const bool is_dry = field_text(report, "dry_run") == "true";
  return text + (is_dry ? "would remove " : "removed ") + std::to_string(removed.size()) + " " +
         things + ", " + size_text(number_field(report, "bytes")) + "\n";
}

}  // namespace glovebox::client
