#include "control/template_watch.h"

#include <boost/asio/steady_timer.hpp>
#include <boost/json.hpp>
#include <map>

#include "control/words.h"
#include "wire/utf8.h"

namespace glovebox::control {
namespace {

namespace json = boost::json;

struct Seen {
  RuntimeState state;
  std::uint32_t generation;
  bool operator==(const Seen&) const = default;
};

void tell(App& app, const TemplateStatus& status) {
  json::object data{{"name", status.description.name},
                    {"state", state_name(status.state)},
                    {"generation", status.generation}};
  data["error"] =
      status.error.empty() ? json::value(nullptr) : json::value(wire::to_utf8(status.error));
  app.events.publish("", "template.changed", json::serialize(data));
}

}  // namespace

boost::asio::awaitable<void> watch_templates(App& app) {
  std::map<std::string, Seen> seen;
  boost::asio::steady_timer timer(app.io);
  while (!app.stopping) {
    for (const TemplateStatus& status : app.node.templates()) {
      const Seen now{status.state, status.generation};
      const auto [place, is_new] = seen.try_emplace(status.description.name, now);
      // What was there when we came is no change.
      if (is_new || place->second == now) continue;
      place->second = now;
      tell(app, status);
    }
    timer.expires_after(std::chrono::seconds(1));
    co_await timer.async_wait(kAwaitTuple);
  }
}

asio::awaitable<void> wait_for_templates(App& app) {
  constexpr std::chrono::milliseconds kStep{20};
  constexpr int kSteps = 100;
  if (app.node.find_template("base") != nullptr) co_return;  // always there, and cheap to ask
  asio::steady_timer timer(app.io);
  for (int i = 0; i < kSteps && app.node.templates().empty(); ++i) {
    timer.expires_after(kStep);
    co_await timer.async_wait(kAwaitTuple);
  }
}

}  // namespace glovebox::control
