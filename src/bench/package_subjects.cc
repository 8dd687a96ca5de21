#include "bench/package_subjects.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "bench/load.h"
#include "bench/network_fixture.h"
#include "bench/process.h"
#include "bench/process_memory.h"

namespace glovebox::bench {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBuildsWithin{600'000};
constexpr milliseconds kPackageWarmTimeout{60'000};
constexpr milliseconds kCallPause{20};
constexpr unsigned kLeastRounds = 5;  // the two times are close to each other
// Memory limit of each of the fifty sets: its zygote and warm sandboxes, as the proportional set
// size of all processes. The change of the host's available memory is only reported, since other
// programs change it too.
constexpr double kMostOfASetMb = 20;

const Job kDataTemplateRun{
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

// The first call builds the set; later calls find a warm interpreter.
Result<> build(const client::ServerLocation& location, const Job& job) {
  Caller caller(location, kBuildsWithin);
  if (!caller.call(job)) return fail(Errc::kUnavailable, caller.last_problem());
  return wait_until_warm(location, job, kPackageWarmTimeout);
}

// Sets of one small package each, all with their own interpreters.
class ManySets {
 public:
  ManySets(const client::ServerLocation& location, std::function<pid_t()> launcher_pid)
      : location_(location), launcher_pid_(std::move(launcher_pid)) {}

  // The reason why it is not possible; empty: it is.
  std::string build(unsigned count) {
    const MemoryUse before = memory_of_process_tree(launcher_pid_());
    const auto began = Clock::now();
    Caller builder(location_, kBuildsWithin);
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
    wait_until_settled(location_);
    const MemoryUse after = memory_of_process_tree(launcher_pid_());
    each_mb_ = mb_of(after.all_kib, before.all_kib) / std::max(count, 1u);
    char text[400];
    std::snprintf(
        text, sizeof text,
        "%u sets built in %.0f s; the first call after a build took %.1f ms, %u of them cold; "
        "%llu new zygotes, %.1f MB each (PSS); per set, all processes use %.1f MB and the host has "
        "%.1f MB less",
        count, took_s, percentile(first, 0.5), cold,
        static_cast<unsigned long long>(after.zygotes - std::min(before.zygotes, after.zygotes)),
        after.zygotes > before.zygotes ? mb_of(after.zygotes_kib, before.zygotes_kib) /
                                             static_cast<double>(after.zygotes - before.zygotes)
                                       : 0,
        each_mb_, mb_of(before.available_kib, after.available_kib) / std::max(count, 1u));
    note_ = text;
    return "";
  }

  // Calls every set in turn. A set that is not warm counts as an error.
  Round call_all() const {
    Round round;
    Caller caller(location_);
    (void)caller.get("/health");  // connects
    for (const Job& job : jobs_) {
      if (interrupted) break;
      std::this_thread::sleep_for(kCallPause);
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
    return jobs_.empty() ? Round{} : call_in_turn(location_, jobs_.front(), calls, kCallPause);
  }

 private:
  static double mb_of(std::uint64_t more_kib, std::uint64_t less_kib) {
    return (static_cast<double>(more_kib) - static_cast<double>(less_kib)) / 1024;
  }

  client::ServerLocation location_;
  std::function<pid_t()> launcher_pid_;
  std::vector<Job> jobs_;
  double each_mb_ = 0;
  std::string note_;
};

// Appends a value to an environment variable that may be set already.
std::string joined(const char* name, const std::string& added) {
  const char* theirs = std::getenv(name);
  const std::string before =
      theirs != nullptr && theirs[0] != '\0' ? std::string(theirs) + " " : "";
  return std::string(name) + "=" + before + added;
}

}  // namespace

PackageFixture PackageFixture::make(const Effort& effort) {
  PackageFixture fixture;
  const std::vector<net::IpAddress> all = addresses_of_this_host();
  const auto address = pick_address(all);
  if (!address) {
    fixture.unavailable_reason = address.error().message();
    return fixture;
  }
  auto index = PackageIndexServer::serve(*address, effort.sets);
  if (index) {
    fixture.index = std::move(*index);
  } else {
    fixture.unavailable_reason = index.error().message();
  }
  return fixture;
}

std::vector<std::string> PackageFixture::environment() const {
  if (index == nullptr) return {};
  return {joined("PIP_EXTRA_INDEX_URL", index->url()), joined("PIP_TRUSTED_HOST", index->host())};
}

std::vector<Subject> make_package_subjects(const client::ServerLocation& location,
                                           const PackageFixture* fixture,
                                           const std::function<pid_t()>& launcher_pid,
                                           const Effort& effort) {
  std::vector<Subject> all;
  std::string why_none;
  const auto add = [&](Row made, const std::string& unavailable_reason,
                       std::function<Round()> measure) {
    made.skipped = unavailable_reason;
    all.push_back({std::move(made), std::move(measure)});
  };
  const auto paced = [&](Row made, const Job& job, unsigned calls) {
    made.least_rounds = effort.rounds > 1 ? kLeastRounds : 0;
    add(std::move(made), why_none,
        [&location, &job, calls] { return call_in_turn(location, job, calls, kCallPause); });
  };
  if (const auto warm = wait_until_warm(location, kDataTemplateRun, kPackageWarmTimeout); !warm) {
    why_none = warm.error().message();
  }
  for (const Job* job : {&kThree, &kThreeImported}) {
    if (!why_none.empty() || interrupted) continue;
    if (const auto built = build(location, *job); !built) why_none = built.error().message();
  }
  paced(make_row("deps-data-template"), kDataTemplateRun, effort.data);
  paced(make_row("deps-paced", "deps-data-template", ratio_at_most(1.2, "p50 <= 1.2")), kThree,
        effort.data);
  paced(make_row("deps-imports-paced", "deps-data-template"), kThreeImported, effort.cold);

  const auto sets = std::make_shared<ManySets>(location, launcher_pid);
  std::string why_no_sets = fixture == nullptr ? "only with a server that this command starts"
                                               : fixture->unavailable_reason;
  if (why_no_sets.empty()) why_no_sets = sets->build(effort.sets);
  const std::string name = "deps-" + std::to_string(effort.sets) + "-sets";
  add(make_row("deps-one-set"), why_no_sets, [sets] { return sets->call_one(); });
  add(make_row(name, "deps-one-set", ratio_at_most(2, "all warm, p50 <= 2, <= 20 MB each")),
      why_no_sets, [sets] { return sets->call_all(); });
  return all;
}

}  // namespace glovebox::bench
