// Frames over a socket of either kind, borrowed and non-blocking. Over SEQPACKET one message is one
// frame, and may bring descriptors. Over a byte stream (a stream socket, a virtio-serial port) a
// frame is
//
//   0xF5, length (32 bits, little-endian), the frame's bytes, 0xFA
//
// and any number of zero bytes may come between frames. These make it possible for a program to
// take the place of another that has ended in the middle of a frame, in both directions:
//
// - flush_cut_frame() sends zeros. They complete whatever was cut off, to a frame that is refused
//   because of its last byte, and are then skipped.
// - seek(mark) makes receive() skip everything up to a mark, which the other side sends
//   (send_mark()) when it is asked to. It must be unpredictable for the party that chooses what is
//   skipped.
//
// Malformed input is kProtocol, and what follows it can still be received. SIGPIPE is to be
// ignored.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/fd_message.h"
#include "base/result.h"

namespace glovebox {

class FrameLink {
 public:
  // Frames of at most `max_bytes`, both ways.
  FrameLink(int fd, std::size_t max_bytes);
  bool is_byte_stream() const { return is_byte_stream_; }

  // As send_message(). Over a byte stream a frame whose beginning was sent counts as sent; the rest
  // goes first with the next call, or with flush(). Descriptors: kInternal over a byte stream.
  Result<> send(std::span<const std::byte> bytes, std::span<const int> fds = {});
  Result<> flush();
  bool has_unsent() const { return at_ < unsent_.size(); }

  // As receive_message(), without leaving a frame in our own memory: it is in the socket, so that
  // whether to call again is what the kernel says.
  Result<Received> receive(std::size_t max_fds);

  // See above; nothing to do over SEQPACKET.
  static constexpr std::size_t kMarkBytes = 16;
  void flush_cut_frame();
  void send_mark(std::span<const std::byte> mark);
  void seek(std::span<const std::byte> mark);

 private:
  Result<> receive_more(std::size_t wanted, bool& closed);
  Result<bool> skip_to_mark();
  void skip_zeros();

  int fd_;
  std::size_t max_bytes_;
  bool is_byte_stream_;
  std::vector<std::byte> unsent_;  // from at_ on
  std::size_t at_ = 0;
  std::vector<std::byte> received_;  // of the frame that is being received, with its head
  std::vector<std::byte> mark_;      // empty: not looked for
};

// A pair of connected byte streams, as seqpacket_pair().
Result<SocketPair> byte_stream_pair();

}  // namespace glovebox
