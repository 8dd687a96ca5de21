#include "attack/test_internet.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace glovebox::attack {
namespace {

constexpr int kPatienceMs = 20000;
// Its DNS server (tests/escape/attacks/egress.h).
constexpr const char* kResolver = "45.90.28.53";

// What it says until it says "box=" or ends.
std::string output_of(int fd) {
  std::string said;
  char buffer[512];
  while (said.find("box=") == std::string::npos || said.back() != '\n') {
    pollfd poller{fd, POLLIN, 0};
    if (::poll(&poller, 1, kPatienceMs) != 1) break;
    const ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count <= 0) break;
    said.append(buffer, static_cast<size_t>(count));
    if (said.size() > 4096) break;
  }
  return said;
}

}  // namespace

Result<std::unique_ptr<TestInternet>> TestInternet::make(const std::string& attacks_program) {
  int input[2];
  int output[2];
  if (::pipe2(input, O_CLOEXEC) != 0) return fail(Error::from_errno("pipe"));
  const UniqueFd input_end(input[0]);
  std::unique_ptr<TestInternet> made(new TestInternet);
  made->program_ = attacks_program;
  made->input_ = UniqueFd(input[1]);
  if (::pipe2(output, O_CLOEXEC) != 0) return fail(Error::from_errno("pipe"));
  const UniqueFd read_end(output[0]);
  UniqueFd write_end(output[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input_end.get(), 0);
  posix_spawn_file_actions_adddup2(&actions, write_end.get(), 1);
  posix_spawn_file_actions_adddup2(&actions, write_end.get(), 2);
  char name[] = "glovebox-attacks";
  char verb[] = "internet";
  char* argv[] = {name, verb, nullptr};
  const int err =
      ::posix_spawn(&made->child_, attacks_program.c_str(), &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (err != 0) {
    made->child_ = -1;
    return fail(Error::from_errno("start a network to attack", err));
  }
  write_end.reset();
  const std::string said = output_of(read_end.get());
  const size_t at = said.find("box=");
  if (at == std::string::npos) {
    return fail(Errc::kUnavailable, said.substr(0, said.find('\n')));
  }
  made->box_ = said.substr(at + 4, said.find('\n', at) - at - 4);
  return made;
}

TestInternet::~TestInternet() {
  if (child_ <= 0) return;
  input_.reset();
  // It ends when its input does; the namespaces go with it.
  ::waitpid(child_, nullptr, 0);
}

std::vector<std::string> TestInternet::through() const { return {program_, "join", box_, "--"}; }

std::vector<std::string> TestInternet::environment() const {
  return {std::string("GLOVEBOX_NET_RESOLVERS=") + kResolver};
}

}  // namespace glovebox::attack
