#include "guest/agent/files/helper_link.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/utf8.h"
#include "base/write_all.h"
#include "guest/agent/files/resolved_path.h"

namespace glovebox::agent {
namespace {

constexpr int kHelperPipeBytes = 1024 * 1024;
constexpr std::size_t kBuffered = 64 * 1024;
constexpr std::size_t kReadAtOnce =
    256 * 1024;                       // what is read and written where splice does not work
constexpr std::size_t kMaxEnd = 100;  // of each end of a message

// A path may be long, and the reason is at the end of the message: the middle is cut.
std::string shortened(const std::string& message) {
  if (message.size() <= 2 * kMaxEnd) return message;
  return message.substr(0, kMaxEnd) + "..." + message.substr(message.size() - kMaxEnd);
}

}  // namespace

HelperLink::HelperLink(const wire::FileRequest& request, const HelperDescriptors& descriptors)
    : request_(request), descriptors_(descriptors) {
  done.request = request.request;
  if (descriptors.data < 0) return;
  // Blocking writes slow the helper down to the speed of its reader.
  const int flags = ::fcntl(descriptors.data, F_GETFL);
  if (flags >= 0) (void)::fcntl(descriptors.data, F_SETFL, flags & ~O_NONBLOCK);
  (void)::fcntl(descriptors.data, F_SETPIPE_SZ,
                kHelperPipeBytes);  // larger is faster; it may be refused
}

Result<> HelperLink::send(const wire::SessionFrame& frame) {
  const std::vector<std::byte> bytes = wire::encode(frame);
  for (;;) {
    if (::send(descriptors_.status, bytes.data(), bytes.size(), MSG_NOSIGNAL) >= 0) return {};
    if (errno != EINTR) return fail_with(errno, "send to the agent");
  }
}

Result<> HelperLink::opened(const std::string& record) {
  wire::FileOpened frame;
  frame.request = request_.request;
  frame.entry = record;
  return send(frame);
}

Result<> HelperLink::wait_for_commit() {
  char byte = 0;
  ssize_t got = 0;
  do {
    got = ::read(descriptors_.control, &byte, 1);
  } while (got < 0 && errno == EINTR);
  if (got == 1 && byte == 'c') return {};
  return fail_with(ECANCELED, "abandoned");
}

void HelperLink::send_done(const Result<>& outcome) {
  if (!outcome) {
    const int error = outcome.error().sys_errno();
    done.sys_errno = error > 0 ? error : EIO;
    done.message = printable(shortened(outcome.error().message()));
  }
  (void)send(done);
}

Result<> PipeWriter::count(std::uint64_t bytes) {
  if (bytes > max_bytes_ - written_) {
    return fail(Error(Errc::kResourceExhausted,
                      "the data exceeds the limit of " + std::to_string(max_bytes_) + " bytes",
                      EFBIG));
  }
  written_ += bytes;
  return {};
}

Result<> PipeWriter::write_through(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd_, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return fail_with(errno);
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

Result<> PipeWriter::write(std::string_view bytes) {
  TRY_OK(count(bytes.size()));
  return fill(bytes);
}

Result<> PipeWriter::fill(std::string_view bytes) {
  buffer_.append(bytes);
  if (buffer_.size() >= kBuffered) return flush();
  return {};
}

Result<> PipeWriter::flush() {
  auto outcome = write_through(buffer_);
  buffer_.clear();
  return outcome;
}

Result<std::uint64_t> PipeWriter::send_small(int file, std::uint64_t offset, std::size_t size) {
  const std::size_t before = buffer_.size();
  buffer_.resize(before + size);
  std::size_t have = 0;
  while (have < size) {
    const ssize_t got = ::pread(file, buffer_.data() + before + have, size - have,
                                static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    const int error = errno;
    if (got <= 0) buffer_.resize(before + have);
    if (got < 0) return fail_with(error);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  if (buffer_.size() >= kBuffered) TRY_OK(flush());
  return have;
}

Result<std::uint64_t> PipeWriter::send_file(int file, std::uint64_t offset, std::uint64_t size) {
  TRY_OK(count(size));
  if (size < kBuffered) return send_small(file, offset, static_cast<std::size_t>(size));
  TRY_OK(flush());
  std::uint64_t sent = 0;
  bool by_pages = true;
  std::string buffer;
  while (sent < size) {
    const auto want =
        static_cast<std::size_t>(std::min<std::uint64_t>(size - sent, kHelperPipeBytes));
    auto at = static_cast<off_t>(offset + sent);
    if (by_pages) {
      const ssize_t moved = ::splice(file, &at, fd_, nullptr, want, SPLICE_F_MOVE);
      if (moved < 0 && errno == EINTR) continue;
      if (moved < 0 && errno != EINVAL) return fail_with(errno);
      if (moved == 0) break;
      if (moved > 0) {
        sent += static_cast<std::uint64_t>(moved);
        continue;
      }
      by_pages = false;  // not of this file system, or not into what is no pipe
    }
    buffer.resize(std::min(want, kReadAtOnce));
    const ssize_t got = ::pread(file, buffer.data(), buffer.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_with(errno);
    if (got == 0) break;
    TRY_OK(write_through(std::string_view(buffer).substr(0, static_cast<std::size_t>(got))));
    sent += static_cast<std::uint64_t>(got);
  }
  return sent;
}

}  // namespace glovebox::agent
