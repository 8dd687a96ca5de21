// A nursery: a user and pid namespace with our broker as its first process. The broker creates
// sandboxes and zygotes inside it; when it ends, they end.
//
// Requests are answered in order and asynchronously. The destructor kills the broker and leaves the
// waiting to PendingZygoteCleanup.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/nursery/pending_zygote_cleanup.h"
#include "launcher/sandbox/slices.h"
#include "wire/guest/sandbox_plan.h"

namespace glovebox::launcher {

struct NurseryUsers {
  // Of the nursery's root, in our user namespace; rootless 0, the user itself.
  std::uint32_t host_uid = 0;
  std::vector<UidExtent> map;  // empty: only that one user
};

// kOne: nothing is prepared for more sandboxes than one, which takes longer than it saves the
// first.
enum class Expected : bool { kOne, kMany };

class Nursery {
 public:
  // Returns while the broker is still starting; if it fails to, the first answer says why.
  // `cgroup` is the v2 cgroup to clone it into, or -1. `cleanup` outlives the nursery.
  static Result<Nursery> start(const UniqueFd& agent, const NurseryUsers& users, int cgroup,
                               Expected sandboxes, PendingZygoteCleanup& cleanup);
  Nursery(Nursery&& other) noexcept
      : cleanup_(other.cleanup_),
        pid_(std::exchange(other.pid_, 0)),
        pidfd_(std::move(other.pidfd_)),
        socket_(std::move(other.socket_)),
        failure_(std::move(other.failure_)),
        requested_(other.requested_),
        answered_(other.answered_),
        answers_(std::move(other.answers_)) {}
  Nursery& operator=(Nursery&&) = delete;
  ~Nursery();

  // Numbers the requests to the broker.
  using Request = std::uint64_t;
  // An empty sandbox, up to the point where its first process sends its hello on `setup`;
  // `cgroup` is the v2 cgroup to clone it into, or -1.
  Result<Request> request_sandbox(const wire::MakeSandbox& make, int setup, int cgroup);
  // A zygote; its socket is the first of `fds`.
  Result<Request> request_zygote(const wire::MakeZygote& make, std::span<const int> fds);
  // The pidfd of the new process; nothing while there is no answer.
  Result<std::optional<UniqueFd>> take_answer(Request request);
  // Waits for the answer.
  Result<UniqueFd> await_answer(Request request, int timeout_ms);
  Result<UniqueFd> open_user_namespace() const;

  int pidfd() const { return pidfd_.get(); }    // readable when the broker has died
  int socket() const { return socket_.get(); }  // readable when there is an answer
  pid_t pid() const { return pid_; }

 private:
  Nursery(PendingZygoteCleanup& cleanup, pid_t pid, UniqueFd pidfd, UniqueFd socket,
          UniqueFd failure)
      : cleanup_(cleanup),
        pid_(pid),
        pidfd_(std::move(pidfd)),
        socket_(std::move(socket)),
        failure_(std::move(failure)) {}
  Error exit_reason() const;
  Result<> receive_answer();
  Result<Request> send(const wire::PlanMessage& message, std::span<const int> fds);

  PendingZygoteCleanup& cleanup_;
  pid_t pid_ = 0;
  UniqueFd pidfd_;
  UniqueFd socket_;
  UniqueFd failure_;  // the step that failed before the broker was executed
  Request requested_ = 0;
  Request answered_ = 0;
  std::map<Request, Result<UniqueFd>> answers_;  // received and not taken yet
};

// Opens the agent, our program inside sandboxes. If its file is readable, this is an unreadable
// copy in memory: root inside a sandbox may trace a process whose executable it can read.
Result<UniqueFd> open_agent(const std::string& path);

}  // namespace glovebox::launcher
