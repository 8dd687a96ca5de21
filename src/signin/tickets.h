// One-use tickets for the console's WebSockets: a page cannot add headers to a WebSocket, and a
// cookie alone would be sent by every page that opens one here. In memory only: a ticket lives for
// seconds. On the server's thread.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

namespace glovebox::signin {

class Tickets {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds kLifetime{30};
  static constexpr std::size_t kPerSession = 64;
  static constexpr std::size_t kTotal = 4096;

  // For a session, by its digest, of a project: it may have as many unused tickets as there is
  // still room for, so that one project leaves the others half. Nothing: it has, or the session has
  // too many.
  std::optional<std::string> make(const std::string& session, const std::string& project,
                                  TimePoint now);
  // True once for each ticket, and only for the session that it was made for.
  bool take(const std::string& ticket, const std::string& session, TimePoint now);
  std::size_t size() const { return by_digest_.size(); }

 private:
  void remove_expired(TimePoint now);

  struct Ticket {
    std::string session;
    std::string project;
    TimePoint expires;
  };
  std::map<std::string, Ticket> by_digest_;
};

}  // namespace glovebox::signin
