#include "node/sessions/session_inbox.h"

#include <algorithm>
#include <utility>

namespace glovebox::node {
namespace {

// A quarter of the window: the sandbox keeps sending, and not every frame is acknowledged.
constexpr std::uint64_t kWorthTelling = wire::kWindow / 4;
// With more events than this, bytes are appended to the last event of their stream although others
// came between: alternating single bytes of two streams would cost many times their size.
constexpr std::size_t kManyItems = 256;
constexpr std::size_t kMaxItems = 4096;  // reached only with many losses, and these are rare

}  // namespace

void Inbox::subscribe(wire::Stream stream, std::uint64_t from, std::uint32_t subscription) {
  In fresh;
  fresh.subscribed = true;
  fresh.subscription = subscription;
  fresh.expected = from;
  in(stream) = fresh;
}

bool Inbox::wants(wire::Stream stream, std::uint32_t subscription) const {
  return in(stream).subscribed && in(stream).subscription == subscription;
}

Result<> Inbox::take(wire::Output output) {
  In& one = in(output.stream);
  const std::uint64_t size = output.bytes.size();
  // A subscription beyond the end gets what comes from now on.
  if (!std::exchange(one.begun, true)) one.expected = std::min(one.expected, output.offset);
  if (size > UINT64_MAX - output.offset || output.offset < one.expected) {
    return fail(Errc::kProtocol, "output goes backwards");
  }
  if (items_.size() >= kMaxItems) return fail(Errc::kProtocol, "output with too many gaps");
  if (size > wire::kWindow - one.held) {
    return fail(Errc::kProtocol, "output beyond the window");
  }
  one.held += size;
  if (one.end) {
    // Output of its children after its own end is dropped.
    if (output.offset >= one.end->end) return {};
    output.bytes.resize(std::min(size, one.end->end - output.offset));
  }
  if (output.offset > one.expected) lose(output.stream, output.offset);
  if (!output.bytes.empty()) append(std::move(output));
  return {};
}

void Inbox::lose(wire::Stream stream, std::uint64_t up_to) {
  In& one = in(stream);
  items_.emplace_back(Attachment::Lost{stream, up_to - one.expected});
  one.expected = up_to;
  one.last = 0;
}

void Inbox::append(wire::Output output) {
  In& one = in(output.stream);
  one.expected = output.offset + output.bytes.size();
  const std::uint64_t newest = first_ + items_.size() - 1;
  const bool is_results = output.stream == wire::Stream::kResults;
  if (one.last >= first_ && (items_.size() > kManyItems || (one.last == newest && !is_results))) {
    auto& last = std::get<Attachment::Chunk>(items_[one.last - first_]);
    if (last.bytes.size() + output.bytes.size() <= wire::kMaxSessionChunk) {
      last.bytes += output.bytes;
      last.out_before = std::max(last.out_before, output.out_before);
      last.err_before = std::max(last.err_before, output.err_before);
      return;
    }
  }
  items_.emplace_back(Attachment::Chunk{output.stream, output.offset, std::move(output.bytes),
                                        output.out_before, output.err_before});
  one.last = newest + 1;
}

void Inbox::exited(const wire::ProcessEnd& end, const wire::StreamState& out,
                   const wire::StreamState& err, const wire::StreamState& results) {
  end_ = end;
  in(wire::Stream::kStdout).end = out;
  in(wire::Stream::kStderr).end = err;
  in(wire::Stream::kResults).end = results;
  mark_unkept_as_lost();
}

// Of a stream that has ended and of which nothing is kept, nothing will come.
void Inbox::mark_unkept_as_lost() {
  for (const wire::Stream stream : kOutputStreams) {
    In& one = in(stream);
    if (!one.subscribed || one.expected >= one.end->end || one.end->begin < one.end->end) continue;
    lose(stream, one.end->end);
  }
}

bool Inbox::complete() const {
  return std::all_of(streams_.begin(), streams_.end(),
                     [](const In& one) { return !one.subscribed || one.expected >= one.end->end; });
}

std::optional<Attachment::Event> Inbox::next() {
  if (given_) {
    In& one = in(given_->stream);
    one.given += given_->size;
    one.given_to = given_->end;
    given_.reset();
  }
  if (!items_.empty()) {
    Item item = std::move(items_.front());
    items_.pop_front();
    ++first_;
    if (auto* lost = std::get_if<Attachment::Lost>(&item)) return *lost;
    auto& chunk = std::get<Attachment::Chunk>(item);
    given_ = Given{chunk.stream, chunk.offset + chunk.bytes.size(), chunk.bytes.size()};
    return Attachment::Event(std::move(chunk));
  }
  if (!end_ || end_delivered_ || !complete()) return std::nullopt;
  end_delivered_ = true;
  return Attachment::Exited{*end_};
}

std::vector<wire::Acknowledge> Inbox::acknowledge(bool waits) {
  std::vector<wire::Acknowledge> acknowledged;
  for (const wire::Stream stream : kOutputStreams) {
    In& one = in(stream);
    if (one.given == 0 || (!waits && one.given < kWorthTelling)) continue;
    acknowledged.push_back({process_, stream, one.given_to});
    one.held -= one.given;
    one.given = 0;
  }
  return acknowledged;
}

}  // namespace glovebox::node
