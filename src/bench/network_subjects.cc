#include "bench/network_subjects.h"

#include <memory>

namespace glovebox::bench {
namespace {

using std::chrono::milliseconds;

constexpr unsigned kStartRounds = 5;  // the two times are close to each other
constexpr unsigned kManyConnections = 1000;
constexpr milliseconds kNetworkWarmTimeout{30'000};

const Job kRunWithoutNetwork{R"j({"language":"python","code":"print(1+1)"})j", R"(2\n)"};
const Job kRunWithNetwork{R"j({"language":"python","code":"print(1+1)","profile":{"net":"all"}})j",
                          R"(2\n)", R"("network":{)"};

Bar bar(Bar::Kind kind, double value, std::string text) {
  return {.kind = kind, .value = value, .tail = 0, .text = std::move(text)};
}

}  // namespace

std::vector<Subject> make_network_subjects(const MeasuredServer& server, const Effort& effort) {
  std::vector<Subject> all;
  const NetworkFixture& fixture = server.fixture;
  std::string unavailable = fixture.unavailable_reason;
  if (unavailable.empty()) {
    const auto works = wait_until_warm(server.location, kRunWithNetwork, kNetworkWarmTimeout);
    if (!works) unavailable = works.error().message();
  }
  const std::string tls_unavailable =
      unavailable.empty() ? fixture.tls_unavailable_reason : unavailable;
  const auto add = [&](Row made, const std::string& unavailable_reason,
                       std::function<Round()> measure) {
    made.skipped = unavailable_reason;
    all.push_back({std::move(made), std::move(measure)});
  };
  const auto started = [&](Row made, const Job& job) {
    made.least_rounds = effort.rounds > 1 ? kStartRounds : 0;
    add(std::move(made), unavailable, [&server, &job, n = effort.paced] {
      return call_in_turn(server.location, job, n, milliseconds(10));
    });
  };
  started(make_row("net-none-paced"), kRunWithoutNetwork);
  started(
      make_row("net-all-paced", "net-none-paced", bar(Bar::Kind::kRatioAtMost, 1.3, "p50 <= 1.3")),
      kRunWithNetwork);

  // One stream in each direction, and the same program over loopback without a sandbox.
  const std::string size = std::to_string(effort.stream_mb) + "m";
  using Program = std::vector<std::string> (*)(const NetworkTarget&, unsigned, unsigned);
  const auto stream = [&](const std::string& way, Program program) {
    const unsigned mb = effort.stream_mb;
    const unsigned count = effort.streams;
    const std::string name = way + "-" + size;
    add(make_row("loopback-" + name), unavailable, [&fixture, program, mb, count] {
      return run_outside(program({fixture.near->address(), fixture.near->port()}, mb, count));
    });
    add(make_row("net-" + name, "loopback-" + name, bar(Bar::Kind::kRatioAtMost, 2, "time <= 2")),
        unavailable, [&server, program, mb, count] {
          const NetworkPeer& far = *server.fixture.far;
          return run_inside(server.location, R"("all")",
                            program({far.address(), far.port()}, mb, count));
        });
  };
  stream("send", send_program);
  stream("receive", receive_program);

  const auto https = [&fixture, n = effort.connects](FirstOf first) {
    return https_program({fixture.far->address(), fixture.tls->port()}, NetworkFixture::kName,
                         fixture.tls->certificate(), n, first);
  };
  add(make_row("direct-https"), tls_unavailable,
      [https] { return run_outside(https(FirstOf::kConnect)); });
  add(make_row("net-https", "direct-https", bar(Bar::Kind::kAddedMsAtMost, 2, "p50 + 2 ms")),
      tls_unavailable, [&server, https] {
        const std::string net =
            std::string(R"({"allow":[")") + NetworkFixture::kName + R"(:443"]})";
        return run_inside(server.location, net, https(FirstOf::kResolve));
      });

  // One program measures both rows: the second reports what the first has measured.
  const auto relays = [&](unsigned open, Row connects, Row echoes) {
    const auto last = std::make_shared<Round>();
    add(std::move(connects), unavailable, [&server, last, open, n = effort.connects] {
      RelayRounds rounds = measure_relays(server, open, n, kManyConnections);
      *last = std::move(rounds.echoes);
      return rounds.connects;
    });
    add(std::move(echoes), unavailable, [last] { return *last; });
  };
  relays(1, make_row("net-connect-1-open"), make_row("net-echo-1-open"));
  relays(kManyConnections,
         make_row("net-connect-1000-open", "net-connect-1-open",
                  bar(Bar::Kind::kRatioAtMost, 1.5, "p50 <= 1.5")),
         make_row("net-echo-1000-open", "net-echo-1-open",
                  bar(Bar::Kind::kRatioAtMost, 2, "p50 <= 2, all alive")));

  const unsigned time = effort.beside_ms;
  const Bar tail = bar(Bar::Kind::kP99RatioAtMost, 2, "p99 <= 2");
  const auto beside = [&](const std::string& what,
                          Round (*measure)(const MeasuredServer&, NeighbourLoad, unsigned)) {
    const auto among = [&](Row made, NeighbourLoad load) {
      add(std::move(made), unavailable,
          [&server, measure, load, time] { return measure(server, load, time); });
    };
    among(make_row(what + "-beside-idle"), NeighbourLoad::kNone);
    among(make_row(what + "-beside-spin", what + "-beside-idle"), NeighbourLoad::kSpin);
    among(make_row(what + "-beside-flood", what + "-beside-spin", tail), NeighbourLoad::kFlood);
  };
  beside("run", [](const MeasuredServer& where, NeighbourLoad load, unsigned for_ms) {
    return runs_beside(where, load, kRunWithNetwork, for_ms);
  });
  beside("relay", echoes_beside);
  return all;
}

}  // namespace glovebox::bench
