#include "api/network_events.h"

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <map>
#include <memory>

#include "base/wall_clock.h"
#include "wire/network/network_json.h"

namespace glovebox::api {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

// Without a limit, a project with many connection attempts would displace all other events from
// its listeners' queues, and other projects' events from the replay buffer.
constexpr double kPerSecond = 10;
constexpr double kAtOnce = 50;
constexpr std::size_t kMaxEventIds = 100;  // sandboxes named in one event
constexpr std::size_t kProjects = 1024;    // with a remembered event count

struct Allowance {
  double left = kAtOnce;
  Clock::time_point since = Clock::now();
  std::uint64_t left_out = 0;

  bool take() {
    const Clock::time_point now = Clock::now();
    left =
        std::min(kAtOnce, left + std::chrono::duration<double>(now - since).count() * kPerSecond);
    since = now;
    if (left < 1) {
      ++left_out;
      return false;
    }
    left -= 1;
    return true;
  }
};

std::string decided_event(const node::NetworkService::Decided& decided, std::uint64_t left_out) {
  json::object data = wire::decision_json(decided.decision);
  data["sandbox"] = decided.id.str();
  data["at"] = utc_text(wall_clock_ms());
  if (left_out > 0) data["left_out"] = left_out;
  return json::serialize(data);
}

std::string restarted_event(const node::NetworkService::Restarted& restarted) {
  json::array ids;
  for (const SandboxId& id : restarted.ids) {
    if (ids.size() < kMaxEventIds) ids.emplace_back(id.str());
  }
  const json::object data{{"sandboxes", std::move(ids)},
                          {"count", restarted.ids.size()},
                          {"at", utc_text(wall_clock_ms())}};
  return json::serialize(data);
}

}  // namespace

void publish_network_events(node::NetworkService& networks, events::EventHub& events,
                            sessions::Sessions& sessions) {
  auto allowances = std::make_shared<std::map<std::string, Allowance>>();
  networks.on_decided([&events, allowances](const node::NetworkService::Decided& decided) {
    if (allowances->size() >= kProjects && !allowances->contains(decided.tenant)) {
      allowances->clear();
    }
    Allowance& allowance = (*allowances)[decided.tenant];
    if (!allowance.take()) return;
    events.publish(decided.tenant, "network.decided",
                   decided_event(decided, std::exchange(allowance.left_out, 0)));
  });
  networks.on_restarted([&events, &sessions](const node::NetworkService::Restarted& restarted) {
    for (const SandboxId& id : restarted.ids) {
      sessions.note(id, "network",
                    "the network gateway was restarted: open connections were closed; "
                    "reconnect",
                    0);
    }
    events.publish(restarted.tenant, "network.restarted", restarted_event(restarted));
  });
}

}  // namespace glovebox::api
