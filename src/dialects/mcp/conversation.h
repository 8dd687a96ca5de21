// Conversations: what a client began with `initialize`. Each belongs to one project, has an id that
// cannot be guessed, at most one sandbox, and a bounded number of calls under way. In memory; the
// sandbox carries the id as its agent_id, so that a conversation outlives a restart of the server.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "node/async/async_fifo_lock.h"
#include "node/runs/run_job.h"
#include "routing/app.h"

namespace glovebox::mcp {

// What a call can take at most. Beyond its own time the sandbox may have to be made, and other
// calls may be before it.
inline std::chrono::milliseconds longest_call(const Settings& settings) {
  return 2 * settings.timeout + std::chrono::seconds(30);
}

struct Conversation {
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMaxCalls = 16;  // at once

  Conversation(asio::io_context& io, std::string id_, std::string project_)
      : id(std::move(id_)), project(std::move(project_)), lock(io) {}

  std::string agent_id() const { return "mcp:" + id; }

  // The flag of a call that begins now. Null: there are too many, or one with this id.
  std::shared_ptr<node::CancelFlag> begin_call(const std::string& call_id);
  void end_call(const std::string& call_id) { calls.erase(call_id); }
  // Also of a call that has not come yet: messages can overtake each other.
  void cancel_call(const std::string& call_id);
  void cancel_all();

  const std::string id;
  const std::string project;
  std::string client;      // what it calls itself, printable; for people
  node::AsyncFifoLock lock;             // of those who make its sandbox or end it
  std::string sandbox;     // its id, also after it has ended until somebody notices; empty: none
  std::string lost;        // why the one before is no more, for the next result
  bool has_ended = false;  // by DELETE: nothing is made for it any more
  Clock::time_point used{};
  Clock::time_point reached{};  // when its sandbox's time was begun anew
  std::map<std::string, std::shared_ptr<node::CancelFlag>> calls{};  // by id, as JSON
  std::deque<std::string> cancelled_early{};
};

class Conversations {
 public:
  using Clock = Conversation::Clock;
  static constexpr std::size_t kMaxOfAll = 16'384;

  explicit Conversations(routing::App& app) : app_(app) {}
  static Conversations& of(routing::App& app);

  // kResourceExhausted: the project has as many as it may, and all of them have a sandbox or a
  // call under way; else the one that was silent for longest makes room.
  Result<std::shared_ptr<Conversation>> begin(std::string project);
  // The project's own. Null: there is none, or none any more.
  std::shared_ptr<Conversation> find(const std::string& project, std::string_view id);
  void end(const Conversation& conversation);
  std::size_t size() const { return by_id_.size(); }

 private:
  using Table = std::map<std::string, std::shared_ptr<Conversation>, std::less<>>;

  std::shared_ptr<Conversation> add(std::string id, std::string project);
  void forget_silent(Clock::time_point now);
  bool is_silent(const Conversation& one, Clock::time_point now) const;
  bool has_state(const Conversation& one) const;
  // False: all of them have.
  bool make_room(const std::string* project);

  routing::App& app_;
  Table by_id_;
};

}  // namespace glovebox::mcp
