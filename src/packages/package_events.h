// What is told of sets of packages on /v1/events, to the projects that asked. An installer may be
// as chatty as it likes: of its lines only so many are told, and how many were left out.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "packages/builds/build_progress.h"
#include "events/event_hub.h"
#include "model/layer.h"

namespace glovebox::packages {

// One build's, from its beginning to its end.
class BuildEvents {
 public:
  using Projects = std::function<std::vector<std::string>()>;  // who waits for it, at any time
  struct About {
    std::string spec;
    std::string asked;
    std::string manager;
  };
  BuildEvents(events::EventHub& hub, Projects projects, About about)
      : hub_(hub), projects_(std::move(projects)), about_(std::move(about)) {}

  void begun();
  void said(const BuildProgress& word);
  // `reused`: it came to a layer that was there.
  void built(const LayerRecord& layer, bool reused, std::chrono::milliseconds took);
  void failed(const Error& error);

 private:
  bool may_tell(bool is_line);

  events::EventHub& hub_;
  Projects projects_;
  About about_;
  // Lines: a few at once, and then so many in a second.
  double left_ = 10;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  unsigned told_ = 0;
  std::uint64_t left_out_ = 0;
};

// Of a layer that is there. Nobody is told of one that nobody is known to have asked for.
void tell_corrupt(events::EventHub& hub, const std::vector<std::string>& projects, const std::string& layer,
                  const std::string& expected, const std::string& found);
void tell_removed(events::EventHub& hub, const std::vector<std::string>& projects, const LayerRecord& layer,
                  std::string_view why);

}  // namespace glovebox::packages
