// For tests: the agent of a session, as far as the wire can tell. It answers Hello and starts; all
// else is what the test has it say.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/frame_link.h"
#include "base/unique_fd.h"
#include "wire/guest/session_frames.h"

namespace glovebox::node {

class FakeAgent : public std::enable_shared_from_this<FakeAgent> {
 public:
  FakeAgent(boost::asio::io_context& io, UniqueFd socket);

  void begin() { wait(); }
  void close();

  void say(const wire::SessionFrame& frame, int fd = -1);
  void say_bytes(const std::vector<std::byte>& bytes);
  void say_raw(std::string_view bytes);  // over a byte stream: not as a frame
  // It reads nothing meanwhile.
  void pause() { paused_ = true; }
  void go_on();
  // Output of the subscription that is the stream's latest.
  void print(wire::ProcessNumber process, wire::Stream stream, std::uint64_t offset,
             std::string bytes);

  std::map<wire::ProcessNumber, wire::ProcessStatus> processes;  // reported after Hello
  bool silent = false;                                           // no Welcome
  bool starts = true;                                            // what it is asked to
  std::optional<wire::Carrier> carrier;  // in its Welcome; nothing: the server's
  std::vector<wire::ServerFrame> seen;

  template <class T>
  std::vector<T> all() const {
    std::vector<T> found;
    for (const wire::ServerFrame& frame : seen) {
      if (const T* one = std::get_if<T>(&frame)) found.push_back(*one);
    }
    return found;
  }

 private:
  struct Outgoing {
    std::vector<std::byte> bytes;
    UniqueFd fd;
  };
  void queue(std::vector<std::byte> bytes, int fd);
  void flush();
  void wait();
  void answer(const wire::ServerFrame& frame);

  boost::asio::posix::stream_descriptor descriptor_;
  FrameLink frames_;
  std::map<std::pair<wire::ProcessNumber, wire::Stream>, std::uint32_t> subscriptions_;
  std::deque<Outgoing> queue_;  // when the server does not read
  bool closed_ = false;
  bool paused_ = false;
  bool waits_ = false;
};

}  // namespace glovebox::node
