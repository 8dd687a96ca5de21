#include "client/bench/net_subjects.h"

#include <memory>

#include "client/bench/report.h"

namespace glovebox::bench {
namespace {

using std::chrono::milliseconds;

constexpr unsigned kStartRounds = 5;  // two times that are close to each other
constexpr unsigned kManyCalls = 1000;
constexpr milliseconds kNetWarmsWithin{30'000};

const Job kNone{R"j({"language":"python","code":"print(1+1)"})j", R"(2\n)"};
const Job kAll{R"j({"language":"python","code":"print(1+1)","profile":{"net":"all"}})j", R"(2\n)",
               R"("network":{)"};

Bar bar(Bar::Kind kind, double value, std::string text) {
  return {.kind = kind, .value = value, .tail = 0, .text = std::move(text)};
}

}  // namespace

std::vector<Subject> make_net_subjects(const NetServer& server, const Effort& effort) {
  std::vector<Subject> all;
  const NetWorld& world = server.world;
  std::string why_none = world.why_not;
  if (why_none.empty()) {
    const auto works = wait_until_warm(server.place, kAll, kNetWarmsWithin);
    if (!works) why_none = works.error().message();
  }
  const std::string why_no_tls = why_none.empty() ? world.why_not_tls : why_none;
  const auto add = [&](Row made, const std::string& why_not, std::function<Round()> measure) {
    made.skipped = why_not;
    all.push_back({std::move(made), std::move(measure)});
  };
  const auto started = [&](Row made, const Job& job) {
    made.least_rounds = effort.rounds > 1 ? kStartRounds : 0;
    add(std::move(made), why_none, [&server, &job, n = effort.paced] {
      return call_in_turn(server.place, job, n, milliseconds(10));
    });
  };
  started(make_row("net-none-paced"), kNone);
  started(
      make_row("net-all-paced", "net-none-paced", bar(Bar::Kind::kRatioAtMost, 1.3, "p50 <= 1.3")),
      kAll);

  // One stream each way; the same program beside it over loopback, without a sandbox.
  const std::string size = std::to_string(effort.stream_mb) + "m";
  using Program = std::vector<std::string> (*)(const NetTarget&, unsigned, unsigned);
  const auto stream = [&](const std::string& way, Program program) {
    const unsigned mb = effort.stream_mb;
    const unsigned count = effort.streams;
    const std::string name = way + "-" + size;
    add(make_row("loopback-" + name), why_none, [&world, program, mb, count] {
      return run_outside(program({world.near->address(), world.near->port()}, mb, count));
    });
    add(make_row("net-" + name, "loopback-" + name, bar(Bar::Kind::kRatioAtMost, 2, "time <= 2")),
        why_none, [&server, program, mb, count] {
          const NetPeer& far = *server.world.far;
          return run_inside(server.place, R"("all")",
                            program({far.address(), far.port()}, mb, count));
        });
  };
  stream("send", send_program);
  stream("receive", receive_program);

  const auto https = [&world, n = effort.connects](FirstOf first) {
    return https_program({world.far->address(), world.tls->port()}, NetWorld::kName,
                         world.tls->certificate(), n, first);
  };
  add(make_row("direct-https"), why_no_tls,
      [https] { return run_outside(https(FirstOf::kConnect)); });
  add(make_row("net-https", "direct-https", bar(Bar::Kind::kAddedMsAtMost, 2, "p50 + 2 ms")),
      why_no_tls, [&server, https] {
        const std::string net = std::string(R"({"allow":[")") + NetWorld::kName + R"(:443"]})";
        return run_inside(server.place, net, https(FirstOf::kResolve));
      });

  // One program gives the figures of two rows: the second tells what the first has measured.
  const auto relays = [&](unsigned open, Row connects, Row echoes) {
    const auto last = std::make_shared<Round>();
    add(std::move(connects), why_none, [&server, last, open, n = effort.connects] {
      RelayRounds rounds = measure_relays(server, open, n, kManyCalls);
      *last = std::move(rounds.echoes);
      return rounds.connects;
    });
    add(std::move(echoes), why_none, [last] { return *last; });
  };
  relays(1, make_row("net-connect-1-open"), make_row("net-echo-1-open"));
  relays(kManyCalls,
         make_row("net-connect-1000-open", "net-connect-1-open",
                  bar(Bar::Kind::kRatioAtMost, 1.5, "p50 <= 1.5")),
         make_row("net-echo-1000-open", "net-echo-1-open",
                  bar(Bar::Kind::kRatioAtMost, 2, "p50 <= 2, all alive")));

  const unsigned time = effort.beside_ms;
  const Bar tail = bar(Bar::Kind::kP99RatioAtMost, 2, "p99 <= 2");
  const auto beside = [&](const std::string& what,
                          Round (*measure)(const NetServer&, Beside, unsigned)) {
    const auto among = [&](Row made, Beside who) {
      add(std::move(made), why_none,
          [&server, measure, who, time] { return measure(server, who, time); });
    };
    among(make_row(what + "-beside-nobody"), Beside::kNobody);
    among(make_row(what + "-beside-spin", what + "-beside-nobody"), Beside::kSpin);
    among(make_row(what + "-beside-flood", what + "-beside-spin", tail), Beside::kFlood);
  };
  beside("run", [](const NetServer& where, Beside who, unsigned for_ms) {
    return runs_beside(where, who, kAll, for_ms);
  });
  beside("relay", echoes_beside);
  return all;
}

}  // namespace glovebox::bench
