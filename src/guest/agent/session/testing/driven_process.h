// A process of a session, without the process: the test has the other ends of its pipes.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "guest/agent/session/session_process.h"

namespace glovebox::agent {

using wire::Stream;

class Driven {
 public:
  explicit Driven(bool lossy = false, bool subscribed = true, bool terminal = false)
      : epoll_(::epoll_create1(EPOLL_CLOEXEC)), null_(::open("/dev/null", O_RDWR | O_CLOEXEC)) {
    ::signal(SIGPIPE, SIG_IGN);  // as the agent does
    wire::StartProcess start;
    start.process = 7;
    start.kind = wire::ProcessKind::kContext;
    start.exec.argv = {"x"};
    start.has_stdin = true;
    start.lossy = lossy;
    start.subscribed = subscribed;
    if (terminal) start.exec.terminal = TerminalSize{};
    process = std::make_unique<SessionProcess>(start, epoll_.get(), 0);
    SessionStreams streams;
    EXPECT_TRUE(make_streams(start, SessionUser{}, false, null_.get(), streams));
    theirs = std::move(streams.theirs);
    for (const UniqueFd* fd :
         {&theirs.in, &theirs.out, &theirs.err, &theirs.results, &theirs.requests}) {
      if (*fd) ::fcntl(fd->get(), F_SETFL, O_NONBLOCK);
    }
    process->take_streams(std::move(streams.ours));
  }

  // As much as the pipe takes.
  std::size_t print(const UniqueFd& fd, std::string_view text) {
    std::size_t written = 0;
    while (written < text.size()) {
      const ssize_t got = ::write(fd.get(), text.data() + written, text.size() - written);
      if (got <= 0) break;
      written += static_cast<std::size_t>(got);
    }
    return written;
  }

  // Handles what there is to handle, as the agent's loop does.
  void turn() {
    epoll_event events[16];
    for (int rounds = 0; rounds < 1000; ++rounds) {
      const int count = ::epoll_wait(epoll_.get(), events, 16, 0);
      if (count <= 0) return;
      for (int i = 0; i < count; ++i) process->on_event(static_cast<StreamFd>(events[i].data.u64));
    }
    FAIL() << "it spins";
  }

  // What is written to a terminal arrives at its other end a moment later.
  static bool await_readable(const UniqueFd& fd) {
    pollfd poller{fd.get(), POLLIN, 0};
    return ::poll(&poller, 1, 10'000) == 1;
  }
  bool await_event() const { return await_readable(epoll_); }

  std::vector<wire::SessionFrame> said() {
    turn();
    std::vector<wire::SessionFrame> frames;
    while (auto frame = process->next_frame()) {
      if (const auto* output = std::get_if<wire::Output>(&*frame)) {
        EXPECT_EQ(output->offset, ends[output->stream]) << "lost or repeated";
        ends[output->stream] = output->offset + output->bytes.size();
      }
      frames.push_back(std::move(*frame));
    }
    return frames;
  }
  void acknowledge(Stream stream) { process->acknowledge({7, stream, ends[stream]}); }

  StreamEnds theirs;
  std::unique_ptr<SessionProcess> process;
  std::map<Stream, std::uint64_t> ends;

 private:
  UniqueFd epoll_;
  UniqueFd null_;
};

}  // namespace glovebox::agent
