#include "client/bench/deps_subjects.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "client/bench/deps_memory.h"
#include "client/bench/load.h"
#include "client/bench/net_world.h"
#include "client/bench/process.h"
#include "client/bench/report.h"

namespace glovebox::bench {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBuildsWithin{600'000};
constexpr milliseconds kSetWarmsWithin{60'000};
constexpr milliseconds kPauseBetweenRuns{20};
constexpr unsigned kLeastRounds = 5;  // two times that are close to each other
// What fifty sets may take of the host, each: its zygote, and what waits and was made for it, by
// the proportional sizes of all processes. What the host has less is told, too; others change that.
constexpr double kMostOfASetMb = 20;

const Job kDataTemplate{
    R"j({"template":"python-data","code":")j"
    R"j(import numpy, pandas, matplotlib.pyplot\nprint(numpy.arange(3).sum())"})j",
    R"(3\n)"};
const Job kThree{R"j({"language":"python","profile":{"dependencies":{"packages":["requests",)j"
                 R"j("pydantic","numpy"],"preload":["requests","pydantic","numpy"]}},"code":")j"
                 R"j(import numpy, pydantic, requests\nprint(numpy.arange(3).sum())"})j",
                 R"(3\n)"};
const Job kThreeImported{
    R"j({"language":"python","profile":{"dependencies":["requests","pydantic","numpy"]},"code":")j"
    R"j(import numpy, pydantic, requests\nprint(numpy.arange(3).sum())"})j",
    R"(3\n)"};

Job job_of_set(unsigned i) {
  const std::string number = std::to_string(i);
  const std::string module = "gbx_bench_" + number;
  return {R"j({"language":"python","profile":{"dependencies":{"packages":["gbx-bench-)j" + number +
              R"j("],"preload":[")j" + module + R"j("]}},"code":"import )j" + module +
              R"j(\nprint()j" + module + R"j(.number)"})j",
          number + R"j(\n)j"};
}

// A first call builds the set; the next ones find its interpreter waiting.
Result<> build_set(const client::Place& place, const Job& job) {
  Caller caller(place, kBuildsWithin);
  if (!caller.call(job)) return fail(Errc::kUnavailable, caller.last_problem());
  return wait_until_warm(place, job, kSetWarmsWithin);
}

// Sets with one small package each, all with interpreters of their own.
class ManySets {
 public:
  ManySets(const client::Place& place, std::function<pid_t()> launcher_pid)
      : place_(place), launcher_pid_(std::move(launcher_pid)) {}

  // Why not, or nothing.
  std::string build(unsigned count) {
    const HeldMemory before = held_below(launcher_pid_());
    const auto began = Clock::now();
    Caller builder(place_, kBuildsWithin);
    std::vector<double> first;
    unsigned cold = 0;
    for (unsigned i = 0; i < count && !interrupted; ++i) {
      const Job job = job_of_set(i);
      if (!builder.call(job)) return builder.last_problem();
      bool is_warm = false;
      const auto called = Clock::now();
      if (!builder.call(job, &is_warm)) return builder.last_problem();
      first.push_back(ms_since(called));
      if (!is_warm) ++cold;
      jobs_.push_back(job);
    }
    const double took_s = ms_since(began) / 1000;
    wait_until_settled(place_);
    const HeldMemory after = held_below(launcher_pid_());
    each_mb_ = mb_of(after.all_kib, before.all_kib) / std::max(count, 1u);
    char text[400];
    std::snprintf(
        text, sizeof text,
        "%u sets built in %.0f s; the first call after its build took %.1f ms, %u of them cold; "
        "%llu zygotes more, %.1f MB each (PSS), all processes %.1f MB a set; the host has %.1f MB "
        "a set less",
        count, took_s, percentile(first, 0.5), cold,
        static_cast<unsigned long long>(after.zygotes - std::min(before.zygotes, after.zygotes)),
        after.zygotes > before.zygotes ? mb_of(after.zygotes_kib, before.zygotes_kib) /
                                             static_cast<double>(after.zygotes - before.zygotes)
                                       : 0,
        each_mb_, mb_of(before.available_kib, after.available_kib) / std::max(count, 1u));
    note_ = text;
    return "";
  }

