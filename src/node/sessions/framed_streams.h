// The streams of a session's file requests and ports, where frames carry them
// (wire::Carrier::kFrames): the other end of each is a pipe or a socket of our own, so that who
// reads or writes it sees no difference. One thread. Held by shared_ptr: handlers keep it.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <deque>
#include <map>
#include <memory>
#include <optional>

#include "node/sessions/session_connection.h"
#include "wire/guest/framed_stream.h"

namespace glovebox::node {

class FramedStreams : public std::enable_shared_from_this<FramedStreams> {
 public:
  explicit FramedStreams(std::shared_ptr<SessionConnection> connection)
      : connection_(std::move(connection)) {}

  // Begins the stream of an answered request; returns the end for its user: of a file's pipe, or of
  // a socket. An error: we have no descriptor left, or this session has too many streams.
  Result<UniqueFd> open(wire::RequestNumber request, wire::FileData way);
  Result<UniqueFd> open_port(wire::RequestNumber request);

  static bool takes(const wire::SessionFrame& frame);
  // Of a stream that has ended already: nothing. An error: the sandbox broke the protocol.
  Result<> on_frame(const wire::SessionFrame& frame);

  // A frame for when no other waits to be sent, of each stream in turn.
  std::optional<wire::ServerFrame> next_frame();
  // False: nothing of this request is still to be sent, so CommitFile may be. True: it will follow
  // the end of the stream.
  bool commit_later(wire::RequestNumber request);
  // Its user wants nothing more of it; the agent is told, unless the stream has ended.
  void drop(wire::RequestNumber request);
  void end_all();

 private:
  static constexpr std::size_t kMaxStreams = 512;
  struct Stream {
    Stream(boost::asio::io_context& io, UniqueFd fd, wire::RequestNumber request,
           wire::FramedStream::Carries carries)
        : descriptor(io, fd.release()), framed(request, descriptor.native_handle(), carries) {}
    boost::asio::posix::stream_descriptor descriptor;
    wire::FramedStream framed;
    bool is_queued = false;
    bool commits = false;  // after its end
    bool read_armed = false;
    bool write_armed = false;
  };
  using StreamPtr = std::shared_ptr<Stream>;

  bool is_full() const { return streams_.size() >= kMaxStreams; }
  StreamPtr find(wire::RequestNumber request) const;
  void add(wire::RequestNumber request, UniqueFd fd, wire::FramedStream::Carries carries);
  void update(wire::RequestNumber request, const StreamPtr& stream);
  void wait(wire::RequestNumber request, const StreamPtr& stream);
  void erase(wire::RequestNumber request);

  std::shared_ptr<SessionConnection> connection_;
  std::map<wire::RequestNumber, StreamPtr> streams_;
  std::deque<wire::RequestNumber> ready_;
};

}  // namespace glovebox::node
