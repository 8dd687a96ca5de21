// One end of a stream in frames (wire/guest/framed_stream.h), with the other end played by a second
// one, and by a stranger: bytes arrive as they were sent, the window holds, nothing hangs.
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "fuzz_target.h"
#include "wire/guest/framed_stream.h"

namespace {

using namespace glovebox;
using Carries = wire::FramedStream::Carries;

struct Side {
  explicit Side(Carries carries) {
    int ends[2];
    fuzz::promise(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0,
                  "sockets");
    ours.reset(ends[0]);
    users.reset(ends[1]);
    stream.emplace(1, ours.get(), carries);
  }
  void poll() {
    if (stream->waits_to_read()) stream->on_readable();
    if (stream->waits_to_write()) stream->on_writable();
  }
  void write(std::size_t size) {
    if (!users) return;
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>((written + i) % 251);
    const ssize_t put = ::write(users.get(), bytes.data(), bytes.size());
    if (put > 0) written += static_cast<std::size_t>(put);
  }
  void read(std::size_t size) {
    if (!users) return;
    std::string bytes(size, '\0');
    const ssize_t got = ::read(users.get(), bytes.data(), bytes.size());
    for (ssize_t i = 0; i < got; ++i) {
      fuzz::promise(bytes[static_cast<std::size_t>(i)] == static_cast<char>(arrived % 251),
                    "bytes arrive as they were written");
      ++arrived;
    }
  }
  UniqueFd ours, users;
  std::optional<wire::FramedStream> stream;
  std::size_t written = 0;
  std::size_t arrived = 0;
};

// One frame; false: there is none.
bool carry(Side& from, Side& to) {
  from.poll();
  const auto frame = from.stream->next();
  if (!frame) return false;
  const auto passed = std::visit([&](const auto& one) { return to.stream->on(one); }, *frame);
  fuzz::promise(passed.has_value(), "what one says the other takes");
  if (to.stream->is_over()) to.ours.reset();
  if (from.stream->is_over()) from.ours.reset();
  return true;
}

void two_ends(const std::uint8_t* data, std::size_t size) {
  Side left(Carries::kBoth);
  Side right(Carries::kBoth);
  for (std::size_t i = 0; i + 1 < size; i += 2) {
    const std::size_t amount = std::size_t{data[i + 1]} * 1024 + 1;
    Side& one = (data[i] & 0x40) != 0 ? right : left;
    Side& other = (data[i] & 0x40) != 0 ? left : right;
    switch (data[i] & 0x0f) {
      case 0:
        carry(one, other);
        break;
      case 1:
        one.write(amount);
        break;
      case 2:
        one.read(amount);
        break;
      case 3:
        one.users.reset();
        break;
      case 4:
        if (one.users) ::shutdown(one.users.get(), SHUT_WR);
        break;
      default:
        break;
    }
    fuzz::promise(left.arrived <= right.written && right.arrived <= left.written,
                  "no byte comes from nowhere");
  }
  left.users.reset();
  right.users.reset();
  for (int i = 0; i < 64; ++i) {
    while (carry(left, right)) {
    }
    while (carry(right, left)) {
    }
  }
  fuzz::promise(left.stream->is_over() && right.stream->is_over(), "without users nothing goes on");
}

void a_stranger(const std::uint8_t* data, std::size_t size) {
  const Carries carries[] = {Carries::kOut, Carries::kIn, Carries::kBoth};
  Side side(carries[size % 3]);
  std::size_t unanswered = 0;
  for (std::size_t i = 0; i + 1 < size; i += 2) {
    const std::size_t amount = std::size_t{data[i + 1]} * 256 + 1;
    Result<> taken;
    switch (data[i] & 0x07) {
      case 0:
        taken = side.stream->on(wire::StreamData{1, std::string(amount, 'x')});
        if (taken) unanswered += amount;
        break;
      case 1:
        taken = side.stream->on(wire::StreamTaken{1, amount});
        break;
      case 2:
        taken = side.stream->on(wire::StreamFinished{1});
        break;
      case 3:
        taken = side.stream->on(wire::StreamStopped{1});
        break;
      case 4:
        side.write(amount);
        break;
      case 5:
        side.users.reset();
        break;
      default:
        side.poll();
        if (const auto frame = side.stream->next()) {
          if (std::holds_alternative<wire::StreamTaken>(*frame)) unanswered = 0;
        }
        break;
    }
    if (!taken) return;  // its stream ends
    fuzz::promise(unanswered <= wire::kStreamWindow, "the window holds");
    if (side.stream->is_over()) side.ours.reset();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ::signal(SIGPIPE, SIG_IGN);
  if (size > 512) return 0;
  two_ends(data, size);
  a_stranger(data, size);
  return 0;
}
