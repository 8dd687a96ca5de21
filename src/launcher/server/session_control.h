// What the launcher does for sessions besides creating and ending them: freezes and thaws them,
// measures them, and has a zygote fork runtimes into them.
//
// A session's agent is inside with the guest and is not trusted: a token bucket bounds how many of
// its messages are read per second, and a slow or silent agent delays no other session.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "launcher/nursery/template_nurseries.h"
#include "launcher/server/sandbox_record.h"
#include "launcher/server/sandbox_watch.h"
#include "wire/launcher/launcher_messages.h"

namespace glovebox::launcher {

class SessionControl {
 public:
  using Send = std::function<void(Client&, const wire::LauncherReply&)>;
  SessionControl(TemplateNurseries& nurseries, SandboxWatch& watch, Send send)
      : nurseries_(nurseries), watch_(watch), send_(std::move(send)) {}

  // Replies when the session is frozen or thawed; advance() continues with it.
  void freeze(Client& client, SandboxRecord& record, const wire::FreezeSandbox& request);
  wire::SandboxMeasured measure(const SandboxRecord& record, std::uint32_t seq) const;
  // Its agent has sent a message.
  void on_readable(SandboxRecord& record);

  // Continues with what takes time. next_check(): when to call it next at the latest.
  void advance(Clock::time_point now);
  std::optional<Clock::time_point> next_check(Clock::time_point now) const;

  void forget(SandboxRecord& record);
  void forget(const Client& client);

 private:
  // Of a session with something to do later. Removed when it is idle and its bucket full.
  struct State {
    double tokens = 0;  // messages that may still be read; refilled with time
    Clock::time_point refilled_at{};
    bool paused = false;  // not read until there is a token
    struct Join {
      std::uint32_t zygote_uid = 0;
      Clock::time_point deadline;
      bool freezer_would_stop_it = false;  // the child on its way in, and the zygote with it
    };
    std::optional<Join> join;
    struct Freeze {
      Client* client = nullptr;
      std::uint32_t seq = 0;
      Clock::time_point deadline;
      bool begun = false;
    };
    std::optional<Freeze> freeze;
  };
  State& state_of(SandboxRecord& record);
  void refill_tokens(State& state, Clock::time_point now) const;
  void read_message(SandboxRecord& record, State& state);
  Result<> join(SandboxRecord& record, State& state, std::span<const UniqueFd> runtime_fds);
  void end_join(SandboxRecord& record, State& state);
  void continue_freezing(SandboxRecord& record, State& state, Clock::time_point now);
  void refuse(Client& client, std::uint32_t seq, const Error& error);

  TemplateNurseries& nurseries_;
  SandboxWatch& watch_;
  Send send_;
  std::unordered_map<SandboxRecord*, State> states_;
};

}  // namespace glovebox::launcher
