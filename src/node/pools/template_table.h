// What the launcher has reported about its templates, and when it may be asked for their runtimes
// again. A status counts while the launcher that sent it is attached; a launcher that was just
// attached has a second to report all of them. One thread; never fails.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/template.h"
#include "node/links/launcher_link.h"
#include "node/node_options.h"

namespace glovebox::node {

class TemplateTable {
 public:
  // `launcher` and `options` outlive this object.
  TemplateTable(LauncherLink& launcher, const NodeOptions& options);

  void launcher_attached();
  void launcher_lost();
  // A template that was removed is forgotten.
  void update(const TemplateStatus& status);
  // Forgets what the launcher that is attached now has not confirmed in time.
  void forget_unconfirmed();

  // Whether the launcher has had the time to report every template.
  bool is_complete() const;
  // Whether the launcher that is attached now has reported it.
  bool is_current(std::string_view name) const;
  // Null: unknown. Valid until the table changes.
  const TemplateStatus* find(std::string_view name) const;
  std::vector<TemplateStatus> all() const;
  std::uint32_t zygotes() const;

  // Whether a sandbox with a waiting runtime can be had. If not, has the launcher start the
  // runtime, so that later ones can.
  bool request_runtime(std::string_view name);
  // The launcher had no runtime ready although we expected one. That happens on a busy host; after
  // a few times in a row it is not asked again for a moment.
  void runtime_was_not_ready(std::string_view name);
  // No sandbox gets its runtime: not asked again for a moment.
  void runtime_is_stuck(std::string_view name);
  // A sandbox with its runtime has come.
  void runtime_came(std::string_view name);
  Clock::time_point runtime_came_at(std::string_view name) const;

 private:
  struct Entry {
    TemplateStatus status;
    std::uint64_t launcher = 0;              // number of the launcher that reported it
    Clock::time_point prepare_not_before{};  // the launcher was asked to start its runtime
    Clock::time_point warm_not_before{};
    Clock::time_point came_at{};  // the last sandbox with its runtime
    unsigned refusals = 0;        // since then
  };

  LauncherLink& launcher_;
  const NodeOptions& options_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::uint64_t launchers_ = 0;  // attached so far
  Clock::time_point attached_at_;
};

}  // namespace glovebox::node
