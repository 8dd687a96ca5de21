#include "client/bench/subjects.h"

#include "client/bench/baselines.h"
#include "client/bench/load.h"
#include "client/bench/report.h"

namespace glovebox::bench {
namespace {

using std::chrono::milliseconds;

constexpr unsigned kClients = 16;
constexpr unsigned kBurst = 100;
constexpr milliseconds kWarmsWithin{30'000};

const Job kHello{R"j({"language":"python","code":"print(1+1)"})j", R"(2\n)"};
const Job kCold{R"j({"language":"python","code":"print(1+1)","cold":true})j", R"(2\n)"};
// What the Python SDK sends for a call of a small function; its tests compare the two.
const Job kFunction{
    R"j({"template":"python","code":"__import__(\"sys\").modules[\"_glovebox_runner\"].load()j"
    R"j(\"function_call\").main()","stdin":"{\"v\":1,\"module\":\"example\",\"package\":fals)j"
    R"j(e,\"function\":\"square\",\"file\":\"example.py\",\"source\":\"from glovebox import )j"
    R"j(sandboxed\\n\\n\\n@sandboxed\\ndef square(number):\\n    return number * number\\n\")j"
    R"j(,\"code\":null,\"large\":null,\"call\":[[7],{}]}"})j",
    "", R"({\"value\":49})"};
const Job kShell{R"j({"language":"shell","code":"echo hello"})j", R"(hello\n)"};
const Job kDataRun{R"j({"template":"python-data","code":")j"
                   R"j(import numpy, pandas, matplotlib.pyplot\nprint(numpy.arange(3).sum())"})j",
                   R"(3\n)"};
constexpr const char* kImports =
    "import numpy, pandas, matplotlib.pyplot\nprint(numpy.arange(3).sum())";

Bar ratio_and_tail_at_most(double value, double tail, std::string text) {
  return {.kind = Bar::Kind::kRatioAtMost, .value = value, .tail = tail, .text = std::move(text)};
}

Subject process(std::string name, std::string baseline, Command command, unsigned calls,
                std::string skipped = "") {
  Subject one{make_row(std::move(name), std::move(baseline)), nullptr};
  one.row.skipped = skipped.empty() ? why_not(command) : std::move(skipped);
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

// Runs on the server. Where an interpreter can wait for them, they are measured once it does.
enum class Begin { kWarm, kFresh };

Subject served(Row row, const client::Place& place, const Job& job, Begin begin,
               std::function<Round()> measure) {
  Subject one{std::move(row), std::move(measure)};
  const auto works =
      begin == Begin::kWarm ? wait_until_warm(place, job, kWarmsWithin) : try_call(place, job);
  if (!works) one.row.skipped = works.error().message();
  return one;
}

}  // namespace

const std::vector<std::string> kPythonHello = {"/usr/bin/python3", "-c", "print(1+1)"};

std::vector<Subject> make_subjects(const client::Place& place, const Effort& effort,
                                   const OciBundle* bundle) {
  const auto in_turn = [&place](const Job& job, unsigned calls, int pause_ms) {
    return [&place, job, calls, pause_ms] {
      return call_in_turn(place, job, calls, milliseconds(pause_ms));
    };
  };
  const milliseconds load_time(effort.load_ms);
  std::vector<Subject> all;
  all.push_back(floor("floor-fork", empty_process_timed, effort.floor));
  all.push_back(floor("floor-namespaces", empty_namespaces_timed, effort.floor));

  all.push_back(process("bwrap-python", "", bwrap(kPythonHello), effort.processes));
  all.push_back(served(make_row("python-paced", "bwrap-python",
                                ratio_and_tail_at_most(1.0 / 10, 5, "p50 <= 1/10, p99 <= 5 p50")),
                       place, kHello, Begin::kWarm, in_turn(kHello, effort.paced, 10)));
  all.push_back(served(
      make_row("function-paced", "python-paced", ratio_and_tail_at_most(1.5, 0, "p50 <= 1.5")),
      place, kFunction, Begin::kWarm, in_turn(kFunction, effort.paced, 10)));
  all.push_back(served(make_row("python-back-to-back", "bwrap-python",
                                ratio_and_tail_at_most(1.0 / 6, 0, "p50 <= 1/6")),
                       place, kHello, Begin::kWarm, in_turn(kHello, effort.back_to_back, 0)));
  all.push_back(served(make_row("python-cold", "bwrap-python"), place, kCold, Begin::kFresh,
                       in_turn(kCold, effort.cold, 10)));

  const Command shell = bwrap({"/bin/sh", "-c", "echo hello"});
  all.push_back(process("bwrap-shell", "", shell, effort.processes));
  all.push_back(served(make_row("shell-paced", "bwrap-shell"), place, kShell, Begin::kFresh,
                       in_turn(kShell, effort.shell, 10)));

  const Command imports = bwrap({"/usr/bin/python3", "-c", kImports});
  all.push_back(process("bwrap-data", "", imports, effort.slow_processes));
  all.push_back(served(
      make_row("data-paced", "bwrap-data", ratio_and_tail_at_most(1.0 / 150, 0, "p50 <= 1/150")),
      place, kDataRun, Begin::kWarm, in_turn(kDataRun, effort.data, 20)));

  const Command hello = bwrap(kPythonHello);
  Subject loops{make_row("bwrap-two-loops"),
                [hello, load_time] { return run_side_by_side(hello, 2, load_time); }};
  loops.row.measure = Measure::kRate;
  loops.row.skipped = why_not(hello);
  all.push_back(std::move(loops));
  Row clients = make_row(
      "python-16-clients", "bwrap-two-loops",
      {.kind = Bar::Kind::kRatioAtLeast, .value = 4, .tail = 0, .text = "per second >= 4"});
  clients.measure = Measure::kRate;
  all.push_back(served(std::move(clients), place, kHello, Begin::kWarm, [&place, load_time] {
    return call_from_many(place, kHello, kClients, load_time);
  }));
  const unsigned bursts = effort.bursts;
  all.push_back(served(
      make_row(
          "python-burst-100", "",
          {.kind = Bar::Kind::kP99AtMost, .value = 250, .tail = 0, .text = "the last <= 250 ms"}),
      place, kHello, Begin::kWarm,
      [&place, bursts] { return call_at_once(place, kHello, kBurst, bursts); }));

  all.push_back(process("runc-python", "bwrap-python",
                        bundle != nullptr ? runc_run(bundle->path()) : Command{{"runc"}, {}},
                        effort.containers, bundle != nullptr ? "" : "no bundle could be made"));
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
