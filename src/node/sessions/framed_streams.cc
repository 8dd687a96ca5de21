#include "node/sessions/framed_streams.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

namespace glovebox::node {
namespace {

using Descriptor = boost::asio::posix::stream_descriptor;
using Carries = wire::FramedStream::Carries;

Error too_many() {
  return Error(Errc::kResourceExhausted, "too many transfers and connections of this sandbox");
}

}  // namespace

Result<UniqueFd> FramedStreams::open(wire::RequestNumber request, wire::FileData way) {
  if (is_full()) return fail(too_many());
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return fail(Error::from_errno("create a pipe"));
  UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  const bool is_from_sandbox = way == wire::FileData::kToServer;
  add(request, std::move(is_from_sandbox ? write_end : read_end),
      is_from_sandbox ? Carries::kIn : Carries::kOut);
  return std::move(is_from_sandbox ? read_end : write_end);
}

Result<UniqueFd> FramedStreams::open_port(wire::RequestNumber request) {
  if (is_full()) return fail(too_many());
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return fail(Error::from_errno("create a socket"));
  }
  UniqueFd its_users(ends[0]);
  add(request, UniqueFd(ends[1]), Carries::kBoth);
  return its_users;
}

void FramedStreams::add(wire::RequestNumber request, UniqueFd fd, Carries carries) {
  const auto stream = std::make_shared<Stream>(connection_->io(), std::move(fd), request, carries);
  streams_[request] = stream;
  update(request, stream);
}

FramedStreams::StreamPtr FramedStreams::find(wire::RequestNumber request) const {
  const auto at = streams_.find(request);
  return at == streams_.end() ? nullptr : at->second;
}

bool FramedStreams::takes(const wire::SessionFrame& frame) {
  return std::visit([]<class Frame>(const Frame&) { return wire::FrameOfStream<Frame>; }, frame);
}

Result<> FramedStreams::on_frame(const wire::SessionFrame& frame) {
  return std::visit(
      [this]<class Frame>(const Frame& one) -> Result<> {
        if constexpr (wire::FrameOfStream<Frame>) {
          const StreamPtr stream = find(one.request);
          if (!stream) return {};
          TRY_OK(stream->framed.on(one));
          update(one.request, stream);
        }
        return {};
      },
      frame);
}

std::optional<wire::ServerFrame> FramedStreams::next_frame() {
  while (!ready_.empty()) {
    const wire::RequestNumber request = ready_.front();
    ready_.pop_front();
    const StreamPtr stream = find(request);
    if (!stream) continue;
    stream->is_queued = false;
    std::optional<wire::ServerFrame> next;
    if (auto frame = stream->framed.next()) {
      next = std::visit([](auto& one) { return wire::ServerFrame(std::move(one)); }, *frame);
    } else if (stream->commits && stream->framed.is_out_over()) {
      stream->commits = false;
      next = wire::CommitFile{request};
    }
    update(request, stream);
    if (next) return next;
  }
  return std::nullopt;
}

bool FramedStreams::commit_later(wire::RequestNumber request) {
  const StreamPtr stream = find(request);
  if (!stream || stream->framed.is_out_over()) return false;
  stream->commits = true;
  return true;
}

void FramedStreams::drop(wire::RequestNumber request) {
  if (!find(request)) return;
  erase(request);
  connection_->send(wire::AbandonFile{request});
}

void FramedStreams::end_all() {
  while (!streams_.empty()) erase(streams_.begin()->first);
  ready_.clear();
}

// What the stream waits for, and what it has to send.
void FramedStreams::update(wire::RequestNumber request, const StreamPtr& stream) {
  const bool commits_now = stream->commits && stream->framed.is_out_over();
  const bool has_next = stream->framed.has_next() || commits_now;
  if (stream->framed.is_over()) {
    boost::system::error_code ignored;
    stream->descriptor.close(ignored);
    if (!has_next) return erase(request);
  } else {
    wait(request, stream);
  }
  if (!has_next || std::exchange(stream->is_queued, true)) return;
  ready_.push_back(request);
  // Not from in here: the connection may be asking for the next frame.
  connection_->send_streams_soon();
}

void FramedStreams::wait(wire::RequestNumber request, const StreamPtr& stream) {
  if (stream->framed.waits_to_read() && !std::exchange(stream->read_armed, true)) {
    stream->descriptor.async_wait(
        Descriptor::wait_read,
        [self = shared_from_this(), request, stream](const boost::system::error_code& error) {
          stream->read_armed = false;
          if (error) return;
          stream->framed.on_readable();
          self->update(request, stream);
        });
  }
  if (stream->framed.waits_to_write() && !std::exchange(stream->write_armed, true)) {
    stream->descriptor.async_wait(
        Descriptor::wait_write,
        [self = shared_from_this(), request, stream](const boost::system::error_code& error) {
          stream->write_armed = false;
          if (error) return;
          stream->framed.on_writable();
          self->update(request, stream);
        });
  }
}

void FramedStreams::erase(wire::RequestNumber request) {
  const auto at = streams_.find(request);
  if (at == streams_.end()) return;
  boost::system::error_code ignored;
  at->second->descriptor.close(ignored);
  streams_.erase(at);
}

}  // namespace glovebox::node
