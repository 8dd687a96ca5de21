#include "packages/package_events.h"

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "base/utf8.h"

namespace glovebox::packages {
namespace {

namespace json = boost::json;

constexpr double kLinesPerSecond = 2;
constexpr double kLinesAtOnce = 10;
// The replay ring holds 512 events of all kinds.
constexpr unsigned kLinesOfABuild = 60;
constexpr std::size_t kMaxLine = 500;
constexpr std::size_t kMaxError = 4000;
constexpr std::size_t kMostProjectsNotified = 8;  // notified of one event

std::string cut(std::string_view text, std::size_t most) { return to_utf8(text.substr(0, most)); }

void publish(events::EventHub& hub, const std::vector<std::string>& projects, const char* type,
             const json::object& data) {
  const std::string text = json::serialize(data);
  std::size_t notified = 0;
  for (const std::string& project : projects) {
    // The hub would send an event without a project to all.
    if (project.empty() || notified++ >= kMostProjectsNotified) continue;
    hub.publish(project, type, text);
  }
}

json::object build_json(const BuildEvents::About& about) {
  return {{"set", about.spec.substr(0, 16)},
          {"manager", about.manager},
          {"asked", to_utf8(about.asked)}};
}

}  // namespace

void BuildEvents::begun() { publish(hub_, projects_(), "layer.building", build_json(about_)); }

bool BuildEvents::may_publish(bool is_line) {
  if (!is_line) return true;
  const auto now = std::chrono::steady_clock::now();
  left_ = std::min(kLinesAtOnce,
                   left_ + std::chrono::duration<double>(now - since_).count() * kLinesPerSecond);
  since_ = now;
  if (left_ < 1 || published_ >= kLinesOfABuild) {
    ++left_out_;
    return false;
  }
  left_ -= 1;
  ++published_;
  return true;
}

void BuildEvents::progressed(const BuildProgress& progress) {
  // Phases are few, except kBuilding: one per source package.
  if (!may_publish(!progress.text.empty() || progress.phase == BuildPhase::kBuilding)) return;
  json::object data = build_json(about_);
  data["phase"] = phase_name(progress.phase);
  data["text"] = cut(progress.text, kMaxLine);
  data["left_out"] = std::exchange(left_out_, 0);
  publish(hub_, projects_(), "layer.progress", data);
}

void BuildEvents::built(const LayerRecord& layer, bool reused, std::chrono::milliseconds took) {
  json::object data = build_json(about_);
  data["layer"] = layer.id;
  data["bytes"] = layer.bytes;
  data["entries"] = layer.entries;
  data["reused"] = reused;
  data["took_ms"] = took.count();
  publish(hub_, projects_(), "layer.built", data);
}

void BuildEvents::failed(const Error& error) {
  json::object data = build_json(about_);
  data["error"] = cut(error.message(), kMaxError);
  publish(hub_, projects_(), "layer.failed", data);
}

void publish_corrupt(events::EventHub& hub, const std::vector<std::string>& projects,
                     const std::string& layer, const std::string& expected,
                     const std::string& found) {
  const json::object data{{"layer", layer}, {"expected", expected}, {"found", found}};
  publish(hub, projects, "layer.corrupt", data);
}

void publish_removed(events::EventHub& hub, const std::vector<std::string>& projects,
                     const LayerRecord& layer, std::string_view why) {
  const json::object data{{"layer", layer.id}, {"bytes", layer.bytes}, {"why", why}};
  publish(hub, projects, "layer.removed", data);
}

}  // namespace glovebox::packages
