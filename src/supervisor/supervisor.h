// `glovebox serve`: keeps a launcher, a server and a gateway running, and passes the server its
// connections to the other two.
//
// It listens on no socket and has one thread. The three do not die with it: a new supervisor on the
// same data directory adopts those that still run, and `glovebox serve --stop` stops them.
// Processes are identified by pidfds, never by pids.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "config/load.h"
#include "supervisor/control_channel.h"
#include "supervisor/data_dir.h"
#include "supervisor/supervised_gateway.h"
#include "supervisor/supervised_program.h"

namespace glovebox::supervisor {

// Sandboxes of a private server at once. All sandboxes of a host share 4,093 uid slices, which have
// to suffice for many private servers.
inline constexpr std::uint32_t kPrivateSandboxes = 128;

enum class AfterStart : std::uint8_t { kServe, kStop };

class Supervisor {
 public:
  // `data` is locked. `version` goes into serve.json.
  Supervisor(config::LoadedSettings config, DataDir data, std::string version);
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // What is printed when the server first answers at `url`, unless it is private. Before run().
  using Greeting = std::function<std::string(const std::string& url)>;
  void set_greeting(Greeting greeting) { greeting_ = std::move(greeting); }
  // Makes it a private server, which belongs to the program that started it: it stops at the end of
  // file of `lifeline`, prints its address as one line of JSON, and lets its clients mount host
  // paths. Before run(), and with a data directory of its own.
  void make_private(UniqueFd lifeline) { lifeline_ = std::move(lifeline); }
  // Takes over the programs that a predecessor left running. False: there were none.
  bool adopt();
  // kServe: until a signal. kStop: stops what was adopted and starts nothing.
  Result<> run(AfterStart then);

 private:
  enum class Stopping : std::uint8_t { kNo, kServer, kLauncher, kGateway, kDone };

  void start_due_programs(Clock::time_point now);
  void start_launcher(Clock::time_point now);
  void start_server(Clock::time_point now);
  void reconnect_to_server(Clock::time_point now);
  void connect_launcher_to_server(Clock::time_point now);
  void publish_address();
  void print_greeting() const;
  void print_private_address() const;

  Result<> wait_for_events(Clock::time_point now);
  Result<> handle_signals(Clock::time_point now);
  void handle_lifeline(Clock::time_point now);
  void handle_message(Clock::time_point now);
  void launcher_connection_lost(Clock::time_point now);
  void start_doctor();
  Result<> handle_end_of_launcher(Clock::time_point now);
  Result<> handle_end_of_server(Clock::time_point now);

  SupervisedProgram::Cause end_cause() const {
    return stopping_ == Stopping::kNo ? SupervisedProgram::Cause::kByItself
                                      : SupervisedProgram::Cause::kStopped;
  }
  SupervisedProgram& stopping_program();
  void begin_stop(Clock::time_point now);
  void shorten_stop(Clock::time_point now);
  Result<> advance_stop(Clock::time_point now);
  Clock::time_point next_deadline(Clock::time_point now) const;

  config::LoadedSettings config_;
  DataDir data_;
  std::string version_;
  Greeting greeting_ = [](const std::string&) { return std::string(); };
  UniqueFd signals_;
  UniqueFd lifeline_;  // of a private server
  SupervisedProgram launcher_{"glovebox-launcher"};
  SupervisedProgram server_{"glovebox-server"};
  SupervisedGateway gateway_{config_, data_};  // started when the server's port is known
  Process doctor_;                             // `glovebox doctor --json`, if one runs
  UniqueFd channel_;                           // to the server
  std::string url_;  // as the server reported it; empty: it has not done so yet
  bool url_is_of_this_channel_ = false;
  std::string fixed_listen_;  // with the port that port 0 became, so that restarts keep it
  // Whether the server has a connection to the launcher.
  bool is_connected_ = false;
  Clock::time_point connected_at_{};
  int quick_losses_ = 0;  // in a row
  bool was_ever_up_ = false;
  bool has_greeted_ = false;
  Clock::time_point next_attempt_{};  // to connect the launcher, or to reconnect to the server
  Clock::time_point launcher_since_{};
  std::optional<ServeInfo> written_;
  Stopping stopping_ = Stopping::kNo;
  bool has_killed_ = false;
  Clock::time_point stop_deadline_{};
};

}  // namespace glovebox::supervisor
