// One side's end of a stream of Carrier::kFrames (session_frames.h): a descriptor here, frames to
// the other side. Agent and server both have it; who owns it waits for the descriptor, passes
// frames in, and fetches those that are to be sent. It never waits and holds at most kStreamWindow
// bytes. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "wire/guest/session_frames.h"

namespace glovebox::wire {

using StreamFrame = std::variant<StreamData, StreamTaken, StreamFinished, StreamStopped>;

class FramedStream {
 public:
  enum class Carries : std::uint8_t {
    kOut = 1,   // what is read from the descriptor goes to the other side
    kIn = 2,    // what the other side sends is written to the descriptor
    kBoth = 3,  // a socket
  };
  // `fd` is borrowed and does not block. Its owner closes it as soon as is_over(): then nothing of
  // it is used any more, although a last frame may still be next().
  FramedStream(RequestNumber request, int fd, Carries carries);

  // Reads, and returns the next frame to send. Nothing: the descriptor has nothing now, the other
  // side has not taken enough yet, or all was sent.
  std::optional<StreamFrame> next();
  bool has_next() const { return answer_ || stops_ || may_read(); }
  // Whether the owner shall call on_readable() when the descriptor is readable, has ended or broke.
  bool waits_to_read() const { return out_open_ && is_empty_ && room() > 0; }
  void on_readable() { is_empty_ = false; }
  // The same for on_writable().
  bool waits_to_write() const { return in_open_ && at_ < waiting_.size(); }
  void on_writable() { write_some(); }

  // The other side's frames. An error: it broke the protocol.
  Result<> on(const StreamData& data);
  Result<> on(const StreamTaken& taken);
  Result<> on(const StreamFinished&);
  Result<> on(const StreamStopped&);

  // Nothing more goes to the other side, or to the descriptor.
  bool is_out_over() const { return !out_open_; }
  bool is_in_over() const { return !in_open_; }
  bool is_over() const { return !out_open_ && !in_open_; }

 private:
  std::uint64_t room() const { return kStreamWindow - (sent_ - taken_); }
  bool may_read() const { return out_open_ && !is_empty_ && room() > 0; }
  void write_some();
  void stop_reading();
  void stop_writing();
  bool was_abandoned() const;

  RequestNumber request_;
  int fd_;
  bool is_socket_;
  bool has_in_;
  // To the other side.
  bool out_open_;
  bool is_empty_ = false;  // the descriptor, when it was last read
  std::uint64_t sent_ = 0;
  std::uint64_t taken_ = 0;
  // From the other side.
  bool in_open_;
  bool in_finished_ = false;  // it has sent all
  std::string waiting_;       // not yet written, from at_ on
  std::size_t at_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t passed_on_ = 0;
  std::uint64_t acknowledged_ = 0;
  bool answer_ = false;  // StreamTaken is due
  bool stops_ = false;   // StreamStopped is due
};

}  // namespace glovebox::wire
