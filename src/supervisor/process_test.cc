#include "supervisor/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "base/fd_message.h"

namespace glovebox::supervisor {
namespace {

ProcessEnding end_of(const Process& process) {
  pollfd ended{process.pidfd.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&ended, 1, 20000), 1);
  EXPECT_FALSE(is_alive(process));
  return reap(process);
}

Result<Process> shell(const std::string& script, int fd3 = -1) {
  return start({.program = "/bin/sh",
                .arguments = {"-c", script},
                .environment = {"PATH=/usr/bin:/bin", "ONLY=this"},
                .fd3 = fd3});
}

TEST(StartedProcess, ReportsHowItEnded) {
  EXPECT_EQ(end_of(*shell("exit 7")).text, "status 7");
  EXPECT_TRUE(end_of(*shell("exit 7")).by_itself);
  const auto sleeper = shell("exec sleep 1000");
  EXPECT_TRUE(is_alive(*sleeper));
  ASSERT_TRUE(send_signal(*sleeper, SIGKILL));
  const ProcessEnding killed = end_of(*sleeper);
  EXPECT_EQ(killed.text, "signal 9");
  EXPECT_FALSE(killed.by_itself);
}

TEST(StartedProcess, WritesToTheOutputItIsGiven) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  const auto process = start({.program = "/bin/sh",
                              .arguments = {"-c", "printf said; [ ! -e /proc/$$/fd/3 ]"},
                              .environment = {"PATH=/usr/bin:/bin"},
                              .output = writing.get()});
  writing.reset();
  EXPECT_EQ(end_of(*process).text, "status 0");
  char text[16];
  EXPECT_EQ(::read(reading.get(), text, sizeof text), 4);
  EXPECT_EQ(std::string(text, 4), "said");
}

TEST(StartedProcess, ThatCannotStartIsAnError) {
  EXPECT_FALSE(start({.program = "/no/such/program", .arguments = {}, .environment = {}}));
}

TEST(StartedProcess, InheritsNoDescriptorMaskOrEnvironment) {
  const int stray = ::open("/dev/null", O_RDONLY);  // not CLOEXEC, as a careless caller's
  sigset_t mask, old;
  ::sigemptyset(&mask);
  ::sigaddset(&mask, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &mask, &old);
  auto pair = seqpacket_pair();
  const auto process = shell(
      "[ -e /proc/$$/fd/3 ] || exit 1\n"
      "n=4; while [ $n -lt 100 ]; do [ -e /proc/$$/fd/$n ] && exit 2; n=$((n+1)); done\n"
      "[ \"$(readlink /proc/$$/fd/0)\" = /dev/null ] || exit 3\n"
      // Read by the shell itself: while it waits for another program it blocks signals of its own.
      "while read -r name mask; do\n"
      "  [ $name != SigBlk: ] || [ $mask = 0000000000000000 ] || exit 4\n"
      "done < /proc/$$/status\n"
      "[ \"$ONLY\" = this ] && [ -z \"$HOME\" ] || exit 5\n"
      "exit 0",
      pair->theirs.get());
  ::sigprocmask(SIG_SETMASK, &old, nullptr);
  ASSERT_TRUE(process);
  EXPECT_EQ(end_of(*process).text, "status 0");
  ::close(stray);
}

class Listener : public ::testing::Test {
 protected:
  Listener() {
    char name[] = "/tmp/gbx-listener-XXXXXX";
    directory_ = ::mkdtemp(name);
    path_ = directory_ + "/s";
  }
  ~Listener() override { std::filesystem::remove_all(directory_); }

  // A process that listens until `stop_` is closed.
  void listen_elsewhere() {
    int ready[2], stop[2];
    ASSERT_EQ(::pipe(ready) + ::pipe(stop), 0);
    child_ = ::fork();
    if (child_ == 0) {
      ::close(stop[1]);
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      std::strcpy(address.sun_path, path_.c_str());
      const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
      char result = ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
                            ::listen(socket, 5) == 0
                        ? 'y'
                        : 'n';
      (void)!::write(ready[1], &result, 1);
      (void)!::read(stop[0], &result, 1);
      ::_exit(0);
    }
    char result = 0;
    ASSERT_EQ(::read(ready[0], &result, 1), 1);
    ASSERT_EQ(result, 'y');
    for (const int fd : {ready[0], ready[1], stop[0]}) ::close(fd);
    stop_.reset(stop[1]);
  }

  std::string directory_, path_;
  pid_t child_ = 0;
  UniqueFd stop_;
};

TEST_F(Listener, IsFoundWithItsPidWhileItLives) {
  EXPECT_FALSE(find_listener(path_));
  listen_elsewhere();
  const auto found = find_listener(path_);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->process.pid, child_);
  EXPECT_TRUE(is_alive(found->process));
  stop_.reset();
  pollfd ended{found->process.pidfd.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&ended, 1, 20000), 1);
  EXPECT_FALSE(find_listener(path_));  // the socket's name is still there
  EXPECT_TRUE(std::filesystem::exists(path_));
  ::waitpid(child_, nullptr, 0);
}

}  // namespace
}  // namespace glovebox::supervisor
