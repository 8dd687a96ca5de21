#include "packages/builds/build_queue.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <deque>
#include <exception>
#include <list>
#include <map>
#include <optional>
#include <utility>

#include "base/log.h"
#include "node/async/notifier.h"
#include "node/pools/fair_queue.h"
#include "packages/builds/build_progress.h"

namespace glovebox::packages {
namespace {

constexpr std::size_t kReplayedProgress = 40;  // for late waiters
constexpr std::size_t kMostProjectsInQueue = 64;

tl::unexpected<Error> stopping() { return fail(Errc::kUnavailable, "the server is stopping"); }

}  // namespace

struct BuildQueue::Build {
  Build(asio::io_context& io, std::string key_, std::string project_, Work work_)
      : key(std::move(key_)), project(std::move(project_)), work(std::move(work_)), notifier(io) {}

  void report(const BuildProgress& progress) {
    last.push_back(progress);
    if (last.size() > kReplayedProgress) last.pop_front();
    // A callback may add or remove listeners.
    std::vector<OnBuildProgress> all;
    for (const auto& one : listeners) {
      if (one) all.push_back(one);
    }
    for (const OnBuildProgress& one : all) one(progress);
  }

  void record_project(const std::string& one) {
    if (projects.size() >= kMostProjectsInQueue) return;
    if (std::find(projects.begin(), projects.end(), one) == projects.end()) projects.push_back(one);
  }

  const std::string key;
  const std::string project;  // whose queue it is in
  Work work;
  node::Notifier notifier;
  std::list<OnBuildProgress> listeners;  // one per waiter, perhaps empty
  std::vector<std::string> projects;
  std::deque<BuildProgress> last;
  std::shared_ptr<node::CancelFlag> cancel = std::make_shared<node::CancelFlag>();
  bool running = false;
  std::optional<Result<std::string>> done;
};

// Shared with every coroutine, because some are destroyed after the queue.
struct BuildQueue::State : std::enable_shared_from_this<State> {
  State(asio::io_context& context, QueueOptions wanted) : io(context), options(std::move(wanted)) {}

  // A cancelled build cannot be joined.
  std::shared_ptr<Build> under_way(const std::string& key) const {
    const auto at = all.find(key);
    return at == all.end() || at->second->cancel->cancelled() ? nullptr : at->second;
  }

  Result<> check_room(const std::string& project) const {
    if (has_slot(project)) return {};
    if (line.size() < options.max_waiting && line.size_of(project) < options.max_waiting_of_one) {
      return {};
    }
    return fail(Errc::kResourceExhausted,
                "too many " + options.what + " are waiting; try again later");
  }

  // One slot is always left for other projects: a hostile build can last until its deadline.
  bool has_slot(const std::string& project) const {
    const auto own = running_of.find(project);
    return running < options.at_once &&
           (own == running_of.end() || own->second + 1 < std::max(options.at_once, 2u));
  }

  void serve() {
    line.serve([this](const std::shared_ptr<Build>& build) {
      if (stopped || !has_slot(build->project)) return false;
      ++running;
      ++running_of[build->project];
      build->running = true;
      // Not inside serve(), which is iterating over the queue.
      asio::post(io, [self = shared_from_this(), build] {
        asio::co_spawn(self->io, run(self, build), asio::detached);
      });
      return true;
    });
    if (!line.empty()) make_room();
  }

  // Cancels one build without waiters in favour of queued ones. One is enough: it frees a slot.
  void make_room() {
    for (const auto& [key, build] : all) {
      if (build->running && build->listeners.empty() && build->cancel->cancelled()) return;
    }
    for (const auto& [key, build] : all) {
      if (!build->running || !build->listeners.empty()) continue;
      build->cancel->cancel();
      return;
    }
  }

  // Called when a waiter has left.
  void left(const std::shared_ptr<Build>& build) {
    // After stop(), the objects that a build uses may be gone already.
    if (stopped || !build->listeners.empty() || build->done) return;
    if (build->running) {
      if (!line.empty()) make_room();
      return;
    }
    line.remove(build->project, build);
    forget(*build);
    build->done = build_cancelled();
  }

