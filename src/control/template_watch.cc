#include "control/template_watch.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/json.hpp>
#include <map>

#include "control/template_book.h"
#include "control/words.h"
#include "model/template_rules.h"
#include "wire/utf8.h"

namespace glovebox::control {
namespace {

namespace json = boost::json;

struct Seen {
  RuntimeState state;
  std::uint32_t generation;
  bool operator==(const Seen&) const = default;
};

// A template, and whom it concerns: everybody, or the project whose own it is.
struct Watched {
  std::string id;
  std::string project;
  TemplateStatus status;
};

std::vector<Watched> all_templates(const App& app) {
  std::vector<Watched> all;
  for (TemplateStatus& status : app.node.templates()) {
    std::string name = status.description.name;
    all.push_back({std::move(name), "", std::move(status)});
  }
  if (app.templates == nullptr) return all;
  for (const store::TemplateRecord& made : app.templates->list("*")) {
    all.push_back({made.definition.id, made.project, app.templates->status_of(made)});
  }
  return all;
}

void tell(App& app, const std::string& project, const TemplateStatus& status) {
  json::object data{{"name", status.description.name},
                    {"state", state_name(status.state)},
                    {"generation", status.generation}};
  data["error"] =
      status.error.empty() ? json::value(nullptr) : json::value(wire::to_utf8(status.error));
  app.events.publish(project, "template.changed", json::serialize(data));
}

}  // namespace

boost::asio::awaitable<void> watch_templates(App& app) {
  std::map<std::string, Seen> seen;
  boost::asio::steady_timer timer(app.io);
  while (!app.stopping) {
    const std::vector<Watched> all = all_templates(app);
    std::erase_if(seen, [&all](const auto& one) {
      return is_own_template_id(one.first) &&
             std::none_of(all.begin(), all.end(),
                          [&one](const Watched& watched) { return watched.id == one.first; });
    });
    for (const auto& [id, project, status] : all) {
      const Seen now{status.state, status.generation};
      const auto [place, is_new] = seen.try_emplace(id, now);
      // What was there when we came is no change.
      if (is_new || place->second == now) continue;
      place->second = now;
      tell(app, project, status);
    }
    timer.expires_after(std::chrono::seconds(1));
    co_await timer.async_wait(kAwaitTuple);
  }
}

asio::awaitable<void> wait_for_templates(App& app) {
  constexpr std::chrono::milliseconds kStep{20};
  constexpr int kSteps = 100;
  const auto is_told = [&app] {
    // Nearly always there, and cheap to ask.
    const bool is_any = app.node.find_template("base") != nullptr || !app.node.templates().empty();
    return is_any && (app.templates == nullptr || app.templates->settled());
  };
  if (is_told()) co_return;
  asio::steady_timer timer(app.io);
  for (int i = 0; i < kSteps && !is_told(); ++i) {
    timer.expires_after(kStep);
    co_await timer.async_wait(kAwaitTuple);
  }
}

}  // namespace glovebox::control
