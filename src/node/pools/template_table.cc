#include "node/pools/template_table.h"

namespace glovebox::node {
namespace {

using std::chrono::milliseconds;

// A launcher reports its templates as soon as a server is attached.
constexpr milliseconds kReportTime{1000};
constexpr milliseconds kPrepareAgain{5000};
// Until a runtime is asked for again, if the launcher reports no change.
constexpr milliseconds kAfterNotReady{250};
constexpr unsigned kRefusalsInARow = 3;

}  // namespace

TemplateTable::TemplateTable(LauncherLink& launcher, const NodeOptions& options)
    : launcher_(launcher), options_(options), attached_at_(options.now()) {}

void TemplateTable::launcher_attached() {
  ++launchers_;
  attached_at_ = options_.now();
}

void TemplateTable::launcher_lost() {
  for (auto& [name, entry] : entries_) {
    entry.status.zygotes = 0;
    if (entry.status.state == RuntimeState::kReady) entry.status.state = RuntimeState::kStarting;
  }
}

void TemplateTable::update(const TemplateStatus& status) {
  const std::string& name = status.description.name;
  if (status.state == RuntimeState::kRemoved) {
    entries_.erase(name);
    return;
  }
  Entry& entry = entries_[name];
  if (entry.status.generation != status.generation || status.state != RuntimeState::kIdle ||
      entry.launcher != launchers_) {
    entry.prepare_not_before = {};
  }
  entry.status = status;
  entry.launcher = launchers_;
  if (status.state == RuntimeState::kReady) entry.warm_not_before = {};
}

void TemplateTable::forget_unconfirmed() {
  if (!is_complete() || !launcher_.up()) return;
  std::erase_if(entries_, [&](const auto& one) { return one.second.launcher != launchers_; });
}

bool TemplateTable::is_complete() const { return options_.now() - attached_at_ >= kReportTime; }

bool TemplateTable::is_current(std::string_view name) const {
  const auto at = entries_.find(name);
  return at != entries_.end() && at->second.launcher == launchers_;
}

const TemplateStatus* TemplateTable::find(std::string_view name) const {
  const auto at = entries_.find(name);
  return at == entries_.end() ? nullptr : &at->second.status;
}

std::vector<TemplateStatus> TemplateTable::all() const {
  std::vector<TemplateStatus> all;
  for (const auto& [name, entry] : entries_) all.push_back(entry.status);
  return all;
}

std::uint32_t TemplateTable::zygotes() const {
  std::uint32_t sum = 0;
  for (const auto& [name, entry] : entries_) sum += entry.status.zygotes;
  return sum;
}

bool TemplateTable::request_runtime(std::string_view name) {
  const auto at = entries_.find(name);
  if (at == entries_.end()) return false;
  Entry& entry = at->second;
  const TemplateStatus& status = entry.status;
  if (status.description.runtime == RuntimeKind::kNone) return false;
  if (options_.now() < entry.warm_not_before) return false;
  if (status.state == RuntimeState::kReady) return true;
  if (status.state != RuntimeState::kIdle) return false;
  // Node is started ahead as a plain process; there is no zygote to wait for.
  if (status.description.runtime == RuntimeKind::kNode) return true;
  // The launcher may have had no room for it: then it is asked again.
  if (options_.now() >= entry.prepare_not_before) {
    entry.prepare_not_before = options_.now() + kPrepareAgain;
    launcher_.prepare(status.description.name);
  }
  return false;
}

void TemplateTable::runtime_was_not_ready(std::string_view name) {
  const auto at = entries_.find(name);
  if (at == entries_.end()) return;
  if (at->second.status.state == RuntimeState::kReady && ++at->second.refusals < kRefusalsInARow) {
    return;
  }
  runtime_is_stuck(name);
}

void TemplateTable::runtime_is_stuck(std::string_view name) {
  const auto at = entries_.find(name);
  if (at == entries_.end()) return;
  at->second.refusals = 0;
  at->second.warm_not_before = options_.now() + kAfterNotReady;
}

void TemplateTable::runtime_came(std::string_view name) {
  const auto at = entries_.find(name);
  if (at == entries_.end()) return;
  at->second.refusals = 0;
  at->second.came_at = options_.now();
}

Clock::time_point TemplateTable::runtime_came_at(std::string_view name) const {
  const auto at = entries_.find(name);
  return at == entries_.end() ? Clock::time_point{} : at->second.came_at;
}

}  // namespace glovebox::node
