// The server's sessions for tests.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sessions/sessions.h"

namespace glovebox::sessions {

// Sessions that the test sets up, for code that only uses running ones.
class FakeSessions final : public Sessions {
 public:
  struct Known {
    std::string project;
    std::shared_ptr<node::Session> session;
    std::string state = "running";
    std::string token{};
    std::vector<std::string> env{};
  };
  void add(Known known);

  Result<std::shared_ptr<node::Session>> use(const std::string& project,
                                             std::string_view id) override;
  std::vector<std::string> environment(const SandboxId& id) const override;
  void note(const SandboxId& id, std::string_view kind, std::string message,
            std::uint64_t process) override;
  PortAccess port_access(std::string_view id) override;

  std::map<std::string, Known, std::less<>> known;
  std::vector<std::string> notes;  // "kind: message"
};

}  // namespace glovebox::sessions
