// The gateway that the supervisor keeps running and connects to the server. Nothing waits for it:
// without a gateway sandboxes have no network, and everything else works.
#pragma once

#include <optional>
#include <string>

#include "config/load.h"
#include "supervisor/data_dir.h"
#include "supervisor/supervised_program.h"

namespace glovebox::supervisor {

class SupervisedGateway {
 public:
  // Both outlive it.
  SupervisedGateway(const config::LoadedSettings& config, const DataDir& data)
      : config_(config), data_(data) {}

  SupervisedProgram& program() { return program_; }
  const SupervisedProgram& program() const { return program_; }

  // Takes over a gateway that a predecessor left running. One with other network settings than ours
  // is stopped, and so replaced: it would go on enforcing those. That only costs its relays.
  void adopt(Process found, Clock::time_point now);
  // `server_url`: its port is never dialled. `owner`: the process that it must not outlive, if any.
  void start(const std::string& server_url, std::optional<pid_t> owner, Clock::time_point now);
  // Passes the server a connection to the gateway, unless it has one. Tries again later if the
  // gateway does not listen yet.
  void connect_to_server(int channel, Clock::time_point now);
  // A new server has no connection yet.
  void server_started(Clock::time_point now);
  // The server has lost its connection. If that happens repeatedly and at once, the two are of
  // different versions, and the gateway is replaced.
  void connection_lost(Clock::time_point now);
  void ended(Clock::time_point now, SupervisedProgram::Cause cause);

  // When connect_to_server() is due; nothing if the server has a connection.
  std::optional<Clock::time_point> next_attempt() const;

 private:
  const config::LoadedSettings& config_;
  const DataDir& data_;
  SupervisedProgram program_{"glovebox-gateway"};
  bool is_connected_ = false;
  Clock::time_point connected_at_{};
  int quick_losses_ = 0;  // in a row
  Clock::time_point next_attempt_{};
  Clock::time_point running_since_{};
};

}  // namespace glovebox::supervisor
