// A nursery: a user and pid namespace with our broker as its first process. Sandboxes are made
// inside it; when it ends, they end.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/nursery/pending_zygote_cleanup.h"
#include "wire/sandbox_plan.h"

namespace glovebox::launcher {

struct NurseryUsers {
  std::uint32_t host_uid = 0;  // of the nursery's root, as we number users
  std::uint32_t count = 1;     // one: rootless, no slices to give
};

class Nursery {
 public:
  // Returns while the broker is still on its way; if it does not arrive, its answers tell why.
  // `cgroup` is the v2 cgroup it is born in, or -1. When it goes, nobody waits for its broker and
  // all that die with it: that is left to `remains`, which lives longer.
  static Result<Nursery> start(const UniqueFd& agent, const NurseryUsers& users, int cgroup,
                               Remains& remains);
  Nursery(Nursery&& other) noexcept
      : remains_(other.remains_),
        pid_(std::exchange(other.pid_, 0)),
        pidfd_(std::move(other.pidfd_)),
        socket_(std::move(other.socket_)),
        failure_(std::move(other.failure_)),
        asked_(other.asked_),
        answered_(other.answered_),
        answers_(std::move(other.answers_)) {}
  Nursery& operator=(Nursery&&) = delete;
  ~Nursery();

  // Which of the broker's answers, which come in the order of the questions.
  using Question = std::uint64_t;
  // An empty sandbox, up to the point where its first process says hello on `setup`;
  // `cgroup` is the v2 cgroup it is born in, or -1.
  Result<Question> ask_for_sandbox(const wire::MakeSandbox& make, int setup, int cgroup);
  // A zygote; its socket is the first of `fds`.
  Result<Question> ask_for_zygote(const wire::MakeZygote& make, std::span<const int> fds);
  // The process that was asked for; none as long as there is no answer.
  Result<std::optional<UniqueFd>> answer_to(Question question);
  // Waits for it.
  Result<UniqueFd> await(Question question, int within_ms);
  Result<UniqueFd> open_user_namespace() const;

  int pidfd() const { return pidfd_.get(); }    // readable when the broker has died
  int socket() const { return socket_.get(); }  // readable when it has answered
  pid_t pid() const { return pid_; }

 private:
  Nursery(Remains& remains, pid_t pid, UniqueFd pidfd, UniqueFd socket, UniqueFd failure)
      : remains_(remains),
        pid_(pid),
        pidfd_(std::move(pidfd)),
        socket_(std::move(socket)),
        failure_(std::move(failure)) {}
  Error why_it_is_gone() const;
  Result<> receive_answer();
  Result<Question> ask(const wire::PlanMessage& message, std::span<const int> fds);

  Remains& remains_;
  pid_t pid_ = 0;
  UniqueFd pidfd_;
  UniqueFd socket_;
  UniqueFd failure_;  // what stopped it before it was the broker
  Question asked_ = 0;
  Question answered_ = 0;
  std::map<Question, Result<UniqueFd>> answers_;  // not asked for yet
};

// Our program for inside, opened; a private unreadable copy if the file on disk could be read,
// since a process of a readable file can be traced by root inside.
Result<UniqueFd> open_agent(const std::string& path);

}  // namespace glovebox::launcher
