#include "store/run_queue.h"

#include <algorithm>

#include "store/text_search.h"

namespace glovebox::store {

namespace {

// What a row costs besides its texts: numbers, indexes, and the record's own fields in memory.
constexpr std::size_t kRowBytes = 400;

std::size_t bytes_of(const RunRecord& run) {
  return kRowBytes + run.request_id.size() + run.project.size() + run.key_id.size() +
         run.template_name.size() + run.profile.size() + run.language.size() + run.engine.size() +
         run.grade.size() + run.error_code.size() + run.error_message.size() + run.out.size() +
         run.err.size() + run.answer.size() + run.code.size();
}

}  // namespace

bool matches(const RunFilter& filter, const RunRecord& run) {
  const auto has = [&](std::string_view text) { return has_text(text, filter.search); };
  const auto& statuses = filter.statuses;
  return (statuses.empty() ||
          std::find(statuses.begin(), statuses.end(), run.status) != statuses.end()) &&
         (!filter.template_name || run.template_name == *filter.template_name) &&
         (!filter.language || run.language == *filter.language) &&
         (!filter.since_ms || run.started_ms >= *filter.since_ms) &&
         (!filter.until_ms || run.started_ms < *filter.until_ms) &&
         (filter.search.empty() || has(run.id.str()) || has(run.template_name) ||
          has(run.language) || has(run.error_code) || has(run.error_message));
}

void RunQueue::start_after(std::int64_t seq) {
  const std::lock_guard lock(mutex_);
  last_seq_ = std::max(last_seq_, seq);
}

std::optional<std::size_t> RunQueue::add(RunRecord run, std::int64_t now_ms, TimePoint now) {
  const std::size_t bytes = bytes_of(run);
  const std::lock_guard lock(mutex_);
  while (is_full(bytes)) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    if (!drop_from_larger(run.project, bytes)) return std::nullopt;
  }
  // A time where the clock allows it, and always after the one before.
  last_seq_ = std::max(last_seq_ + 1, now_ms * 1000);
  auto queued = std::make_shared<const QueuedRun>(
      QueuedRun{.seq = last_seq_, .bytes = bytes, .run = std::move(run)});
  by_id_.emplace(queued->run.id.str(), queued);
  bytes_ += bytes;
  bytes_by_project_[queued->run.project] += bytes;
  items_.push_back(Item{.run = std::move(queued), .added = now});
  return items_.size();
}

// Drops the newest record of the project that has most, if it has more than `project` would have.
bool RunQueue::drop_from_larger(const std::string& project, std::size_t more_bytes) {
  const auto largest =
      std::max_element(bytes_by_project_.begin(), bytes_by_project_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (largest == bytes_by_project_.end() || largest->first == project) return false;
  const auto own = bytes_by_project_.find(project);
  const std::size_t own_bytes = own != bytes_by_project_.end() ? own->second : 0;
  if (largest->second <= own_bytes + more_bytes) return false;
  const auto newest = std::find_if(items_.rbegin(), items_.rend(), [&](const Item& item) {
    return item.run->run.project == largest->first;
  });
  remove(std::next(newest).base());
  return true;
}

RunQueue::Items::iterator RunQueue::remove(Items::iterator item) {
  const std::shared_ptr<const QueuedRun> queued = item->run;
  bytes_ -= queued->bytes;
  const auto of_project = bytes_by_project_.find(queued->run.project);
  of_project->second -= queued->bytes;
  if (of_project->second == 0) bytes_by_project_.erase(of_project);
  const auto found = by_id_.find(queued->run.id.str());
  // Not another record of the same id.
  if (found != by_id_.end() && found->second == queued) by_id_.erase(found);
  return items_.erase(item);
}

std::shared_ptr<const QueuedRun> RunQueue::find(const std::string& project, const RunId& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_id_.find(id.str());
  if (found == by_id_.end()) return nullptr;
  if (project != "*" && found->second->run.project != project) return nullptr;
  return found->second;
}

QueuedRuns RunQueue::list(const std::string& project, const RunFilter& filter,
                          std::int64_t before_seq, std::size_t limit) const {
  QueuedRuns runs;
  const std::lock_guard lock(mutex_);
  for (auto item = items_.rbegin(); item != items_.rend() && runs.size() < limit; ++item) {
    const QueuedRun& queued = *item->run;
    if (before_seq != 0 && queued.seq >= before_seq) continue;
    if (project != "*" && queued.run.project != project) continue;
    if (matches(filter, queued.run)) runs.push_back(item->run);
  }
  return runs;
}

QueuedRuns RunQueue::oldest(std::size_t limit, std::size_t bytes) const {
  QueuedRuns runs;
  const std::lock_guard lock(mutex_);
  std::size_t taken = 0;
  for (const Item& item : items_) {
    if (runs.size() == limit || taken >= bytes) break;
    taken += item.run->bytes;
    runs.push_back(item.run);
  }
  return runs;
}

void RunQueue::remove_through(std::int64_t seq) {
  const std::lock_guard lock(mutex_);
  while (!items_.empty() && items_.front().run->seq <= seq) remove(items_.begin());
}

std::size_t RunQueue::size() const {
  const std::lock_guard lock(mutex_);
  return items_.size();
}

std::optional<RunQueue::TimePoint> RunQueue::oldest_since() const {
  const std::lock_guard lock(mutex_);
  if (items_.empty()) return std::nullopt;
  return items_.front().added;
}

}  // namespace glovebox::store
