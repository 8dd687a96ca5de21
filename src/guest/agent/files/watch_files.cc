// Reports events of a file or a tree until the reader closes the pipe.
#include <poll.h>

#include "guest/agent/files/operations.h"
#include "guest/agent/files/resolved_path.h"
#include "guest/agent/files/watch_tree.h"

namespace glovebox::agent {
namespace {

// Both halves of a move are told one right after the other.
constexpr int kOtherHalfMs = 20;

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
  TRY_OK(out.write(wire::encode_record(wire::WatchEvent{wire::WatchKind::kReady, false, "", ""})));
  for (;;) {
    TRY_OK(out.flush());
    // POLLERR is reported when the pipe has no reader any more.
    pollfd events[2] = {{tree.fd(), POLLIN, 0}, {link.data(), 0, 0}};
    const int ready = ::poll(events, 2, tree.has_open_move() ? kOtherHalfMs : -1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return fail_with(errno);
    if (events[1].revents != 0) return {};
    if (ready == 0) {
      TRY_OK(tree.end_move());
      continue;
    }
    TRY(const bool over, tree.take());
    if (over) return out.flush();
  }
}

}  // namespace glovebox::agent
