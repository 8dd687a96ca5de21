// Conversations: what a client began with `initialize`. Each belongs to one project, has an id that
// cannot be guessed, at most one sandbox, and a bounded number of calls under way. In memory; the
// sandbox carries the id as its agent_id, so that a conversation outlives a restart of the server.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "dialects/mcp/settings.h"
#include "model/dependencies.h"
#include "net/net_policy.h"
#include "node/async/async_fifo_lock.h"
#include "node/runs/run_job.h"
#include "sessions/session_registry.h"
#include "sessions/session_request.h"

namespace glovebox::mcp {

// What a conversation's sandbox has besides what the server's settings say. The client's
// configuration says so, when the conversation begins; a model cannot change it.
struct SandboxOptions {
  glovebox::Dependencies dependencies{};
  net::NetPolicy net{};  // none by default
  std::string image{};   // in place of the template; as the client names it
};

// The agent id of a conversation's sandbox.
inline std::string agent_id_of(std::string_view conversation) {
  return std::string(sessions::kReservedAgentPrefix).append(conversation);
}

struct Conversation {
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMaxCalls = 16;  // at once

  Conversation(asio::io_context& io, std::string id_, std::string project_)
      : id(std::move(id_)), project(std::move(project_)), lock(io) {}

  std::string agent_id() const { return agent_id_of(id); }

  // The flag of a call that begins now. Null: there are too many, or one with this id.
  std::shared_ptr<node::CancelFlag> begin_call(const std::string& call_id);
  void end_call(const std::string& call_id) { calls.erase(call_id); }
  // Also of a call that has not arrived yet: messages can overtake each other.
  void cancel_call(const std::string& call_id);
  void cancel_all();

  const std::string id;
  const std::string project;
  std::string client;  // the name it gave, printable; for logs and metadata
  SandboxOptions options{};
  node::AsyncFifoLock lock;  // held while its sandbox is created or destroyed
  std::string sandbox;       // its id, kept until a call notices that it ended; empty: none
  std::string lost;          // why the previous sandbox is gone, for the next result
  bool has_ended = false;    // by DELETE: no sandbox is created for it any more
  Clock::time_point used{};
  Clock::time_point renewed{};  // when its sandbox's time to live last began anew
  std::map<std::string, std::shared_ptr<node::CancelFlag>> calls{};  // by id, as JSON
  std::deque<std::string> cancelled_early{};
};

class Conversations {
 public:
  using Clock = Conversation::Clock;
  static constexpr std::size_t kMaxOfAll = 16'384;

  // All are borrowed and outlive this.
  Conversations(asio::io_context& io, const sessions::SessionRegistry& registry,
                const Settings& settings)
      : io_(io), registry_(registry), settings_(settings) {}

  // kResourceExhausted: the project has as many as it may, and all of them have a sandbox or a
  // call under way; else the one that was idle for longest is dropped.
  Result<std::shared_ptr<Conversation>> begin(std::string project);
  // The project's own. Null: unknown, or it has ended.
  std::shared_ptr<Conversation> find(const std::string& project, std::string_view id);
  void end(const Conversation& conversation);
  // As a restart of the server does: a conversation with a living sandbox is found again.
  void forget_all() { by_id_.clear(); }
  std::size_t size() const { return by_id_.size(); }

 private:
  using Table = std::map<std::string, std::shared_ptr<Conversation>, std::less<>>;

  std::shared_ptr<Conversation> add(std::string id, std::string project);
  void forget_idle(Clock::time_point now);
  bool is_idle(const Conversation& conversation, Clock::time_point now) const;
  bool has_state(const Conversation& conversation) const;
  // Drops the one of the project (null: of all) that was idle for longest and has no state. False:
  // there is none.
  bool drop_oldest(const std::string* project);

  asio::io_context& io_;
  const sessions::SessionRegistry& registry_;
  const Settings& settings_;
  Table by_id_;
};

}  // namespace glovebox::mcp
