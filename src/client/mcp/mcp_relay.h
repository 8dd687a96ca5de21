// From standard input and output to /mcp of a server: each message is a request of its own in a
// thread of its own, so that a cancellation gets through while a call runs. Whatever becomes of the
// server, a request that was taken is answered, with an error if need be.
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
#include "client/mcp/rpc_messages.h"
#include "client/connection/server_location.h"
#include "http/client.h"

namespace glovebox::client {

class Relay {
 public:
  static constexpr std::size_t kMaxAtOnce = 64;

  // Where to send things now; it may be another server than before. Called under a lock.
  using FindPlace = std::function<Result<Place>()>;
  // One message, without its line break. False: nobody reads any more. Called under a lock.
  using Say = std::function<bool(const std::string& message)>;

  Relay(FindPlace find_place, Say say);
  // Ends what is under way, without another word.
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // One line of the client's; nothing: it was too long.
  void take(std::optional<std::string> line);
  bool is_idle();
  // Tells the server that the conversation is over; what is still under way there ends with it.
  void end_conversation();

 private:
  struct Job {
    std::string text;
    RpcMessage message;
    std::thread thread{};
    bool is_done = false;
  };
  // What the server said to one message.
  struct Answer {
    int status = 0;
    std::string session;    // Mcp-Session-Id, of initialize
    std::string body;       // of a refusal
    bool answered = false;  // the response itself was in it, and has been passed on
  };
  struct Session {
    std::string id;
    std::string version;
    std::uint64_t number = 0;  // how many there were before
  };

  bool begin(std::string line, RpcMessage message);
  void run(Job& job);
  Result<Answer> send(const std::string& text, const RpcMessage& message, const Session& session,
                      const std::function<void(std::string)>& on_message);
  void begin_session(Job& job);
  void forward(Job& job);
  Result<Session> begin_anew(const Session& lost);
  void refuse_as_told(const Job& job, const Answer& answer);
  std::string refusal_words(const Answer& answer);
  void say(const std::string& message);
  void refuse(const Job& job, int code, const std::string& why);
  std::unique_ptr<http::Client> take_client(const Place& place);
  void put_back(std::unique_ptr<http::Client> client, const std::string& url);
  void sweep();

  FindPlace find_place_;
  Say say_;

  std::mutex mutex_;  // of everything below
  std::condition_variable changed_;
  std::list<Job> jobs_;
  std::set<std::string> under_way_;  // ids of requests, as JSON
  std::set<std::string> cancelled_;
  Session session_;
  std::size_t calls_ = 0;   // of tools, that a server has taken: there is something to be lost
  std::string initialize_;  // the client's own, to be said again
  bool is_beginning_ = false;
  bool is_ending_ = false;  // by us
  bool is_over_ = false;
  std::string idle_url_;
  std::vector<std::unique_ptr<http::Client>> idle_;
  std::set<http::Client*> busy_;

  std::mutex place_mutex_;
  std::mutex again_mutex_;  // of begin_anew()
  std::mutex say_mutex_;
  bool is_deaf_ = false;  // nobody reads what we say
};

}  // namespace glovebox::client
