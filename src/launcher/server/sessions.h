// What a launcher does for sessions beyond making and ending them: stops them and lets them go on,
// measures them, and has runtimes joined to them. Their agents are inside with the guests and are
// believed nothing: each is heard a bounded number of times a second, and costs no other session
// anything.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "launcher/nursery/template_nurseries.h"
#include "launcher/server/clients.h"
#include "launcher/server/sandbox_watch.h"
#include "wire/launcher_messages.h"

namespace glovebox::launcher {

class Sessions {
 public:
  using Say = std::function<void(Client&, const wire::LauncherReply&)>;
  Sessions(Broods& broods, SandboxWatch& watch, Say say)
      : broods_(broods), watch_(watch), say_(std::move(say)) {}

  // Answered when it is so; look() goes on with it.
  void freeze(Client& client, Owned& owned, const wire::FreezeSandbox& request);
  wire::SandboxMeasured measure(const Owned& owned, std::uint32_t seq) const;
  // Its agent says something.
  void on_talk(Owned& owned);

  // Goes on with what takes time. When to call it next at the latest.
  void look(Clock::time_point now);
  std::optional<Clock::time_point> next_look(Clock::time_point now) const;

  void forget(Owned& owned);
  void forget(const Client& client);

 private:
  // Of a session of which something is to be done later.
  struct Affairs {
    // How often its agent may still talk; more comes with time.
    double words = 0;
    Clock::time_point counted_at{};
    bool rests = false;  // not listened to until there are words again
    struct Join {
      std::uint32_t zygote_uid = 0;
      Clock::time_point deadline;
      bool can_be_stopped = false;  // on its way in, and the zygote with it
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
  Affairs& affairs_of(Owned& owned);
  void count_words(Affairs& affairs, Clock::time_point now) const;
  void on_message(Owned& owned, Affairs& affairs);
  Result<> join(Owned& owned, Affairs& affairs, std::span<const UniqueFd> places);
  void end_join(Owned& owned, Affairs& affairs);
  void go_on_freezing(Owned& owned, Affairs& affairs, Clock::time_point now);
  void refuse(Client& client, std::uint32_t seq, const Error& error);

  Broods& broods_;
  SandboxWatch& watch_;
  Say say_;
  std::unordered_map<Owned*, Affairs> affairs_;
};

}  // namespace glovebox::launcher
