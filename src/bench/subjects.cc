#include "bench/subjects.h"

#include <tuple>

#include "bench/baselines.h"
#include "bench/load.h"

namespace glovebox::bench {
namespace {

using std::chrono::milliseconds;

constexpr unsigned kClients = 16;
constexpr unsigned kBurst = 100;
constexpr milliseconds kTemplateWarmTimeout{30'000};

const Job kHello{R"j({"language":"python","code":"print(1+1)"})j", R"(2\n)"};
const Job kReused{R"j({"language":"python","code":"print(1+1)","profile":{"reuse":"sandbox"}})j",
                  R"(2\n)", R"("reused":)"};
const Job kSharing{
    R"j({"language":"python","code":"print(1+1)","profile":{"reuse":"interpreter"}})j", R"(2\n)",
    R"("reused":)"};
const Job kReusedBatch{
    R"j({"language":"python","code":"print(1+1)","profile":{"reuse":"sandbox"})j", R"(2\n)",
    R"("reused":)"};
const Job kSharingBatch{
    R"j({"language":"python","code":"print(1+1)","profile":{"reuse":"interpreter"})j", R"(2\n)",
    R"("reused":)"};
constexpr unsigned kBatchInputs = 1000;
const Job kCold{R"j({"language":"python","code":"print(1+1)","cold":true})j", R"(2\n)"};
// The request of the Python SDK for a small function; its tests compare the two.
const Job kFunction{
    R"j({"template":"python","code":"__import__(\"sys\").modules[\"_glovebox_runner\"].load()j"
    R"j(\"function_call\").main()","stdin":"{\"v\":2,\"module\":\"example\",\"package\":fals)j"
    R"j(e,\"function\":\"square\",\"file\":\"example.py\",\"source\":\"from glovebox import )j"
    R"j(sandboxed\\n\\n\\n@sandboxed\\ndef square(number):\\n    return number * number\\n\")j"
    R"j(,\"before\":[],\"code\":null,\"bundle\":null,\"mark\":\"\",\"large\":null,\"values\":[[],[],)j"
    R"j([]],\"call\":[[7],{}]}"})j",
    "", R"({\"value\":49})"};
const Job kShell{R"j({"language":"shell","code":"echo hello"})j", R"(hello\n)"};
const Job kDataRun{R"j({"template":"python-data","code":")j"
                   R"j(import numpy, pandas, matplotlib.pyplot\nprint(numpy.arange(3).sum())"})j",
                   R"(3\n)"};
constexpr const char* kImports =
    "import numpy, pandas, matplotlib.pyplot\nprint(numpy.arange(3).sum())";

Subject process(std::string name, std::string baseline, Command command, unsigned calls,
                std::string skipped = "") {
  Subject one{make_row(std::move(name), std::move(baseline)), nullptr};
  one.row.skipped = skipped.empty() ? unavailable_reason(command) : std::move(skipped);
  one.measure = [command = std::move(command), calls] {
    return run_in_turn([&] { return run_timed(command); }, calls);
  };
  return one;
}

Subject floor(std::string name, Result<Timed> (*run)(), unsigned calls) {
  Subject one{make_row(std::move(name)), [run, calls] { return run_in_turn(run, calls); }};
  if (const auto tried = run(); !tried) one.row.skipped = tried.error().message();
  return one;
}

// Runs on the server. Warm runs are measured after an interpreter has been warmed.
enum class Begin { kWarm, kFresh };

Subject served(Row row, const client::ServerLocation& location, const Job& job, Begin begin,
               std::function<Round()> measure) {
  Subject one{std::move(row), std::move(measure)};
  const auto works = begin == Begin::kWarm ? wait_until_warm(location, job, kTemplateWarmTimeout)
                                           : try_call(location, job);
  if (!works) one.row.skipped = works.error().message();
  return one;
}

}  // namespace

const std::vector<std::string> kPythonHello = {"/usr/bin/python3", "-c", "print(1+1)"};

