// What sessions may reach: set, changed, shown, and told again to a gateway after a restart. See
// session_keeper.h.
#include "net/reach.h"
#include "wire/stored_policy.h"
#include "sessions/session_keeper.h"

namespace glovebox::sessions {

// The gateway follows it first: what is answered is true, and a record that could not be stored is
// stored later.
Task<> SessionKeeper::set_network(EntryPtr entry, net::NetPolicy policy) {
  store::SessionRecord& record = entry->record;
  CO_TRY_OK(net::check_reach(policy, options_.ceiling));
  // One that is paused finds it when it goes on.
  if (record.state != SessionState::kRunning && record.state != SessionState::kPaused) {
    co_return fail(Errc::kConflict,
                   "net: the sandbox is " + std::string(session_state_name(record.state)));
  }
  CO_TRY_OK(check_there(entry));
  // Before that the gateway may follow what nobody here knows of yet.
  if (!is_settled_) {
    co_return fail(Errc::kUnavailable, "the launcher has not told of its sandboxes yet");
  }
  if (options_.networks == nullptr) co_return fail(Errc::kUnsupported, "net: there are none here");
  const std::string text = net::canonical_text(policy);
  Result<> set =
      co_await options_.networks->set_network(record.id, record.project, std::move(policy));
  if (is_over(record.state)) {
    co_return fail(Errc::kConflict,
                   "the sandbox is " + std::string(session_state_name(record.state)));
  }
  if (!set) co_return fail(std::move(set.error()).context("net"));
  record.net = text;
  note(record.id, "network", "may reach " + text, 0);
  tell(entry, "network");
  co_return Result<>();
}

Task<SessionKeeper::Reach> SessionKeeper::network(std::string project, std::string id) {
  CO_TRY(const EntryPtr entry, co_await living(std::move(project), std::move(id)));
  Reach reach;
  reach.policy = wire::stored_policy(entry->record.net);
  if (options_.networks == nullptr) co_return reach;
  Result<wire::NetworkFigures> figures = co_await options_.networks->read_network(entry->record.id);
  if (figures) reach.figures = std::move(*figures);
  const bool never_had_one = !figures && figures.error().code() == Errc::kNotFound;
  if (!figures && !never_had_one) co_return fail(std::move(figures.error()));
  co_return reach;
}

// Those from before this server; also those that may reach nothing, which a gateway may not know.
// What the administrator does not allow any more is taken away.
void SessionKeeper::restore_networks() {
  if (options_.networks == nullptr) return;
  for (const auto& [id, entry] : entries_) {
    store::SessionRecord& record = entry->record;
    if (is_over(record.state) || !service_.find_session(record.id)) continue;
    net::NetPolicy policy = wire::stored_policy(record.net);
    if (const Result<> allowed = net::check_reach(policy, options_.ceiling); !allowed) {
      // It is up inside: what it connects to is refused, and does not wait for an answer.
      policy = {};
      policy.deny.push_back({.target = net::AnyTarget{}, .ports = {}});
      record.net = net::canonical_text(policy);
      entry->is_unsaved = true;  // stored in a moment
      note(record.id, "network", "taken away: " + allowed.error().message(), 0);
      tell(entry, "network");
    }
    options_.networks->restore_network(record.id, record.project, std::move(policy));
  }
  options_.networks->restored_all();
}

}  // namespace glovebox::sessions