  // Every set in turn. One that is not warm was not alive.
  Round call_all() const {
    Round round;
    Caller caller(place_);
    (void)caller.get("/health");  // connects
    for (const Job& job : jobs_) {
      if (interrupted) break;
      std::this_thread::sleep_for(kPauseBetweenRuns);
      bool is_warm = false;
      const auto began = Clock::now();
      if (caller.call(job, &is_warm) && is_warm) {
        round.ms.push_back(ms_since(began));
      } else {
        ++round.errors;
      }
    }
    if (each_mb_ > kMostOfASetMb) ++round.errors;
    round.runs = round.ms.size();
    round.note = note_;
    return round;
  }

  Round call_one() const {
    const auto calls = static_cast<unsigned>(jobs_.size());
    return jobs_.empty() ? Round{} : call_in_turn(place_, jobs_.front(), calls, kPauseBetweenRuns);
  }

 private:
  static double mb_of(std::uint64_t more_kib, std::uint64_t less_kib) {
    return (static_cast<double>(more_kib) - static_cast<double>(less_kib)) / 1024;
  }

  client::Place place_;
  std::function<pid_t()> launcher_pid_;
  std::vector<Job> jobs_;
  double each_mb_ = 0;
  std::string note_;
};

// What somebody has set already stays beside ours.
std::string joined(const char* name, const std::string& ours) {
  const char* theirs = std::getenv(name);
  const std::string before =
      theirs != nullptr && theirs[0] != '\0' ? std::string(theirs) + " " : "";
  return std::string(name) + "=" + before + ours;
}

}  // namespace

DepsWorld DepsWorld::make(const Effort& effort) {
  DepsWorld world;
  const std::vector<net::IpAddress> all = addresses_of_this_host();
  const auto address = pick_address(all);
  if (!address) {
    world.why_not = address.error().message();
    return world;
  }
  auto index = DepsIndex::serve(*address, effort.sets);
  if (index) {
    world.index = std::move(*index);
  } else {
    world.why_not = index.error().message();
  }
  return world;
}

std::vector<std::string> DepsWorld::environment() const {
  if (index == nullptr) return {};
  return {joined("PIP_EXTRA_INDEX_URL", index->url()), joined("PIP_TRUSTED_HOST", index->host())};
}

std::vector<Subject> make_deps_subjects(const client::Place& place, const DepsWorld* world,
                                        const std::function<pid_t()>& launcher_pid,
                                        const Effort& effort) {
  std::vector<Subject> all;
  std::string why_none;
  const auto add = [&](Row made, const std::string& why_not, std::function<Round()> measure) {
    made.skipped = why_not;
    all.push_back({std::move(made), std::move(measure)});
  };
  const auto paced = [&](Row made, const Job& job, unsigned calls) {
    made.least_rounds = effort.rounds > 1 ? kLeastRounds : 0;
    add(std::move(made), why_none,
        [&place, &job, calls] { return call_in_turn(place, job, calls, kPauseBetweenRuns); });
  };
  if (const auto warm = wait_until_warm(place, kDataTemplate, kSetWarmsWithin); !warm) {
    why_none = warm.error().message();
  }
  for (const Job* job : {&kThree, &kThreeImported}) {
    if (!why_none.empty() || interrupted) continue;
    if (const auto built = build_set(place, *job); !built) why_none = built.error().message();
  }
  paced(make_row("deps-data-template"), kDataTemplate, effort.data);
  paced(make_row("deps-paced", "deps-data-template", ratio_at_most(1.2, "p50 <= 1.2")), kThree,
        effort.data);
  paced(make_row("deps-imports-paced", "deps-data-template"), kThreeImported, effort.cold);

  const auto sets = std::make_shared<ManySets>(place, launcher_pid);
  std::string why_no_sets =
      world == nullptr ? "only with a server that it starts itself" : world->why_not;
  if (why_no_sets.empty()) why_no_sets = sets->build(effort.sets);
  const std::string name = "deps-" + std::to_string(effort.sets) + "-sets";
  add(make_row("deps-one-set"), why_no_sets, [sets] { return sets->call_one(); });
  add(make_row(name, "deps-one-set", ratio_at_most(2, "all warm, p50 <= 2, <= 20 MB each")),
      why_no_sets, [sets] { return sets->call_all(); });
  return all;
}

}  // namespace glovebox::bench
