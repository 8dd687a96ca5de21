#include "guest/agent/session/framed_streams.h"

#include <fcntl.h>

#include <utility>

namespace glovebox::agent {

void FramedStreams::begin(wire::Carrier carrier) {
  carrier_ = carrier;
  streams_.clear();
  numbers_.clear();
  ready_.clear();
  commits_.clear();
}

void FramedStreams::add(wire::RequestNumber request, UniqueFd fd,
                        wire::FramedStream::Carries carries) {
  drop(request);  // numbers are used once
  (void)::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
  const std::uint64_t number = ++last_;
  Stream& stream = streams_
                       .try_emplace(number, number, request,
                                    WatchedFd(epoll_, key_ + number, std::move(fd)), carries)
                       .first->second;
  numbers_[request] = number;
  update(stream);
}

FramedStreams::Stream* FramedStreams::find(wire::RequestNumber request) {
  const auto at = numbers_.find(request);
  return at == numbers_.end() ? nullptr : &streams_.at(at->second);
}

bool FramedStreams::pass_in(Stream& stream, const Result<>& outcome) {
  if (outcome) {
    update(stream);
  } else {
    end(stream.number);
  }
  return outcome.has_value();
}

void FramedStreams::on_event(std::uint64_t number) {
  const auto at = streams_.find(number);
  if (at == streams_.end()) return;
  at->second.framed.on_readable();
  at->second.framed.on_writable();
  update(at->second);
}

// What the stream waits for, and what it has to send.
void FramedStreams::update(Stream& stream) {
  if (stream.commits && stream.framed.is_in_over()) {
    stream.commits = false;
    commits_.push_back(stream.request);
  }
  if (stream.framed.is_over()) {
    stream.fd.close();
    if (!stream.framed.has_next()) return end(stream.number);
  }
  const std::uint32_t events = (stream.framed.waits_to_read() ? EPOLLIN : 0u) |
                               (stream.framed.waits_to_write() ? EPOLLOUT : 0u);
  if (events == 0) {
    stream.fd.ignore();
  } else {
    stream.fd.want(events);
  }
  if (!stream.framed.has_next() || std::exchange(stream.is_queued, true)) return;
  ready_.push_back(stream.number);
}

bool FramedStreams::commit_later(wire::RequestNumber request) {
  Stream* stream = find(request);
  if (stream == nullptr || stream->framed.is_in_over()) return false;
  stream->commits = true;
  return true;
}

std::optional<wire::SessionFrame> FramedStreams::next_frame() {
  while (!ready_.empty()) {
    const auto at = streams_.find(ready_.front());
    ready_.pop_front();
    if (at == streams_.end()) continue;
    at->second.is_queued = false;
    auto next = at->second.framed.next();
    update(at->second);
    if (!next) continue;
    return std::visit([](auto& frame) { return wire::SessionFrame(std::move(frame)); }, *next);
  }
  return std::nullopt;
}

void FramedStreams::drop(wire::RequestNumber request) {
  if (const Stream* stream = find(request)) end(stream->number);
}

void FramedStreams::end(std::uint64_t number) {
  const auto at = streams_.find(number);
  numbers_.erase(at->second.request);
  streams_.erase(at);
}

}  // namespace glovebox::agent