std::vector<Subject> make_subjects(const client::ServerLocation& location, const Effort& effort,
                                   const OciBundle* bundle) {
  const auto in_turn = [&location](const Job& job, unsigned calls, int pause_ms) {
    return [&location, job, calls, pause_ms] {
      return call_in_turn(location, job, calls, milliseconds(pause_ms));
    };
  };
  const milliseconds load_time(effort.load_ms);
  std::vector<Subject> all;
  all.push_back(floor("floor-fork", empty_process_timed, effort.floor));
  all.push_back(floor("floor-namespaces", empty_namespaces_timed, effort.floor));

  all.push_back(process("bwrap-python", "", bwrap(kPythonHello), effort.processes));
  all.push_back(served(make_row("python-paced", "bwrap-python",
                                ratio_at_most(1.0 / 10, "p50 <= 1/10, p99 <= 5 p50", 5)),
                       location, kHello, Begin::kWarm, in_turn(kHello, effort.paced, 10)));
  all.push_back(
      served(make_row("function-paced", "python-paced", ratio_at_most(1.5, "p50 <= 1.5", 0)),
             location, kFunction, Begin::kWarm, in_turn(kFunction, effort.paced, 10)));
  all.push_back(served(
      make_row("python-back-to-back", "bwrap-python", ratio_at_most(1.0 / 6, "p50 <= 1/6", 0)),
      location, kHello, Begin::kWarm, in_turn(kHello, effort.back_to_back, 0)));
  all.push_back(served(make_row("reuse-sandbox-back-to-back", "bwrap-python",
                                ratio_at_most(1.0 / 10, "p50 <= 1/10", 0)),
                       location, kReused, Begin::kWarm, in_turn(kReused, effort.back_to_back, 0)));
  all.push_back(served(make_row("reuse-sandbox-paced", "python-paced"), location, kReused,
                       Begin::kWarm, in_turn(kReused, effort.paced, 10)));
  all.push_back(served(
      make_row("reuse-interpreter-back-to-back", "bwrap-python",
               {.kind = Bar::Kind::kP50AtMost, .value = 0.5, .tail = 0, .text = "p50 <= 0.5 ms"}),
      location, kSharing, Begin::kWarm, in_turn(kSharing, effort.back_to_back, 0)));
  all.push_back(served(make_row("reuse-interpreter-paced", "python-paced"), location, kSharing,
                       Begin::kWarm, in_turn(kSharing, effort.paced, 10)));
  all.push_back(served(make_row("python-cold", "bwrap-python"), location, kCold, Begin::kFresh,
                       in_turn(kCold, effort.cold, 10)));

  const Command shell = bwrap({"/bin/sh", "-c", "echo hello"});
  all.push_back(process("bwrap-shell", "", shell, effort.processes));
  all.push_back(served(make_row("shell-paced", "bwrap-shell"), location, kShell, Begin::kFresh,
                       in_turn(kShell, effort.shell, 10)));

  const Command imports = bwrap({"/usr/bin/python3", "-c", kImports});
  all.push_back(process("bwrap-data", "", imports, effort.slow_processes));
  all.push_back(
      served(make_row("data-paced", "bwrap-data", ratio_at_most(1.0 / 150, "p50 <= 1/150", 0)),
             location, kDataRun, Begin::kWarm, in_turn(kDataRun, effort.data, 20)));

  const Command hello = bwrap(kPythonHello);
  Subject loops{make_row("bwrap-two-loops"),
                [hello, load_time] { return run_side_by_side(hello, 2, load_time); }};
  loops.row.measure = Measure::kRate;
  loops.row.skipped = unavailable_reason(hello);
  all.push_back(std::move(loops));
  Row clients = make_row(
      "python-16-clients", "bwrap-two-loops",
      {.kind = Bar::Kind::kRatioAtLeast, .value = 4, .tail = 0, .text = "per second >= 4"});
  clients.measure = Measure::kRate;
  all.push_back(served(std::move(clients), location, kHello, Begin::kWarm, [&location, load_time] {
    return call_from_many(location, kHello, kClients, load_time);
  }));
  Row reusing = make_row(
      "reuse-sandbox-16-clients", "bwrap-two-loops",
      {.kind = Bar::Kind::kRatioAtLeast, .value = 6, .tail = 0, .text = "per second >= 6"});
  reusing.measure = Measure::kRate;
  all.push_back(served(std::move(reusing), location, kReused, Begin::kWarm, [&location, load_time] {
    return call_from_many(location, kReused, kClients, load_time);
  }));
  Row sharing = make_row(
      "reuse-interpreter-16-clients", "bwrap-two-loops",
      {.kind = Bar::Kind::kRatioAtLeast, .value = 15, .tail = 0, .text = "per second >= 15"});
  sharing.measure = Measure::kRate;
  all.push_back(served(
      std::move(sharing), location, kSharing, Begin::kWarm,
      [&location, load_time] { return call_from_many(location, kSharing, kClients, load_time); }));
  for (const auto& [name, once, job] :
       {std::tuple("batch-sandbox-1000", kReused, kReusedBatch),
        std::tuple("batch-interpreter-1000", kSharing, kSharingBatch)}) {
    Row batch = make_row(name, "bwrap-two-loops");
    batch.measure = Measure::kRate;
    all.push_back(served(std::move(batch), location, once, Begin::kWarm,
                         [&location, job = job, requests = effort.batches] {
                           return call_batches(location, job, kBatchInputs, requests);
                         }));
  }
  const unsigned bursts = effort.bursts;
  all.push_back(served(
      make_row(
          "python-burst-100", "",
          {.kind = Bar::Kind::kP99AtMost, .value = 250, .tail = 0, .text = "the last <= 250 ms"}),
      location, kHello, Begin::kWarm,
      [&location, bursts] { return call_at_once(location, kHello, kBurst, bursts); }));
  // Its pool has grown for the first one.
  all.push_back(served(
      make_row(
          "python-burst-100-again", "",
          {.kind = Bar::Kind::kP50AtMost, .value = 180, .tail = 0, .text = "the last <= 180 ms"}),
      location, kHello, Begin::kWarm,
      [&location, bursts] { return call_at_once(location, kHello, kBurst, bursts); }));

  all.push_back(process("runc-python", "bwrap-python",
                        bundle != nullptr ? runc_run(bundle->path()) : Command{{"runc"}, {}},
                        effort.containers, bundle != nullptr ? "" : "cannot create a bundle"));
  Docker docker = docker_python({"python3", "-c", "print(1+1)"});
  const std::string skipped = docker.skipped;
  Subject container{make_row("docker-python", "bwrap-python"), nullptr};
  container.row.skipped = skipped;
  container.measure = [command = std::move(docker.command), calls = effort.containers] {
    return run_in_turn([&] { return run_timed(command); }, calls);
  };
  all.push_back(std::move(container));
  return all;
}

}  // namespace glovebox::bench
