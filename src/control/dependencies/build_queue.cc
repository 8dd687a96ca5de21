#include "control/dependencies/build_queue.h"

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
#include "control/dependencies/words.h"
#include "node/bell.h"
#include "node/fair_queue.h"

namespace glovebox::control {
namespace {

constexpr std::size_t kLastWords = 40;  // for those who come late
constexpr std::size_t kMostProjectsInQueue = 64;

tl::unexpected<Error> stopping() { return fail(Errc::kUnavailable, "the server is stopping"); }

}  // namespace

struct BuildQueue::Build {
  Build(asio::io_context& io, std::string key_, std::string project_, Work work_)
      : key(std::move(key_)), project(std::move(project_)), work(std::move(work_)), bell(io) {}

  void say(const BuildWord& word) {
    last.push_back(word);
    if (last.size() > kLastWords) last.pop_front();
    // One of them may leave while it is told, or another come.
    std::vector<OnBuildWord> all;
    for (const auto& one : listeners) {
      if (one) all.push_back(one);
    }
    for (const OnBuildWord& one : all) one(word);
  }

  void note_project(const std::string& one) {
    if (projects.size() >= kMostProjectsInQueue) return;
    if (std::find(projects.begin(), projects.end(), one) == projects.end()) projects.push_back(one);
  }

  const std::string key;
  const std::string project;  // in whose turn it is
  Work work;
  node::Bell bell;
  std::list<OnBuildWord> listeners;  // one for each who waits, perhaps empty
  std::vector<std::string> projects;
  std::deque<BuildWord> last;
  std::shared_ptr<node::CancelFlag> cancel = std::make_shared<node::CancelFlag>();
  bool running = false;
  std::optional<Result<std::string>> done;
};

// Shared with every coroutine, so that one which is destroyed after the queue finds it.
struct BuildQueue::State : std::enable_shared_from_this<State> {
  State(asio::io_context& context, QueueOptions wanted) : io(context), options(std::move(wanted)) {}

  // One that is being given up cannot be joined: it is over in a moment.
  std::shared_ptr<Build> under_way(const std::string& key) const {
    const auto at = all.find(key);
    return at == all.end() || at->second->cancel->cancelled() ? nullptr : at->second;
  }

  Result<> check_room(const std::string& project) const {
    if (has_place(project)) return {};
    if (line.size() < options.max_waiting && line.size_of(project) < options.max_waiting_of_one) {
      return {};
    }
    return fail(Errc::kResourceExhausted,
                "too many " + options.what + " wait already; try again later");
  }

  // One place is always for somebody else: a build may be made to last until its time is over.
  bool has_place(const std::string& project) const {
    const auto own = running_of.find(project);
    return running < options.at_once &&
           (own == running_of.end() || own->second + 1 < std::max(options.at_once, 2u));
  }

  void serve() {
    line.serve([this](const std::shared_ptr<Build>& build) {
      if (stopped || !has_place(build->project)) return false;
      ++running;
      ++running_of[build->project];
      build->running = true;
      // Not in here, where the line is being served.
      asio::post(io, [self = shared_from_this(), build] {
        asio::co_spawn(self->io, run(self, build), asio::detached);
      });
      return true;
    });
    if (!line.empty()) make_room();
  }

  // One that nobody waits for makes way for one that somebody does. One at a time: it frees a
  // place.
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

  // Somebody does not wait any more.
  void left(const std::shared_ptr<Build>& build) {
    // Stopped: whatever a build would tell to end may be gone already.
    if (stopped || !build->listeners.empty() || build->done) return;
    if (build->running) {
      if (!line.empty()) make_room();
      return;
    }
    line.remove(build->project, build);
    forget(*build);
    build->done = nobody_waits();
  }

  void forget(const Build& build) {
    const auto at = all.find(build.key);
    if (at != all.end() && at->second.get() == &build) all.erase(at);
  }

  static asio::awaitable<void> run(std::shared_ptr<State> self, std::shared_ptr<Build> build) {
    Result<std::string> done = fail(Errc::kInternal, "the build was cut off");
    const OnBuildWord say = [build](const BuildWord& word) { build->say(word); };
    try {
      done = co_await build->work(say, build->cancel);
    } catch (const std::exception& error) {
      log::warn("a build threw", {{"error", error.what()}});
      done = fail(Errc::kInternal, "the build failed here, not in its sandbox");
    }
    if (!done && self->stopped) done = stopping();
    build->work = nullptr;
    build->running = false;
    // Whoever asks from now on looks at what it made first.
    self->forget(*build);
    build->done = std::move(done);
    build->bell.ring();
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
                                    OnBuildWord say, std::shared_ptr<node::CancelFlag> cancel) {
  const std::shared_ptr<State> state = state_;
  if (state->stopped) co_return stopping();
  if (cancel->cancelled()) co_return nobody_waits();
  std::shared_ptr<Build> build = state->under_way(key);
  const bool is_new = build == nullptr;
  if (is_new) {
    CO_TRY_OK(state->check_room(project));
    build = std::make_shared<Build>(state->io, key, project, std::move(work));
    state->all.insert_or_assign(key, build);
  } else if (say) {
    const std::deque<BuildWord> last = build->last;
    for (const BuildWord& word : last) say(word);
  }
  build->note_project(project);
  // Also when the coroutine is destroyed instead of resumed.
  struct Place {
    std::shared_ptr<State> state;
    std::shared_ptr<Build> build;
    std::list<OnBuildWord>::iterator at;
    std::shared_ptr<node::CancelFlag> cancel;
    ~Place() {
      cancel->on_cancel({});
      build->listeners.erase(at);
      state->left(build);
    }
  };
  const auto at = build->listeners.insert(build->listeners.end(), std::move(say));
  const Place place{state, build, at, cancel};
  if (is_new) {
    state->line.push(project, build);
    state->serve();
    if (!build->running) build->say({BuildPhase::kQueued, ""});
  }
  cancel->on_cancel([build] { build->bell.ring(); });
  while (!build->done && !cancel->cancelled()) {
    co_await build->bell.wait(std::chrono::steady_clock::time_point::max());
  }
  if (!build->done) co_return nobody_waits();
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
      build->bell.ring();
    }
  }
}

}  // namespace glovebox::control
