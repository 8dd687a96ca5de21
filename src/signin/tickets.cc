#include "signin/tickets.h"

#include <algorithm>
#include <utility>

#include "signin/session_cookie.h"

namespace glovebox::signin {

void Tickets::remove_expired(TimePoint now) {
  std::erase_if(by_digest_, [now](const auto& item) { return item.second.expires <= now; });
}

std::optional<std::string> Tickets::make(const std::string& session, const std::string& project,
                                         TimePoint now) {
  remove_expired(now);
  std::size_t of_session = 0;
  std::size_t of_project = 0;
  for (const auto& [digest, ticket] : by_digest_) {
    if (ticket.session == session) ++of_session;
    if (ticket.project == project) ++of_project;
  }
  if (of_session >= kPerSession || of_project >= kTotal - std::min(kTotal, by_digest_.size())) {
    return std::nullopt;
  }
  std::string ticket = make_secret();
  by_digest_[digest_of(ticket)] =
      Ticket{.session = session, .project = project, .expires = now + kLifetime};
  return ticket;
}

bool Tickets::take(const std::string& ticket, const std::string& session, TimePoint now) {
  const auto found = by_digest_.find(digest_of(ticket));
  if (found == by_digest_.end()) return false;
  const bool is_good = found->second.session == session && found->second.expires > now;
  // Removed even if another session shows it: then it has leaked.
  by_digest_.erase(found);
  return is_good;
}

}  // namespace glovebox::signin
