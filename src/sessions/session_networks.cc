#include "sessions/session_networks.h"

#include "net/reach.h"
#include "node/links/launcher_error.h"
#include "wire/json/stored_policy.h"

namespace glovebox::sessions {

Task<> SessionNetworks::set(EntryPtr entry, net::NetPolicy policy) {
  store::SessionRecord& record = entry->record;
  CO_TRY_OK(net::check_reach(policy, ceiling_));
  // For a paused sandbox the policy takes effect when it is resumed.
  if (record.state != SessionState::kRunning && record.state != SessionState::kPaused) {
    co_return fail(Errc::kConflict,
                   "net: the sandbox is " + std::string(session_state_name(record.state)));
  }
  CO_TRY_OK(registry_.check_on_node(*entry));
  // Before the report, the gateway may apply policies that this server does not know yet.
  if (!is_restored_) {
    co_return fail(node::launcher_error("the launcher has not reported its sandboxes yet"));
  }
  const std::string text = net::canonical_text(policy);
  Result<> set = co_await networks_.set_network(record.id, record.project, std::move(policy));
  if (is_over(record.state)) co_return fail(wrong_state(record.state));
  if (!set) co_return fail(std::move(set.error()).context("net"));
  record.net = text;
  registry_.note(record.id, "network", "may reach " + text);
  registry_.publish(entry, "network");
  co_return Result<>();
}

Task<SessionNetworks::Reach> SessionNetworks::read(std::string project, std::string id) {
  CO_TRY(const EntryPtr entry, co_await registry_.living(std::move(project), std::move(id)));
  Reach reach;
  reach.policy = wire::stored_policy(entry->record.net);
  Result<wire::NetworkFigures> figures = co_await networks_.read_network(entry->record.id);
  if (figures) reach.figures = std::move(*figures);
  const bool never_had_one = !figures && figures.error().code() == Errc::kNotFound;
  if (!figures && !never_had_one) co_return fail(std::move(figures.error()));
  co_return reach;
}

void SessionNetworks::restore() {
  is_restored_ = true;
  for (const auto& [id, entry] : registry_.entries()) {
    store::SessionRecord& record = entry->record;
    if (is_over(record.state) || !service_.find_session(record.id)) continue;
    net::NetPolicy policy = wire::stored_policy(record.net);
    if (const Result<> allowed = net::check_reach(policy, ceiling_); !allowed) {
      // Its interface is up: connections are refused at once instead of waiting for an answer.
      policy = {};
      policy.deny.push_back({.target = net::AnyTarget{}, .ports = {}});
      record.net = net::canonical_text(policy);
      entry->is_unsaved = true;  // the reconciler stores it
      registry_.note(record.id, "network", "access removed: " + allowed.error().message());
      registry_.publish(entry, "network");
    }
    networks_.restore_network(record.id, record.project, std::move(policy));
  }
  networks_.restored_all();
}

}  // namespace glovebox::sessions
