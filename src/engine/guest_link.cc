#include "engine/guest_link.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "base/id.h"
#include "base/write_all.h"

namespace glovebox::engine {
namespace {

// A runtime's streams and its results.
constexpr std::size_t kMostFds = 4;

// Removes the draft unless it was kept.
struct Draft {
  std::string path;
  UniqueFd fd;
  ~Draft() {
    if (fd) ::unlink(path.c_str());
  }
};

}  // namespace

Result<> GuestLink::send(const wire::ClientFrame& frame) {
  return send_message(socket_, wire::encode(frame));
}

Result<GuestLink::Incoming> GuestLink::receive() {
  TRY(Received received, receive_message(socket_, wire::kMaxGuestFrame, kMostFds));
  if (received.bytes.empty()) return fail(Errc::kUnavailable, "the sandbox is gone");
  TRY(wire::AgentFrame frame, wire::decode_agent_frame(received.bytes));
  return Incoming{std::move(frame), std::move(received.fds)};
}

Result<> GuestLink::put(const FileIn& file) {
  std::uint32_t mode = file.mode;
  UniqueFd source;
  if (!file.content) {
    source.reset(::open(file.host.c_str(), O_RDONLY | O_CLOEXEC));
    if (!source) return fail(Error::from_errno("read " + file.host));
    struct stat info {};
    if (::fstat(source.get(), &info) != 0) return fail(Error::from_errno("read " + file.host));
    if (S_ISDIR(info.st_mode)) {
      return fail(Errc::kInvalidArgument, file.host + " is a directory; mount it instead");
    }
    mode = (info.st_mode & 0111) != 0 ? 0755 : 0644;
  }
  TRY_OK(send(wire::PutFile{file.guest, mode}));
  wire::FileChunk chunk;
  if (file.content) {
    for (std::size_t at = 0; at < file.content->size(); at += wire::kMaxChunk) {
      chunk.bytes = file.content->substr(at, wire::kMaxChunk);
      TRY_OK(send(chunk));
    }
  } else {
    while (true) {
      chunk.bytes.resize(wire::kMaxChunk);
      const ssize_t got = ::read(source.get(), chunk.bytes.data(), chunk.bytes.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return fail(Error::from_errno("read " + file.host));
      if (got == 0) break;
      chunk.bytes.resize(static_cast<std::size_t>(got));
      TRY_OK(send(chunk));
    }
  }
  return send(wire::FileEnd{});
}

Result<> GuestLink::get(const FileOut& file, std::uint64_t most_bytes) {
  struct stat target {};
  if (::lstat(file.host.c_str(), &target) == 0 && !S_ISREG(target.st_mode)) {
    // A rename would put a plain file in the place of a device or a link.
    return fail(Errc::kInvalidArgument, "copy out to " + file.host + ": not a regular file");
  }
  TRY_OK(send(wire::GetFile{file.guest}));
  Draft draft;
  draft.path = file.host + ".glovebox-" + random_label(8);
  draft.fd.reset(
      ::open(draft.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!draft.fd) return fail(Error::from_errno("write " + file.host));
  while (true) {
    TRY(Incoming incoming, receive());
    if (const auto* chunk = std::get_if<wire::FileChunk>(&incoming.frame)) {
      if (chunk->bytes.size() > most_bytes) {
        return fail(Errc::kResourceExhausted,
                    "copy out " + file.guest.str() + ": it is larger than the sandbox's disk");
      }
      most_bytes -= chunk->bytes.size();
      TRY_OK(write_all(draft.fd.get(), chunk->bytes));
    } else if (const auto* failed = std::get_if<wire::FileFailed>(&incoming.frame)) {
      return fail(Error(Errc::kNotFound, "copy out " + file.guest.str() + ": " + failed->what,
                        failed->sys_errno));
    } else if (std::holds_alternative<wire::FileEnd>(incoming.frame)) {
      if (::rename(draft.path.c_str(), file.host.c_str()) != 0) {
        return fail(Error::from_errno("write " + file.host));
      }
      draft.fd.reset();  // kept
      return {};
    } else {
      return fail(Errc::kProtocol, "unexpected answer from the sandbox's agent");
    }
  }
}

}  // namespace glovebox::engine
