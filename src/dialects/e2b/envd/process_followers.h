// One process and the clients that follow it: its output is read once, made into messages once, and
// queued for each client. A slow client slows the process down and costs no more than a few
// messages; one that reads nothing while others wait is dropped. While no client follows, nothing
// is read and output may be lost.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/task.h"
#include "node/async/notifier.h"
#include "node/sessions/session_service.h"

namespace glovebox::e2b {

class ProcessFollowers;

// One client that follows a process, until this is destroyed.
class Follower {
 public:
  using Deadline = std::chrono::steady_clock::time_point;
  struct Message {  // in its envelope
    std::shared_ptr<const std::string> bytes;
  };
  struct Ended {  // after its last message
    wire::ProcessEnd end;
  };
  struct Cut {  // no more can come: the sandbox has ended, or is paused
    std::string why;
  };
  struct TakenOver {};  // a client of another API reads it now
  struct TooSlow {};    // dropped, because other clients waited
  struct Left {};       // see leave()
  struct Nothing {};    // the deadline passed
  using Event = std::variant<Message, Ended, Cut, TakenOver, TooSlow, Left, Nothing>;

  explicit Follower(std::shared_ptr<ProcessFollowers> process);
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  ProcessFollowers& process() { return *process_; }
  // One call at a time.
  asio::awaitable<Event> next(Deadline deadline);
  // Ends a pending next().
  void leave();

 private:
  friend class ProcessFollowers;

  std::shared_ptr<ProcessFollowers> process_;
  std::deque<Message> messages_;
  std::size_t held_ = 0;                // bytes of messages_
  std::optional<Deadline> full_since_;  // since when no message was taken
  bool is_dropped_ = false;
  bool left_ = false;
  node::Notifier notifier_;
};

class ProcessFollowers : public std::enable_shared_from_this<ProcessFollowers> {
 public:
  static constexpr std::size_t kMaxHeld = 128 * 1024;  // bytes of one follower, plus one message
  static constexpr std::size_t kMaxFollowers = 64;

  ProcessFollowers(asio::io_context& io, std::shared_ptr<node::Session> session,
                   const node::ProcessInfo& info, std::string tag);

  const std::shared_ptr<node::Session>& session() const { return session_; }
  wire::ProcessNumber number() const { return number_; }
  std::uint32_t pid() const { return pid_; }
  const std::string& tag() const { return tag_; }

  // Follows from now on; null: there are too many followers. `attachment` is that of a process that
  // was just started, from its first byte.
  std::shared_ptr<Follower> follow(std::unique_ptr<node::Attachment> attachment = nullptr);

  // Killed at its deadline.
  bool timed_out() const { return timed_out_; }
  void set_timed_out() { timed_out_ = true; }
  // The process was killed: from now on no follower waits for a slow one.
  void drop_slow_followers();
  // Started by an E2B client: forgotten when it has ended. Other processes belong to the API that
  // started them.
  bool is_e2b_process() const { return is_e2b_process_; }
  void set_e2b_process() { is_e2b_process_ = true; }
  // Returns when its output is not being read.
  asio::awaitable<void> wait_until_unread();

 private:
  friend class Follower;

  void add(Follower& follower);
  void remove(Follower& follower);
  void start_reading();
  asio::awaitable<void> read();
  asio::awaitable<bool> attach();
  void on_event(node::Attachment::Event event);
  void queue(const node::Attachment::Chunk& chunk);
  void stop(Follower::Event last_event);
  bool is_full() const;
  void check_while_full();

  asio::io_context& io_;
  std::shared_ptr<node::Session> session_;
  const wire::ProcessNumber number_;
  const std::uint32_t pid_;
  const std::string tag_;
  const bool terminal_;
  std::vector<Follower*> followers_;
  std::unique_ptr<node::Attachment> attachment_;
  bool is_reading_ = false;
  bool is_detached_ = false;  // the attachment was closed, because no client followed
  bool timed_out_ = false;
  bool drops_slow_followers_ = false;
  bool is_e2b_process_ = false;
  // Why nothing more is read. Later followers get it only if it is the end of the process.
  std::optional<Follower::Event> last_event_;
  node::Notifier changed_;
};

}  // namespace glovebox::e2b
