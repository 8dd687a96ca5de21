// Changes sessions at a client's request after their creation: pauses, resumes, keeps alive,
// changes and deletes them. One change of a session at a time, in the order of arrival; a deletion
// does not wait.
//
// An end is stored before the sandbox is destroyed. A server that dies in between leaves a sandbox
// without a living record, and the next server destroys it.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/task.h"
#include "sessions/session_networks.h"
#include "sessions/session_options.h"
#include "sessions/session_registry.h"
#include "sessions/session_request.h"

namespace glovebox::sessions {

// A session with this metadata key set to "true" is resumed by a request to one of its ports.
inline constexpr std::string_view kAutoResume = "glovebox.auto_resume";

// What of a paused session stays: everything, or only its files. Without its memory its processes
// end with the pause, and only an explicit request resumes it.
enum class PauseMode : bool { kFiles, kMemory };
inline PauseMode kept_at_timeout(OnTimeout action) {
  return action == OnTimeout::kPauseFiles ? PauseMode::kFiles : PauseMode::kMemory;
}

class SessionLifecycle {
 public:
  // All are borrowed and outlive this.
  SessionLifecycle(SessionRegistry& registry, node::SessionService& service,
                   SessionNetworks& networks, const SessionOptions& options)
      : registry_(registry), service_(service), networks_(networks), options_(options) {}

  // Each for a session of a project ("*": of any). kNotFound; kConflict in a state that does not
  // allow it.
  Task<> destroy(std::string project, std::string id);
  Task<store::SessionRecord> pause(std::string project, std::string id,
                                   PauseMode keeps = PauseMode::kMemory);
  Task<store::SessionRecord> resume(std::string project, std::string id);
  Task<store::SessionRecord> keep_alive(std::string project, std::string id,
                                        std::optional<std::uint64_t> ttl_s);
  Task<store::SessionRecord> change(std::string project, std::string id, ChangeRequest request);

  // Ensures that the session runs for at least `ttl_s` from now: resumes a session that is paused
  // or being paused, and never shortens the time of a running one. With PauseMode::kFiles the
  // processes of a session that was paused end: it starts anew.
  struct Connected {
    store::SessionRecord record;
    bool was_resumed = false;
  };
  Task<Connected> connect(std::string project, std::string id, std::uint64_t ttl_s,
                          PauseMode keeps = PauseMode::kMemory);
  // Resumes a paused session whose metadata asks for it (kAutoResume), because a request to one of
  // its ports has arrived. Nothing serves ports in one that was paused without its memory.
  asio::awaitable<void> wake(std::string id);

  // For the other classes of this folder. The entry's lock is held by the caller of pause_entry()
  // and resume_entry().
  Task<> pause_entry(EntryPtr entry, std::string reason, PauseMode keeps);
  Task<> end_and_destroy(EntryPtr entry, SessionState to, EndCause cause, std::string reason);
  // kPolicy: more than the administrator allows.
  Result<std::uint64_t> ttl_of(std::optional<std::uint64_t> asked) const;

 private:
  Task<> resume_entry(EntryPtr entry, PauseMode keeps);
  Task<> end_processes(const SandboxId& id);

  SessionRegistry& registry_;
  node::SessionService& service_;
  SessionNetworks& networks_;
  const SessionOptions& options_;
};

inline std::chrono::milliseconds ttl_time(std::uint64_t ttl_s) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(ttl_s) * 1000);
}

// A flag for waits that are never cancelled.
inline std::shared_ptr<node::CancelFlag> never_cancelled() {
  return std::make_shared<node::CancelFlag>();
}

}  // namespace glovebox::sessions
