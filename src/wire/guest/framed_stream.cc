#include "wire/guest/framed_stream.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace glovebox::wire {
namespace {

// So that the other side goes on before its window is used up, and not every piece is answered.
constexpr std::uint64_t kWorthTelling = kStreamWindow / 4;

bool carries(FramedStream::Carries what, FramedStream::Carries one) {
  return (static_cast<unsigned>(what) & static_cast<unsigned>(one)) != 0;
}

tl::unexpected<Error> broken(const char* how) { return fail(Errc::kProtocol, how); }

}  // namespace

FramedStream::FramedStream(RequestNumber request, int fd, Carries what)
    : request_(request),
      fd_(fd),
      is_socket_(what == Carries::kBoth),
      has_in_(carries(what, Carries::kIn)),
      out_open_(carries(what, Carries::kOut)),
      in_open_(has_in_) {}

std::optional<StreamFrame> FramedStream::next() {
  if (std::exchange(stops_, false)) return StreamStopped{request_};
  if (std::exchange(answer_, false)) {
    acknowledged_ = passed_on_;
    return StreamTaken{request_, acknowledged_};
  }
  if (!may_read()) return std::nullopt;
  StreamData data{request_, std::string(std::min<std::uint64_t>(room(), kMaxSessionChunk), '\0')};
  ssize_t got = -1;
  do {
    got = ::read(fd_, data.bytes.data(), data.bytes.size());
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) {
    is_empty_ = true;
    return std::nullopt;
  }
  if (got > 0) {
    data.bytes.resize(static_cast<std::size_t>(got));
    sent_ += data.bytes.size();
    return data;
  }
  // The end; of a broken connection also what was to be written to it has nowhere to go.
  if (got < 0 || was_abandoned()) stop_writing();
  out_open_ = false;
  return StreamFinished{request_};
}

// A socket whose other end is closed, and not only for writing, reads nothing either. There may be
// nothing to write that would show it.
bool FramedStream::was_abandoned() const {
  if (!is_socket_ || !in_open_) return false;
  pollfd event{fd_, 0, 0};
  return ::poll(&event, 1, 0) == 1 && (event.revents & (POLLHUP | POLLERR)) != 0;
}

void FramedStream::write_some() {
  while (at_ < waiting_.size()) {
    const ssize_t put = ::write(fd_, waiting_.data() + at_, waiting_.size() - at_);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) break;
    if (put < 0) return stop_writing();
    at_ += static_cast<std::size_t>(put);
    passed_on_ += static_cast<std::uint64_t>(put);
  }
  if (at_ == waiting_.size() || at_ > kMaxSessionChunk) {
    waiting_.erase(0, at_);
    at_ = 0;
  }
  if (passed_on_ - acknowledged_ >= kWorthTelling) answer_ = true;
  if (!in_finished_ || !waiting_.empty()) return;
  in_open_ = false;
  answer_ = false;
  if (is_socket_) ::shutdown(fd_, SHUT_WR);
}

// What is written is not read any more: the other side need not send it.
void FramedStream::stop_writing() {
  if (!in_open_) return;
  in_open_ = false;
  answer_ = false;
  stops_ = !in_finished_;
  waiting_ = {};
  at_ = 0;
}

void FramedStream::stop_reading() {
  if (!out_open_) return;
  out_open_ = false;
  if (is_socket_) ::shutdown(fd_, SHUT_RD);
}

Result<> FramedStream::on(const StreamData& data) {
  if (!has_in_) return broken("a stream in the wrong direction");
  if (in_finished_) return broken("a stream goes on after its end");
  if (data.bytes.size() > kStreamWindow - (received_ - acknowledged_)) {
    return broken("a stream beyond its window");
  }
  received_ += data.bytes.size();
  if (!in_open_) return {};  // stopped, and that is on its way
  waiting_ += data.bytes;
  write_some();
  return {};
}

Result<> FramedStream::on(const StreamTaken& taken) {
  if (taken.offset < taken_ || taken.offset > sent_) {
    return broken("an acknowledgement of what was not sent");
  }
  taken_ = taken.offset;
  return {};
}

Result<> FramedStream::on(const StreamFinished&) {
  if (!has_in_) return broken("a stream in the wrong direction");
  if (std::exchange(in_finished_, true)) return broken("a stream ends twice");
  if (in_open_) write_some();
  return {};
}

Result<> FramedStream::on(const StreamStopped&) {
  stop_reading();
  return {};
}

}  // namespace glovebox::wire
