// Forwards a request to a socket and its answer back: bodies stream both ways at the pace of the
// slower side, both messages are framed anew, and after an agreed upgrade bytes are relayed as they
// are. What to send and what to let through is the caller's business; whom to trust too: the other
// side of the socket is not trusted.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "base/unique_fd.h"
#include "http/message.h"

namespace glovebox::http {

struct ProxyPlan {
  std::string target = "/";  // path and query, as the other side is asked for it
  // Host and all; without what is between neighbours (remove_hop_by_hop), which is added here.
  Headers headers = {};
  // May change an answer's headers before they go on.
  std::function<void(int status, Headers& headers)> on_answer = {};
  std::chrono::milliseconds connect_time{10'000};
  std::chrono::milliseconds answer_time{300'000};  // from the request's end to the answer's head
  std::chrono::milliseconds send_time{300'000};    // that the other side may leave our bytes unread
  // That the client may send nothing of its body. How slow a client may be is for the other side to
  // decide: the body is not kept here.
  std::chrono::milliseconds body_silence{60'000};
};

struct Forwarded {
  enum class How : std::uint8_t {
    kAnswered,
    kCut,      // in the middle of the answer: the client must see that it is not whole
    kRefused,  // nothing listens on the port
    kSilent,   // no answer in time
    kGarbage,  // no answer that we understand, or none at all
    kClient,   // the client has gone, or its body was not whole: `error` says how
  };
  How how = How::kAnswered;
  Error error{Errc::kInternal, ""};
};

// Only for routes with streams_body. Except for kAnswered and kCut nothing was written.
asio::awaitable<Forwarded> forward(Request& request, ResponseWriter& writer, UniqueFd socket,
                                   ProxyPlan plan);
// For an upgrade handler. An answer that is not 101 goes back too; then kAnswered. Only for
// kRefused, kSilent and kGarbage the stream is still to be answered.
asio::awaitable<Forwarded> forward_upgrade(Request& request, RawStream& stream, UniqueFd socket,
                                           ProxyPlan plan);

}  // namespace glovebox::http
