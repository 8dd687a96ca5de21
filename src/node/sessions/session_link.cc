#include "node/sessions/session_link.h"

#include <fcntl.h>

#include <boost/asio/post.hpp>
#include <utility>

#include "node/node_options.h"

namespace glovebox::node {
namespace {

using Descriptor = boost::asio::posix::stream_descriptor;

// Limits so that one busy sandbox does not stall everything else on this thread: frames per turn
// and per time slot. With full chunks that is more than a gigabyte per second.
constexpr std::size_t kFramesAtOnce = 16;
constexpr std::size_t kFramesPerSlot = 256;
constexpr std::chrono::milliseconds kSlot{10};

}  // namespace

SessionLink::SessionLink(boost::asio::io_context& io, Listener& listener, UniqueFd socket)
    : io_(io), listener_(listener) {
  ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
  inner_ = std::make_shared<Inner>(io, std::move(socket));
}

void SessionLink::begin(std::uint64_t epoch, Origin origin) {
  if (inner_->closed || std::exchange(begun_, true)) return;
  inner_->frames.seek(wire::mark_of(epoch));
  if (origin == Origin::kAdopted) inner_->frames.flush_cut_frame();
  wait_readable();
}

void SessionLink::close() {
  if (std::exchange(inner_->closed, true)) return;
  boost::system::error_code ignored;
  inner_->descriptor.close(ignored);
  inner_->rest.cancel();
  queue_.clear();
  queued_bytes_ = 0;
}

void SessionLink::over(Error why) {
  close();
  listener_.on_link_over(std::move(why));
}

void SessionLink::send(const wire::ServerFrame& frame) {
  if (inner_->closed) return;
  if (queue_.size() >= kMostFrames || queued_bytes_ >= kMostBytes) {
    // Not from in here: the caller is in the middle of something.
    boost::asio::post(io_, [this, inner = inner_] {
      if (!inner->closed) over(Error(Errc::kProtocol, "the agent does not read what it is sent"));
    });
    return;
  }
  queue_.push_back(wire::encode(frame));
  queued_bytes_ += queue_.back().size();
  if (!write_armed_) flush();
}

// Later: streams may have something to send while a frame is handled, or another is being sent.
void SessionLink::send_streams_soon() {
  if (flushing_ || inner_->closed || std::exchange(streams_armed_, true)) return;
  boost::asio::post(io_, [this, inner = inner_] {
    if (inner->closed) return;
    streams_armed_ = false;
    if (!write_armed_) flush();
  });
}

void SessionLink::flush() {
  flushing_ = true;
  const Result<> sent = send_queue();
  flushing_ = false;
  if (sent) return;
  if (sent.error().sys_errno() == EAGAIN) return wait_writable();
  // The reading side reports that it is gone, after its last frames.
  queue_.clear();
  queued_bytes_ = 0;
}

Result<> SessionLink::send_queue() {
  while (!queue_.empty() || queue_stream_frame()) {
    TRY_OK(inner_->frames.send(queue_.front()));
    queued_bytes_ -= queue_.front().size();
    queue_.pop_front();
  }
  return inner_->frames.flush();
}

bool SessionLink::queue_stream_frame() {
  const auto frame = listener_.next_stream_frame();
  if (!frame) return false;
  queue_.push_back(wire::encode(*frame));
  queued_bytes_ += queue_.back().size();
  return true;
}

void SessionLink::wait_readable() {
  inner_->descriptor.async_wait(Descriptor::wait_read,
                                [this, inner = inner_](const boost::system::error_code& error) {
                                  if (inner->closed || error) return;
                                  read_frames();
                                });
}

void SessionLink::wait_writable() {
  write_armed_ = true;
  inner_->descriptor.async_wait(Descriptor::wait_write,
                                [this, inner = inner_](const boost::system::error_code& error) {
                                  if (inner->closed || error) return;
                                  write_armed_ = false;
                                  flush();
                                  if (has_room()) listener_.on_room();
                                });
}

void SessionLink::wait_for_next_slot() {
  inner_->rest.expires_at(slot_ + kSlot);
  inner_->rest.async_wait([this, inner = inner_](const boost::system::error_code& error) {
    if (inner->closed || error) return;
    read_frames();
  });
}

void SessionLink::read_frames() {
  const std::shared_ptr<Inner> inner = inner_;
  const Clock::time_point now = Clock::now();
  if (now - slot_ >= kSlot) {
    slot_ = now;
    in_slot_ = 0;
  }
  for (std::size_t i = 0; i < kFramesAtOnce; ++i) {
    if (in_slot_ >= kFramesPerSlot) return wait_for_next_slot();
    Result<bool> more = read_one();
    if (inner->closed) return;  // a callback has closed it
    if (!more) return over(std::move(more.error()));
    if (!*more) break;
    ++in_slot_;
  }
  wait_readable();
}

Result<bool> SessionLink::read_one() {
  auto received = inner_->frames.receive(1);
  if (!received && received.error().sys_errno() == EAGAIN) return false;
  if (!received && received.error().code() == Errc::kProtocol) {
    return fail(std::move(received.error()));
  }
  if (!received || received->bytes.empty()) return fail(Errc::kUnavailable, "the sandbox is gone");
  TRY(wire::SessionFrame frame, wire::decode_session_frame(received->bytes));
  UniqueFd fd;
  if (!received->fds.empty()) fd = std::move(received->fds.front());
  const bool opens = std::holds_alternative<wire::FileOpened>(frame) ||
                     std::holds_alternative<wire::PortConnected>(frame);
  const bool has_fd = static_cast<bool>(fd);
  if (opens && !carrier_) return true;  // sent to an earlier server
  if (has_fd != (opens && carrier_ == wire::Carrier::kDescriptors)) {
    return fail(Errc::kProtocol, "wrong number of descriptors in a message");
  }
  TRY_OK(listener_.on_frame(std::move(frame), std::move(fd)));
  return true;
}

}  // namespace glovebox::node
