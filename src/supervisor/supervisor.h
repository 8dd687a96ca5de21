// `glovebox serve`: keeps a launcher, a server and a gateway running, and introduces them to each
// other.
//
// It listens to nothing and has one thread. None of the three dies with it: a supervisor that is
// started anew on the same data directory adopts what still runs, and `glovebox serve --stop` ends
// it. Everybody is known by a pidfd, never by a bare pid.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/load.h"
#include "supervisor/control_channel.h"
#include "supervisor/data_dir.h"
#include "supervisor/part.h"

namespace glovebox::supervisor {

// What a private one has at most at once. Every launcher leases uids for all of its sandboxes, and
// the machine has some 4,000 of them: there may be as many private servers as there are programs.
inline constexpr std::uint32_t kPrivateSandboxes = 128;

enum class Then : std::uint8_t { kServe, kStop };

class Supervisor {
 public:
  // `data` is locked. `version` goes into serve.json.
  Supervisor(config::Loaded config, DataDir data, std::string version);

  // One that belongs to the program that started it and lives no longer: it stops at the end of
  // file of `lifeline`, says where it is in one line of JSON, and lets its clients mount host
  // paths. Before run(), and with a data directory of its own.
  void belong_to(UniqueFd lifeline) { lifeline_ = std::move(lifeline); }
  // Takes over what a predecessor left running. False: nothing was.
  bool adopt();
  // kServe: until a signal says stop. kStop: ends what was adopted, starting nothing.
  Result<> run(Then then);

 private:
  enum class Stopping : std::uint8_t { kNo, kServer, kLauncher, kGateway, kDone };

  void start_what_is_due(Clock::time_point now);
  void start_launcher(Clock::time_point now);
  void start_server(Clock::time_point now);
  void adopt_gateway(Process found, Clock::time_point now);
  void start_gateway(Clock::time_point now);
  void introduce_the_gateway(Clock::time_point now);
  void reconnect_to_server(Clock::time_point now);
  void introduce(Clock::time_point now);
  void tell_where_we_are();
  void greet() const;
  void tell_owner() const;

  Result<> wait_for_something(Clock::time_point now);
  Result<> handle_signals(Clock::time_point now);
  void handle_lifeline(Clock::time_point now);
  void handle_message(Clock::time_point now);
  void note_parting(Clock::time_point now);
  Result<> handle_end_of_launcher(Clock::time_point now);
  Result<> handle_end_of_server(Clock::time_point now);
  void note_need_of_gateway(Clock::time_point now);
  void handle_end_of_gateway(Clock::time_point now);

  Part::Why why_ended() const {
    return stopping_ == Stopping::kNo ? Part::Why::kByItself : Part::Why::kWeStop;
  }
  Part& stopping_part();
  void begin_stop(Clock::time_point now);
  void hurry_stop(Clock::time_point now);
  Result<> advance_stop(Clock::time_point now);
  Clock::time_point next_deadline(Clock::time_point now) const;

  config::Loaded config_;
  DataDir data_;
  std::string version_;
  UniqueFd signals_;
  UniqueFd lifeline_;  // of a private one
  Part launcher_{"glovebox-launcher"};
  Part server_{"glovebox-server"};
  Part gateway_{"glovebox-gateway"};  // started when the server's port is known
  UniqueFd channel_;                  // to the server
  std::string url_;  // where the server says it serves; empty: it has not said so yet
  bool url_is_this_channels_ = false;
  std::string fixed_listen_;  // the port that port 0 turned into, so that it stays
  bool is_introduced_ = false;
  Clock::time_point introduced_at_{};
  int quick_partings_ = 0;  // in a row
  bool gateway_is_introduced_ = false;
  Clock::time_point gateway_introduced_at_{};
  int gateway_partings_ = 0;
  Clock::time_point next_gateway_try_{};
  Clock::time_point gateway_since_{};
  bool was_ever_up_ = false;
  bool has_greeted_ = false;
  Clock::time_point next_try_{};  // of introducing, or of reconnecting
  Clock::time_point launcher_since_{};
  std::optional<ServeInfo> written_;
  Stopping stopping_ = Stopping::kNo;
  bool has_killed_ = false;
  Clock::time_point stop_deadline_{};
};

// Says "stop" to whoever serves on this data directory and waits for the end: the supervisor that
// holds its lock, or what a killed one left running.
Result<> stop_serving(config::Loaded config, DataDir data, const std::string& version);

}  // namespace glovebox::supervisor
