// Events about sets of packages on /v1/events, for the projects that requested them. Installer
// output is rate-limited: further lines are dropped and counted.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "events/event_hub.h"
#include "model/layer.h"
#include "packages/builds/build_progress.h"

namespace glovebox::packages {

// The events of one build.
class BuildEvents {
 public:
  using Projects = std::function<std::vector<std::string>()>;  // the projects that wait for it now
  struct About {
    std::string spec;
    std::string asked;
    std::string manager;
  };
  BuildEvents(events::EventHub& hub, Projects projects, About about)
      : hub_(hub), projects_(std::move(projects)), about_(std::move(about)) {}

  void begun();
  void progressed(const BuildProgress& progress);
  // `reused`: the packages resolved to an existing layer.
  void built(const LayerRecord& layer, bool reused, std::chrono::milliseconds took);
  void failed(const Error& error);

 private:
  bool may_publish(bool is_line);

  events::EventHub& hub_;
  Projects projects_;
  About about_;
  // Token bucket for lines.
  double left_ = 10;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  unsigned published_ = 0;
  std::uint64_t left_out_ = 0;
};

// Events about an existing layer, for the projects in its manifest.
void publish_corrupt(events::EventHub& hub, const std::vector<std::string>& projects,
                     const std::string& layer, const std::string& expected,
                     const std::string& found);
void publish_removed(events::EventHub& hub, const std::vector<std::string>& projects,
                     const LayerRecord& layer, std::string_view why);

}  // namespace glovebox::packages
