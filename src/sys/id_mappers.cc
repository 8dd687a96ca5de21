#include "sys/id_mappers.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/clone.h"
#include "sys/id_mapper_child.h"

namespace glovebox::sys {
namespace {

// They read two files and write one. Where a directory service lists the ids, they ask it.
constexpr int kDeadlineMs = 5000;

struct PipeEnds {
  UniqueFd read_end;
  UniqueFd write_end;
};
Result<PipeEnds> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(Error::from_errno("pipe"));
  return PipeEnds{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// What it wrote, for an error message: one line of printable ASCII.
std::string words_from(const UniqueFd& words) {
  char buffer[256];
  const ssize_t got = ::read(words.get(), buffer, sizeof buffer);
  std::string text;
  for (ssize_t i = 0; i < got && buffer[i] != '\n'; ++i) {
    if (buffer[i] >= ' ' && buffer[i] < 0x7f) text += buffer[i];
  }
  return text;
}

}  // namespace

Result<IdMappers::Mapper> IdMappers::fork_mapper(const char* program, const IdMap& map) {
  TRY(PipeEnds go, make_pipe());
  TRY(PipeEnds words, make_pipe());
  const std::array<std::string, 7> arguments = {
      std::to_string(::getpid()), "0", std::to_string(map.own), "1", "1", std::to_string(map.first),
      std::to_string(map.count)};
  std::array<const char*, arguments.size() + 2> argv{program};
  for (std::size_t i = 0; i < arguments.size(); ++i) argv[i + 1] = arguments[i].c_str();
  const IdMapperPlan plan{.program = program,
                          .argv = argv.data(),
                          .go_fd = go.read_end.get(),
                          .parents_go_fd = go.write_end.get(),
                          .words_fd = words.write_end.get()};
  TRY(Cloned child, clone_into(0));
  if (child.pid == 0) run_id_mapper_child(plan);
  return Mapper{program, std::move(child.pidfd), std::move(go.write_end),
                std::move(words.read_end)};
}

Result<IdMappers> IdMappers::prepare(const IdMap& uids, const IdMap& gids) {
  IdMappers mappers;
  TRY(mappers.mappers_[0], fork_mapper("/usr/bin/newuidmap", uids));
  TRY(mappers.mappers_[1], fork_mapper("/usr/bin/newgidmap", gids));
  return mappers;
}

Result<> IdMappers::run(Mapper& mapper) {
  if (::write(mapper.go.get(), "", 1) != 1) return fail(Error::from_errno(mapper.program));
  pollfd ended{mapper.process.get(), POLLIN, 0};
  int polled = 0;
  do {
    polled = ::poll(&ended, 1, kDeadlineMs);
  } while (polled < 0 && errno == EINTR);
  if (polled != 1) {
    end(mapper);
    return fail(Errc::kTimeout, std::string(mapper.program) + " did not end in time");
  }
  siginfo_t status{};
  if (::waitid(P_PIDFD, static_cast<id_t>(mapper.process.get()), &status, WEXITED) != 0) {
    return fail(Error::from_errno(std::string("wait for ") + mapper.program));
  }
  mapper.process.reset();
  if (status.si_code == CLD_EXITED && status.si_status == 0) return {};
  const std::string words = words_from(mapper.words);
  return fail(Errc::kUnavailable, std::string(mapper.program) + " failed" +
                                      (words.empty() ? std::string() : ": " + words));
}

// One that has not been told to go ends by itself when its pipe is closed; one that hangs runs with
// its caller's real uid, so that the caller may kill it.
void IdMappers::end(Mapper& mapper) {
  mapper.go.reset();
  if (!mapper.process) return;
  send_signal(mapper.process.get(), SIGKILL);
  ::waitid(P_PIDFD, static_cast<id_t>(mapper.process.get()), nullptr, WEXITED);
  mapper.process.reset();
}

IdMappers::~IdMappers() {
  for (Mapper& mapper : mappers_) end(mapper);
}

}  // namespace glovebox::sys