  void forget(const Build& build) {
    const auto at = all.find(build.key);
    if (at != all.end() && at->second.get() == &build) all.erase(at);
  }

  static asio::awaitable<void> run(std::shared_ptr<State> self, std::shared_ptr<Build> build) {
    Result<std::string> done = fail(Errc::kInternal, "the build was interrupted");
    const OnBuildProgress report = [build](const BuildProgress& progress) {
      build->report(progress);
    };
    try {
      done = co_await build->work(report, build->cancel);
    } catch (const std::exception& error) {
      log::warn("exception in a build", {{"error", error.what()}});
      done = fail(Errc::kInternal, "internal error in the build; see the log");
    }
    if (!done && self->stopped) done = stopping();
    build->work = nullptr;
    build->running = false;
    // Later requests use its result instead of joining it.
    self->forget(*build);
    build->done = std::move(done);
    build->notifier.notify_all();
    --self->running;
    if (--self->running_of[build->project] == 0) self->running_of.erase(build->project);
    self->serve();
  }

  asio::io_context& io;
  QueueOptions options;
  std::map<std::string, std::shared_ptr<Build>> all;  // by key, waiting and under way
  node::FairQueue<std::shared_ptr<Build>> line;
  std::uint32_t running = 0;
  std::map<std::string, std::uint32_t> running_of;  // by project
  bool stopped = false;
};

BuildQueue::BuildQueue(asio::io_context& io, QueueOptions options)
    : state_(std::make_shared<State>(io, std::move(options))) {}
BuildQueue::~BuildQueue() { state_->stopped = true; }

Task<std::string> BuildQueue::build(std::string key, std::string project, Work work,
                                    OnBuildProgress report,
                                    std::shared_ptr<node::CancelFlag> cancel) {
  const std::shared_ptr<State> state = state_;
  if (state->stopped) co_return stopping();
  if (cancel->cancelled()) co_return build_cancelled();
  std::shared_ptr<Build> build = state->under_way(key);
  const bool is_new = build == nullptr;
  if (is_new) {
    CO_TRY_OK(state->check_room(project));
    build = std::make_shared<Build>(state->io, key, project, std::move(work));
    state->all.insert_or_assign(key, build);
  } else if (report) {
    const std::deque<BuildProgress> last = build->last;
    for (const BuildProgress& progress : last) report(progress);
  }
  build->record_project(project);
  // Its destructor also runs if the coroutine is destroyed instead of resumed.
  struct Waiter {
    std::shared_ptr<State> state;
    std::shared_ptr<Build> build;
    std::list<OnBuildProgress>::iterator at;
    std::shared_ptr<node::CancelFlag> cancel;
    ~Waiter() {
      cancel->on_cancel({});
      build->listeners.erase(at);
      state->left(build);
    }
  };
  const auto at = build->listeners.insert(build->listeners.end(), std::move(report));
  const Waiter waiter{state, build, at, cancel};
  if (is_new) {
    state->line.push(project, build);
    state->serve();
    if (!build->running) build->report({BuildPhase::kQueued, ""});
  }
  cancel->on_cancel([build] { build->notifier.notify_all(); });
  while (!build->done && !cancel->cancelled()) {
    co_await build->notifier.wait(std::chrono::steady_clock::time_point::max());
  }
  if (!build->done) co_return build_cancelled();
  co_return *build->done;
}

std::vector<std::string> BuildQueue::projects_of(const std::string& key) const {
  const auto at = state_->all.find(key);
  return at == state_->all.end() ? std::vector<std::string>{} : at->second->projects;
}

std::uint32_t BuildQueue::building() const { return state_->running; }
std::uint32_t BuildQueue::waiting() const {
  return static_cast<std::uint32_t>(state_->line.size());
}

void BuildQueue::stop() {
  state_->stopped = true;
  const auto all = std::exchange(state_->all, {});
  state_->line = {};
  for (const auto& [key, build] : all) {
    if (build->running) {
      build->cancel->cancel();
    } else {
      build->done = stopping();
      build->notifier.notify_all();
    }
  }
}

}  // namespace glovebox::packages
