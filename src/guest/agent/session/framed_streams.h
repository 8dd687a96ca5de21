// The streams of a session's file requests and ports, where frames carry them (Carrier::kFrames):
// the agent keeps the helper's pipe or the socket, and relays (wire/guest/framed_stream.h).
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "guest/agent/watched_fd.h"
#include "wire/guest/framed_stream.h"

namespace glovebox::agent {

class FramedStreams {
 public:
  // `key` is what the events of its descriptors begin with; the stream's own number is added.
  FramedStreams(int epoll, std::uint64_t key) : epoll_(epoll), key_(key) {}

  // As the server's Hello and our link want it; ends all streams.
  void begin(wire::Carrier carrier);
  wire::Carrier carrier() const { return carrier_; }
  bool is_full() const { return streams_.size() >= kMaxStreams; }

  void add(wire::RequestNumber request, UniqueFd fd, wire::FramedStream::Carries carries);
  // Of a stream that has ended already: nothing. False: the frame cannot be, and its stream has
  // ended.
  template <class Frame>
  bool on_frame(const Frame& frame) {
    Stream* stream = find(frame.request);
    return stream == nullptr || pass_in(*stream, stream->framed.on(frame));
  }
  void on_event(std::uint64_t number);
  void drop(wire::RequestNumber request);

  // False: all that the server has sent is where it should be, so the request may be committed.
  // True: take_commits() will return it when that is so.
  bool commit_later(wire::RequestNumber request);
  std::vector<wire::RequestNumber> take_commits() { return std::exchange(commits_, {}); }

  // A frame to send, of each stream in turn.
  std::optional<wire::SessionFrame> next_frame();

 private:
  static constexpr std::size_t kMaxStreams = 512;
  struct Stream {
    Stream(std::uint64_t its_number, wire::RequestNumber its_request, WatchedFd its_fd,
           wire::FramedStream::Carries carries)
        : number(its_number),
          request(its_request),
          fd(std::move(its_fd)),
          framed(its_request, fd.get(), carries) {}
    std::uint64_t number;
    wire::RequestNumber request;
    WatchedFd fd;
    wire::FramedStream framed;
    bool is_queued = false;
    bool commits = false;  // when all has been written
  };
  Stream* find(wire::RequestNumber request);
  bool pass_in(Stream& stream, const Result<>& outcome);
  void update(Stream& stream);
  void end(std::uint64_t number);

  int epoll_;
  std::uint64_t key_;
  wire::Carrier carrier_ = wire::Carrier::kDescriptors;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, Stream> streams_;
  std::map<wire::RequestNumber, std::uint64_t> numbers_;
  std::deque<std::uint64_t> ready_;
  std::vector<wire::RequestNumber> commits_;
};

}  // namespace glovebox::agent
