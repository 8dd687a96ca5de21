// Relays messages between standard input and output and /mcp of a server. Every message is sent as
// an HTTP request in its own thread, so that a cancellation can overtake the call that it cancels.
// Every accepted request gets a response, if necessary an error, even if the server ends.
#pragma once

#include <boost/json.hpp>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "client/connection/server_location.h"
#include "client/mcp/rpc_messages.h"
#include "http/client/client.h"

namespace glovebox::client {

class McpRelay {
 public:
  static constexpr std::size_t kMaxAtOnce = 64;

  // Returns the current server, which may change between calls. Called under a lock.
  using FindServer = std::function<Result<ServerLocation>()>;
  // Writes one message and a line break. False: the output is closed. Called under a lock.
  using WriteMessage = std::function<bool(const std::string& message)>;

  // `sandbox` is what the sessions' sandboxes should have: initialize_with_sandbox(); may be empty.
  McpRelay(FindServer find_server, WriteMessage write_message, boost::json::object sandbox = {});
  // Interrupts the requests that are under way and writes nothing more.
  ~McpRelay();
  McpRelay(const McpRelay&) = delete;
  McpRelay& operator=(const McpRelay&) = delete;

  // One line of input; none: it was too long.
  void accept_line(std::optional<std::string> line);
  bool is_idle();
  // Ends the session on the server, together with the calls that still run in it.
  void end_session();

 private:
  struct Job {
    std::string text;
    RpcMessage message;
    std::thread thread{};
    bool is_done = false;
  };
  // The server's response to one message.
  struct Reply {
    int status = 0;
    std::string session;        // Mcp-Session-Id, of initialize
    std::string body;           // of an error status
    bool has_response = false;  // it contained the JSON-RPC response, which was written
  };
  struct Session {
    std::string id;
    std::string version;
    std::uint64_t number = 0;  // counts the sessions of this relay
  };

  bool begin(std::string line, RpcMessage message);
  void run(Job& job);
  Result<Reply> send(const std::string& text, const RpcMessage& message, const Session& session,
                     const std::function<void(std::string)>& on_message);
  void begin_session(Job& job);
  void forward(Job& job);
  Result<Session> restart_session(const Session& lost);
  void forward_error(const Job& job, const Reply& reply);
  std::string error_text(const Reply& reply);
  void write(const std::string& message);
  void write_error(const Job& job, int code, const std::string& message);
  std::unique_ptr<http::Client> take_client(const ServerLocation& location);
  void return_client(std::unique_ptr<http::Client> client, const std::string& url);
  void join_finished();

  FindServer find_server_;
  WriteMessage write_message_;
  const boost::json::object sandbox_;

  std::mutex mutex_;  // guards the members up to busy_
  std::condition_variable changed_;
  std::list<Job> jobs_;
  std::set<std::string> pending_;  // ids of requests without a response, as JSON
  std::set<std::string> cancelled_;
  Session session_;
  std::size_t calls_ = 0;   // tool calls that a server has accepted: their state can be lost
  std::string initialize_;  // the client's message, sent again to restart a session
  bool is_initializing_ = false;
  bool is_ending_ = false;  // end_session() was called
  bool is_destroyed_ = false;
  std::string idle_url_;
  std::vector<std::unique_ptr<http::Client>> idle_;
  std::set<http::Client*> busy_;

  std::mutex location_mutex_;
  std::mutex restart_mutex_;  // serializes restart_session()
  std::mutex write_mutex_;    // guards is_output_closed_
  bool is_output_closed_ = false;
};

}  // namespace glovebox::client
