#include "templates/template_watcher.h"

#include <algorithm>
#include <boost/json.hpp>
#include <map>

#include "base/utf8.h"
#include "model/template_rules.h"
#include "model/template_text.h"

namespace glovebox::templates {
namespace {

namespace json = boost::json;

struct Seen {
  RuntimeState state;
  std::uint32_t generation;
  bool operator==(const Seen&) const = default;
};

}  // namespace

std::vector<TemplateWatcher::Watched> TemplateWatcher::all() const {
  std::vector<Watched> all;
  for (TemplateStatus& status : node_.templates()) {
    std::string name = status.description.name;
    all.push_back({std::move(name), "", std::move(status)});
  }
  for (const store::TemplateRecord& made : templates_.list("*")) {
    all.push_back({made.definition.id, made.project, templates_.status_of(made)});
  }
  return all;
}

void TemplateWatcher::publish(const std::string& project, const TemplateStatus& status) {
  json::object data{{"name", status.description.name},
                    {"state", state_name(status.state)},
                    {"generation", status.generation}};
  data["error"] = status.error.empty() ? json::value(nullptr) : json::value(to_utf8(status.error));
  events_.publish(project, "template.changed", json::serialize(data));
}

asio::awaitable<void> TemplateWatcher::watch() {
  std::map<std::string, Seen> seen;
  while (!is_stopping_) {
    const std::vector<Watched> templates = all();
    std::erase_if(seen, [&templates](const auto& one) {
      return is_dynamic_template_id(one.first) &&
             std::none_of(templates.begin(), templates.end(),
                          [&one](const Watched& watched) { return watched.id == one.first; });
    });
    for (const auto& [id, project, status] : templates) {
      const Seen now{status.state, status.generation};
      const auto [known, is_new] = seen.try_emplace(id, now);
      // What existed at the start is no change.
      if (is_new || known->second == now) continue;
      known->second = now;
      publish(project, status);
    }
    timer_.expires_after(std::chrono::seconds(1));
    co_await timer_.async_wait(kAwaitTuple);
  }
}

void TemplateWatcher::stop() {
  is_stopping_ = true;
  timer_.cancel();
}

bool TemplateWatcher::is_known() const {
  // "base" is nearly always there, and cheap to ask for.
  const bool is_any = node_.find_template("base") != nullptr || !node_.templates().empty();
  return is_any && templates_.settled();
}

asio::awaitable<void> TemplateWatcher::wait_until_known() {
  constexpr std::chrono::milliseconds kStep{20};
  constexpr int kSteps = 100;
  if (is_known()) co_return;
  asio::steady_timer timer(io_);
  for (int i = 0; i < kSteps && !is_known(); ++i) {
    timer.expires_after(kStep);
    co_await timer.async_wait(kAwaitTuple);
  }
}

}  // namespace glovebox::templates
