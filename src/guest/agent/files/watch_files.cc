// Reports events of a file or a tree until the reader closes the pipe. A reader that needs to know
// that it has seen everything so far sends a byte on the control socket; a "ready" record answers.
#include <poll.h>
#include <sys/socket.h>

#include "guest/agent/files/operations.h"
#include "guest/agent/files/resolved_path.h"
#include "guest/agent/files/watch_tree.h"

namespace glovebox::agent {
namespace {

// inotify reports both halves of a move one right after the other.
constexpr int kOtherHalfMs = 20;

// How many marks were asked for; an error when the request is abandoned.
Result<int> take_marks(int control) {
  for (int marks = 0;;) {
    char byte = 0;
    const ssize_t got = ::recv(control, &byte, 1, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return marks;
    if (got <= 0) return fail_with(ECANCELED, "abandoned");
    ++marks;
  }
}

}  // namespace

Result<> watch_files(HelperLink& link) {
  const wire::FileRequest& request = link.request();
  PipeWriter out(link.data());
  const auto report = [&](const wire::WatchEvent& event) {
    ++link.done.entries;
    return out.write(wire::encode_record(event));
  };
  TRY(WatchTree tree, WatchTree::make(request.path, request.recursive, report));
  TRY_OK(link.opened());
  const std::string mark =
      wire::encode_record(wire::WatchEvent{wire::WatchKind::kReady, false, "", ""});
  TRY_OK(out.write(mark));
  int marks = 0;
  for (;;) {
    // Half of a move is not an event yet.
    for (; marks > 0 && !tree.has_open_move(); --marks) TRY_OK(out.write(mark));
    TRY_OK(out.flush());
    // POLLERR is reported when the pipe has no reader any more.
    pollfd events[3] = {{tree.fd(), POLLIN, 0}, {link.control(), POLLIN, 0}, {link.data(), 0, 0}};
    const int ready = ::poll(events, 3, tree.has_open_move() ? kOtherHalfMs : -1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return fail_with(errno);
    if (events[2].revents != 0) return {};
    if (ready == 0) {
      TRY_OK(tree.end_move());
      continue;
    }
    // First the marks, then the events: each event from before a mark is reported before it.
    TRY(const int more, take_marks(link.control()));
    marks += more;
    TRY(const bool over, tree.take());
    if (over) return out.flush();
  }
}

}  // namespace glovebox::agent
