// Timed calls to sessions of a server.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/process.h"
#include "bench/statistics.h"
#include "client/connection/server_location.h"
#include "http/client/client.h"

namespace glovebox::bench {

class SessionCalls {
 public:
  explicit SessionCalls(client::ServerLocation location) : location_(std::move(location)) {}
  ~SessionCalls() { end_all(); }
  SessionCalls(const SessionCalls&) = delete;
  SessionCalls& operator=(const SessionCalls&) = delete;

  // Empty: sessions can be created; else the reason why not.
  std::string try_one();
  // Programs in one session, one after another.
  Round exec_in_turn(unsigned calls, std::chrono::milliseconds pause);
  // Measures only the creation; each session ends before the next is created.
  Round create_in_turn(unsigned calls, std::chrono::milliseconds pause,
                       std::string_view template_name);
  Round create_at_once(unsigned calls);
  // Creation of a context together with its first result.
  Round first_cells(unsigned calls);
  Round next_cells(unsigned calls);
  Round write_files(const std::string& host_file, unsigned times);
  Round read_files(const std::string& host_file, unsigned times);
  // With `alive` other sessions, which are kept for the next call.
  Round create_among(unsigned alive, unsigned calls);
  Round get_among(unsigned alive, unsigned calls);
  void end_all();

 private:
  struct Answer {
    int status = 0;
    std::string body;
  };
  http::Client connect() const;
  Answer send(http::Client& client, http::Method method, std::string target,
              std::string body = "") const;
  // The id of the new session; empty on failure, with last_problem_.
  std::string create(http::Client& client, std::string_view body);
  void end(http::Client& client, const std::string& id) const;
  void have_alive(http::Client& client, unsigned count);

  client::ServerLocation location_;
  std::string last_problem_;
  std::vector<std::string> alive_;
};

// Writes a file of zeros. Returns an empty string or the reason of a failure.
std::string write_zeros(const std::string& path, std::uint64_t bytes);

}  // namespace glovebox::bench
