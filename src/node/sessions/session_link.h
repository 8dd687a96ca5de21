// The socket of a session's sandbox, without blocking: sends frames as far as the socket takes
// them, passes on those that come. Frames of streams wait until there is no other frame to send.
// The other side is treated as hostile: a malformed frame ends the link, a flood is read more
// slowly, and the queue of frames that it does not read is bounded. One thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/frame_link.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "wire/guest/session_frames.h"

namespace glovebox::node {

class SessionLink {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    // An error ends the link.
    virtual Result<> on_frame(wire::SessionFrame frame, UniqueFd fd) = 0;
    virtual void on_room() = 0;  // there is room again for what is sent
    // The next frame of a stream, when there is no other to send; must not call send().
    virtual std::optional<wire::ServerFrame> next_stream_frame() = 0;
    // Once, and never from in send(). kProtocol: it broke the protocol; else it closed its end.
    virtual void on_link_over(Error why) = 0;
  };
  // Beyond the first bound callers wait (has_room()); frames that follow from theirs may still be
  // sent, and beyond the second bound the link ends.
  static constexpr std::size_t kQueueFrames = 256;
  static constexpr std::size_t kQueueBytes = 1u << 20;
  static constexpr std::size_t kMostFrames = 8192;
  static constexpr std::size_t kMostBytes = 8u << 20;

  SessionLink(boost::asio::io_context& io, Listener& listener, UniqueFd socket);
  ~SessionLink() { close(); }
  SessionLink(const SessionLink&) = delete;
  SessionLink& operator=(const SessionLink&) = delete;

  bool is_byte_stream() const { return inner_->frames.is_byte_stream(); }
  // Begins to read: of a byte stream what follows the agent's answer to our Hello of this epoch.
  // `kAdopted`: a server before us may have ended in the middle of a frame.
  enum class Origin : bool { kCreated, kAdopted };
  void begin(std::uint64_t epoch, Origin origin);
  // From the agent's Welcome on: whether FileOpened and PortConnected must bring a descriptor, or
  // must not. What was sent to an earlier server may have come either way.
  void set_carrier(wire::Carrier carrier) { carrier_ = carrier; }
  void send(const wire::ServerFrame& frame);
  void send_streams_soon();
  bool has_room() const { return queue_.size() < kQueueFrames && queued_bytes_ < kQueueBytes; }
  bool all_sent() const { return queue_.empty() && !inner_->frames.has_unsent(); }
  void close();  // without a callback

 private:
  // Held by handlers, which see in it whether the link is still open.
  struct Inner {
    Inner(boost::asio::io_context& io, UniqueFd fd)
        : descriptor(io, fd.release()),
          frames(descriptor.native_handle(), wire::kMaxSessionFrame),
          rest(io) {}
    boost::asio::posix::stream_descriptor descriptor;
    FrameLink frames;
    boost::asio::steady_timer rest;
    bool closed = false;
  };

  void flush();
  Result<> send_queue();
  bool queue_stream_frame();
  void wait_readable();
  void wait_writable();
  void wait_for_next_slot();
  void read_frames();
  Result<bool> read_one();  // false: nothing there
  void over(Error why);

  boost::asio::io_context& io_;
  Listener& listener_;
  std::shared_ptr<Inner> inner_;
  std::deque<std::vector<std::byte>> queue_;
  std::size_t queued_bytes_ = 0;
  bool write_armed_ = false;
  bool flushing_ = false;
  bool streams_armed_ = false;
  bool begun_ = false;
  std::optional<wire::Carrier> carrier_;
  // How many frames came in the current time slot.
  std::chrono::steady_clock::time_point slot_{};
  std::size_t in_slot_ = 0;
};

}  // namespace glovebox::node
