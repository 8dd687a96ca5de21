// Tells what happens to a file or in a tree, until nobody listens any more.
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
  const auto tell = [&](const wire::WatchEvent& event) {
    ++link.done.entries;
    return out.write(wire::encode_record(event));
  };
  TRY(WatchTree tree, WatchTree::make(request.path, request.recursive, tell));
  TRY_OK(link.opened());
  TRY_OK(out.write(wire::encode_record(wire::WatchEvent{wire::WatchKind::kReady, false, "", ""})));
  for (;;) {
    TRY_OK(out.flush());
    // A pipe that nobody reads from says so without being asked.
    pollfd places[2] = {{tree.fd(), POLLIN, 0}, {link.data(), 0, 0}};
    const int ready = ::poll(places, 2, tree.has_open_move() ? kOtherHalfMs : -1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return fail_with(errno);
    if (places[1].revents != 0) return {};
    if (ready == 0) {
      TRY_OK(tree.settle());
      continue;
    }
    TRY(const bool over, tree.take());
    if (over) return out.flush();
  }
}

}  // namespace glovebox::agent
