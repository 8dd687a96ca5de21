#include "node/testing/fake_agent.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

namespace glovebox::node {

using Descriptor = boost::asio::posix::stream_descriptor;

FakeAgent::FakeAgent(boost::asio::io_context& io, UniqueFd socket)
    : descriptor_(io, socket.release()),
      frames_(descriptor_.native_handle(), wire::kMaxSessionFrame) {
  ::fcntl(descriptor_.native_handle(), F_SETFL, O_NONBLOCK);
}

void FakeAgent::close() {
  closed_ = true;
  boost::system::error_code ignored;
  descriptor_.close(ignored);
}

void FakeAgent::say(const wire::SessionFrame& frame, int fd) { queue(wire::encode(frame), fd); }

void FakeAgent::say_bytes(const std::vector<std::byte>& bytes) { queue(bytes, -1); }

void FakeAgent::say_raw(std::string_view bytes) {
  if (::write(descriptor_.native_handle(), bytes.data(), bytes.size()) < 0) std::abort();
}

void FakeAgent::go_on() {
  paused_ = false;
  if (!waits_) wait();
}

void FakeAgent::queue(std::vector<std::byte> bytes, int fd) {
  queue_.push_back({std::move(bytes), UniqueFd(fd < 0 ? -1 : ::fcntl(fd, F_DUPFD_CLOEXEC, 0))});
  if (queue_.size() == 1) flush();
}

void FakeAgent::flush() {
  while (!closed_ && (!queue_.empty() || frames_.has_unsent())) {
    const int fd = queue_.empty() ? -1 : queue_.front().fd.get();
    const std::span<const int> fds(&fd, fd >= 0 ? 1 : 0);
    const auto sent = queue_.empty() ? frames_.flush() : frames_.send(queue_.front().bytes, fds);
    if (!sent && sent.error().sys_errno() == EAGAIN) {
      descriptor_.async_wait(Descriptor::wait_write, [self = shared_from_this()](auto error) {
        if (!error) self->flush();
      });
      return;
    }
    if (!queue_.empty()) queue_.pop_front();
  }
}

void FakeAgent::print(wire::ProcessNumber process, wire::Stream stream, std::uint64_t offset,
                      std::string bytes) {
  say(wire::Output{process, stream, offset, std::move(bytes), 0, 0,
                   subscriptions_[{process, stream}]});
}

void FakeAgent::wait() {
  waits_ = true;
  descriptor_.async_wait(
      Descriptor::wait_read, [self = shared_from_this()](const boost::system::error_code& error) {
        self->waits_ = false;
        if (error || self->closed_ || self->paused_) return;
        auto received = self->frames_.receive(0);
        if (received && received->bytes.empty()) return;
        if (received) {
          self->seen.push_back(wire::decode_server_frame(received->bytes).value());
          self->answer(wire::ServerFrame(self->seen.back()));
        }
        if (!self->closed_) self->wait();
      });
}

void FakeAgent::answer(const wire::ServerFrame& frame) {
  if (const auto* hello = std::get_if<wire::Hello>(&frame)) {
    if (silent) return;
    frames_.send_mark(wire::mark_of(hello->epoch));
    for (const auto& [number, is] : processes) say(is);
    say(wire::Welcome{hello->epoch, carrier.value_or(hello->carrier)});
  } else if (const auto* start = std::get_if<wire::StartProcess>(&frame)) {
    if (starts) say(wire::ProcessStarted{start->process, 77, false});
  } else if (const auto* subscribe = std::get_if<wire::Subscribe>(&frame)) {
    subscriptions_[{subscribe->process, subscribe->stream}] = subscribe->subscription;
  }
}

}  // namespace glovebox::node
