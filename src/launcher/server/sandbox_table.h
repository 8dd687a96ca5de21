// Every sandbox of the launcher, from the moment its jail is begun until nothing of it is left:
// announces it to its client, enforces its limits, notices its end, and cleans up behind it.
//
// Records have stable addresses until finish_dead(). Used on the launcher's one thread; nothing
// here waits.
#pragma once

#include <poll.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/unique_fd.h"
#include "launcher/sandbox/pending_sandbox_cleanup.h"
#include "launcher/sandbox/sandbox_maker.h"
#include "launcher/server/client_connections.h"
#include "launcher/server/sandbox_record.h"
#include "launcher/server/sandbox_recycler.h"
#include "launcher/server/sandbox_watch.h"
#include "launcher/server/session_control.h"
#include "wire/launcher/launcher_messages.h"

namespace glovebox::launcher {

class SandboxTable {
 public:
  SandboxTable(SandboxMaker& maker, ClientConnections& clients, SandboxWatch watch,
               std::uint32_t max_sandboxes);
  SandboxTable(const SandboxTable&) = delete;
  SandboxTable& operator=(const SandboxTable&) = delete;

  // Has a sandbox made. Its client gets SandboxCreated or SandboxRefused, now or later.
  void create(Client& client, const wire::CreateSandbox& request, std::vector<UniqueFd> fds);
  // Prepares a reusable sandbox for the next call. Its client gets SandboxCreated or SandboxRefused
  // later, but after an error.
  Result<> recycle(SandboxRecord& record, const wire::RecycleSandbox& request, UniqueFd link);
  // Null also for another client's sandbox.
  SandboxRecord* find(const Client& client, const SandboxId& id);
  // Gives this client all sessions whose own client has gone; returns their ids.
  std::deque<SandboxId> adopt_sessions(Client& client);
  SessionControl& sessions() { return sessions_; }

  bool empty() const { return records_.empty() && pending_.empty(); }
  bool has_sandboxes() const { return !records_.empty(); }
  bool is_any_ending() const;
  // Whether a sandbox that makes or reads this layer is being ended.
  bool is_ending_with_layer(const std::string& layer) const;
  // Ends the sandboxes that make this layer, because the disk is full.
  void kill_makers_of(const std::string& layer);
  // Names of templates that have sandboxes or will have some.
  std::set<std::string> templates_in_use() const;

  // Sessions that the client knew of wait for the next server; its other sandboxes are ended.
  void client_gone(Client& client);
  void kill_all();

  // For the event loop. watch_fd() is readable when on_events() has something to do.
  int watch_fd() const { return watch_.fd(); }
  void add_events(std::vector<pollfd>& events) const;
  void check_limits(Clock::time_point now);
  // Sets what each tenant may use of the memory of all, and ends a sandbox of the one above its
  // share if almost all is in use.
  void share_memory(Clock::time_point now);
  void on_events();
  // Continues with sandboxes whose runtimes have not arrived yet, and gives up on late ones.
  void check_joining();
  // Takes over the jails that are finished.
  void take_made();
  // Reports the sandboxes that have ended, and removes their records.
  void finish_dead();
  void clean_up_some();
  void clean_up_all();
  std::optional<Clock::time_point> next_check(Clock::time_point now) const;

 private:
  void add(Sandbox sandbox, const PendingSandbox& pending);
  void announce(SandboxRecord& record);
  void check_joining(SandboxRecord& record);
  void joining_overdue(SandboxRecord& record, const Sandbox::Joining& joining);
  void fail_start(SandboxRecord& record, const std::string& why);
  // Ends the largest sandbox of the tenant that is above its share, if memory is short.
  // `charged_bytes` is what all sandboxes use, with page cache.
  void relieve_memory_pressure(std::uint64_t charged_bytes);
  void end_largest_of(std::uint64_t tenant);
  void finish(SandboxRecord& record);
  PendingSandboxCleanup::Release release();

  SandboxMaker& maker_;
  ClientConnections& clients_;
  std::uint32_t max_sandboxes_;
  bool is_shut_down_ = false;  // a private launcher whose sandbox has ended
  // runs_ and dead_ point into it. By id.
  std::unordered_map<std::string, SandboxRecord> records_;
  std::vector<SandboxRecord*> runs_;  // all that are not sessions: they have time limits
  std::vector<SandboxRecord*> dead_;
  SandboxWatch watch_;
  SessionControl sessions_;
  SandboxRecycler recycler_;
  std::map<std::uint64_t, PendingSandbox> pending_;  // by ticket
  std::uint64_t next_ticket_ = 0;
  PendingSandboxCleanup cleanup_;
  Clock::time_point next_share_{};
};

}  // namespace glovebox::launcher
