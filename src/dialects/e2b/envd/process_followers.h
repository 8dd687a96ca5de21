// One process and all who follow it: its output is read once, made into messages once, and handed
// to each. A follower that is slow slows the process, and costs no more than a few messages; one
// that takes nothing while others wait is left behind. While nobody follows, nothing is read and
// what is printed may be lost.
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

// Whoever follows. Gone: it follows no more.
class Follower {
 public:
  using Deadline = std::chrono::steady_clock::time_point;
  struct Message {  // an envelope
    std::shared_ptr<const std::string> bytes;
  };
  struct Ended {  // after its last message
    wire::ProcessEnd end;
  };
  struct Cut {  // no more can come: the sandbox is gone, or stands still
    std::string why;
  };
  struct TakenOver {};  // another reader, not of E2B, has it now
  struct TooSlow {};    // the others did not wait any longer
  struct Left {};       // see leave()
  struct Nothing {};    // the deadline came first
  using Event = std::variant<Message, Ended, Cut, TakenOver, TooSlow, Left, Nothing>;

  explicit Follower(std::shared_ptr<ProcessFollowers> hub);
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  ProcessFollowers& hub() { return *hub_; }
  // One call at a time.
  asio::awaitable<Event> next(Deadline deadline);
  // Ends a next() under way.
  void leave();

 private:
  friend class ProcessFollowers;

  std::shared_ptr<ProcessFollowers> hub_;
  std::deque<Message> messages_;
  std::size_t held_ = 0;                // bytes of these
  std::optional<Deadline> full_since_;  // and nothing taken since
  bool is_dropped_ = false;
  bool left_ = false;
  node::Notifier notifier_;
};

class ProcessFollowers : public std::enable_shared_from_this<ProcessFollowers> {
 public:
  static constexpr std::size_t kMaxHeld = 128 * 1024;  // of one follower, and a message more
  static constexpr std::size_t kMaxFollowers = 64;

  ProcessFollowers(asio::io_context& io, std::shared_ptr<node::Session> session,
             const node::ProcessInfo& info, std::string tag);

  const std::shared_ptr<node::Session>& session() const { return session_; }
  wire::ProcessNumber number() const { return number_; }
  std::uint32_t pid() const { return pid_; }
  const std::string& tag() const { return tag_; }

  // From now on; null: there are too many. `attachment` is the process's own from its first byte,
  // when it was just started.
  std::shared_ptr<Follower> follow(std::unique_ptr<node::Attachment> attachment = nullptr);

  // It was killed because its time was over.
  bool timed_out() const { return timed_out_; }
  void set_timed_out() { timed_out_ = true; }
  // It was killed: nobody waits for one who takes nothing.
  void hurry();
  // Started for a client of E2B's: forgotten when it has ended. Others are their starters'.
  bool is_ours() const { return is_ours_; }
  void set_ours() { is_ours_ = true; }
  // Returns when nothing of it is being read.
  asio::awaitable<void> quiet();

 private:
  friend class Follower;

  void add(Follower& follower);
  void remove(Follower& follower);
  void start_reading();
  asio::awaitable<void> read();
  asio::awaitable<bool> attach();
  void on_event(node::Attachment::Event event);
  void hand(const node::Attachment::Chunk& chunk);
  void stop(Follower::Event fate);
  bool is_full() const;
  void look_while_full();

  asio::io_context& io_;
  std::shared_ptr<node::Session> session_;
  const wire::ProcessNumber number_;
  const std::uint32_t pid_;
  const std::string tag_;
  const bool terminal_;
  std::vector<Follower*> followers_;
  std::unique_ptr<node::Attachment> attachment_;
  bool is_reading_ = false;
  bool let_go_ = false;  // of the attachment, because nobody followed
  bool timed_out_ = false;
  bool in_a_hurry_ = false;
  bool is_ours_ = false;
  // Why nothing more is read; of those who come later only an end is.
  std::optional<Follower::Event> fate_;
  node::Notifier changed_;
};

}  // namespace glovebox::e2b
