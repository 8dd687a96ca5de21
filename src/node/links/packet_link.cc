#include "node/links/packet_link.h"

#include <fcntl.h>

#include <boost/asio/post.hpp>
#include <utility>

namespace glovebox::node {
namespace {

using Descriptor = boost::asio::posix::stream_descriptor;

// So that one busy program does not keep everything else on this thread waiting.
constexpr int kMessagesAtOnce = 64;

}  // namespace

PacketLink::PacketLink(boost::asio::io_context& io, UniqueFd socket, Bounds bounds,
                       OnMessage on_message, OnGone on_gone)
    : io_(io),
      descriptor_(io, socket.release()),
      bounds_(bounds),
      on_message_(std::move(on_message)),
      on_gone_(std::move(on_gone)) {}

std::shared_ptr<PacketLink> PacketLink::start(boost::asio::io_context& io, UniqueFd socket,
                                              Bounds bounds, OnMessage on_message, OnGone on_gone) {
  ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
  const std::shared_ptr<PacketLink> link(
      new PacketLink(io, std::move(socket), bounds, std::move(on_message), std::move(on_gone)));
  link->wait_readable();
  return link;
}

void PacketLink::close() {
  closed_ = true;
  boost::system::error_code ignored;
  descriptor_.close(ignored);
}

// Not from in here: the caller is in the middle of something.
void PacketLink::give_up(std::string why) {
  boost::asio::post(io_, [self = shared_from_this(), why = std::move(why)] {
    if (!self->closed_) self->on_gone_(why);
  });
}

void PacketLink::send(std::vector<std::byte> bytes, std::vector<UniqueFd> fds) {
  if (closed_) return;
  if (queue_.size() >= bounds_.queued) return give_up("it does not read what we send");
  queue_.push_back({std::move(bytes), std::move(fds)});
  if (!write_armed_) flush();
}

void PacketLink::flush() {
  while (!queue_.empty()) {
    const Outgoing& next = queue_.front();
    std::vector<int> fds;
    for (const UniqueFd& fd : next.fds) fds.push_back(fd.get());
    const auto sent = send_message(descriptor_.native_handle(), next.bytes, fds);
    if (!sent && sent.error().sys_errno() == EAGAIN) return wait_writable();
    // The reading side reports that it is gone, after its last messages.
    if (!sent) return queue_.clear();
    queue_.pop_front();
  }
}

void PacketLink::wait_readable() {
  descriptor_.async_wait(Descriptor::wait_read,
                         [self = shared_from_this()](const boost::system::error_code& error) {
                           if (self->closed_ || error) return;
                           self->read_some();
                         });
}

void PacketLink::wait_writable() {
  write_armed_ = true;
  descriptor_.async_wait(Descriptor::wait_write,
                         [self = shared_from_this()](const boost::system::error_code& error) {
                           if (self->closed_ || error) return;
                           self->write_armed_ = false;
                           self->flush();
                         });
}

void PacketLink::read_some() {
  const std::shared_ptr<PacketLink> self = shared_from_this();
  for (int i = 0; i < kMessagesAtOnce; ++i) {
    const Result<bool> more = read_one();
    if (closed_) return;  // a callback has closed it
    if (!more) return on_gone_(more.error().message());
    if (!*more) break;
  }
  wait_readable();
}

Result<bool> PacketLink::read_one() {
  auto received =
      receive_message(descriptor_.native_handle(), bounds_.message_bytes, bounds_.message_fds);
  if (!received && received.error().sys_errno() == EAGAIN) return false;
  if (!received) return fail(std::move(received.error()));
  if (received->bytes.empty()) return fail(Errc::kUnavailable, "it closed its socket");
  TRY_OK(on_message_(std::move(*received)));
  return true;
}

}  // namespace glovebox::node
