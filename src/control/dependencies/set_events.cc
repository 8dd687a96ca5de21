#include "control/dependencies/set_events.h"

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "wire/utf8.h"

namespace glovebox::control {
namespace {

namespace json = boost::json;

constexpr double kLinesPerSecond = 2;
constexpr double kLinesAtOnce = 10;
// The ring of what can be replayed has 512, for everything that happens.
constexpr unsigned kLinesOfABuild = 60;
constexpr std::size_t kMaxLine = 500;
constexpr std::size_t kMaxError = 4000;
constexpr std::size_t kMostProjectsTold = 8;  // that are told of one thing

std::string cut(std::string_view text, std::size_t most) {
  return wire::to_utf8(text.substr(0, most));
}

void publish(EventHub& hub, const std::vector<std::string>& projects, const char* type,
             const json::object& data) {
  const std::string text = json::serialize(data);
  std::size_t told = 0;
  for (const std::string& project : projects) {
    // To the hub that would be everybody.
    if (project.empty() || told++ >= kMostProjectsTold) continue;
    hub.publish(project, type, text);
  }
}

json::object build_json(const BuildStory::About& about) {
  return {{"set", about.spec.substr(0, 16)},
          {"manager", about.manager},
          {"asked", wire::to_utf8(about.asked)}};
}

}  // namespace

void BuildStory::begun() { publish(hub_, projects_(), "layer.building", build_json(about_)); }

bool BuildStory::may_tell(bool is_line) {
  if (!is_line) return true;
  const auto now = std::chrono::steady_clock::now();
  left_ = std::min(kLinesAtOnce,
                   left_ + std::chrono::duration<double>(now - since_).count() * kLinesPerSecond);
  since_ = now;
  if (left_ < 1 || told_ >= kLinesOfABuild) {
    ++left_out_;
    return false;
  }
  left_ -= 1;
  ++told_;
  return true;
}

void BuildStory::said(const BuildWord& word) {
  // A build has few phases; a source package is one more each.
  if (!may_tell(!word.text.empty() || word.phase == BuildPhase::kBuilding)) return;
  json::object data = build_json(about_);
  data["phase"] = phase_name(word.phase);
  data["text"] = cut(word.text, kMaxLine);
  data["left_out"] = std::exchange(left_out_, 0);
  publish(hub_, projects_(), "layer.progress", data);
}

void BuildStory::built(const LayerRecord& layer, bool reused, std::chrono::milliseconds took) {
  json::object data = build_json(about_);
  data["layer"] = layer.id;
  data["bytes"] = layer.bytes;
  data["entries"] = layer.entries;
  data["reused"] = reused;
  data["took_ms"] = took.count();
  publish(hub_, projects_(), "layer.built", data);
}

void BuildStory::failed(const Error& error) {
  json::object data = build_json(about_);
  data["error"] = cut(error.message(), kMaxError);
  publish(hub_, projects_(), "layer.failed", data);
}

void tell_corrupt(EventHub& hub, const std::vector<std::string>& projects, const std::string& layer,
                  const std::string& expected, const std::string& found) {
  const json::object data{{"layer", layer}, {"expected", expected}, {"found", found}};
  publish(hub, projects, "layer.corrupt", data);
}

void tell_removed(EventHub& hub, const std::vector<std::string>& projects, const LayerRecord& layer,
                  std::string_view why) {
  const json::object data{{"layer", layer.id}, {"bytes", layer.bytes}, {"why", why}};
  publish(hub, projects, "layer.removed", data);
}

}  // namespace glovebox::control
