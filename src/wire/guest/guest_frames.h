// The protocol between client and agent over a sandbox's own socket: one frame per message,
// versioned from the first byte, bounded. Each side treats the other as hostile: a guest that took
// over its agent can only send what this file can parse.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/guest_path.h"
#include "base/result.h"
#include "model/sandbox_spec.h"

namespace glovebox::wire {

inline constexpr std::uint8_t kGuestProtocol = 4;
inline constexpr std::size_t kMaxGuestFrame = 160 * 1024;
inline constexpr std::size_t kMaxChunk = 64 * 1024;
// Arguments and environment together; what the kernel takes in one string.
inline constexpr std::size_t kMaxExecBytes = 128 * 1024;
inline constexpr std::size_t kMaxExecStrings = 4096;
inline constexpr std::size_t kMaxExecUser = 64;
inline constexpr std::size_t kMaxFoundFiles = 256;
inline constexpr std::size_t kMaxJobBytes = 16 * 1024 * 1024;

// Begins a file; chunks follow, then FileEnd. Parents are made, the owner is the guest's user.
struct PutFile {
  GuestPath path;
  std::uint32_t mode = 0644;
  bool operator==(const PutFile&) const = default;
};
// Asks for a file; answered by chunks and FileEnd, or by FileFailed.
struct GetFile {
  GuestPath path;
  bool operator==(const GetFile&) const = default;
};
struct FileChunk {
  std::string bytes;
  bool operator==(const FileChunk&) const = default;
};
struct FileEnd {
  bool operator==(const FileEnd&) const = default;
};
// With `runtime` the program is a template's runtime, started cold: it also gets the job (what
// JobChunk brought) as descriptor 4 and a pipe for its results as descriptor 3.
struct StartProgram {
  ExecSpec exec;
  bool runtime = false;
  bool operator==(const StartProgram&) const = default;
};
// A piece of a job (wire/guest/job.h), which the agent does not read: gathered until it is started.
struct JobChunk {
  std::string bytes;
  bool operator==(const JobChunk&) const = default;
};
// Hands the job to the runtime that waits in a warm sandbox. With `stays` the runtime serves
// further calls, which the client writes to its standard input (wire/guest/job.h).
struct StartJob {
  bool stays = false;
  bool operator==(const StartJob&) const = default;
};
// A call of a runtime that stays is over: asks whether anything of it is left that could go on
// without a call. Answered by CallChecked.
struct CheckCall {
  bool operator==(const CheckCall&) const = default;
};
// Asks which regular files match, after the program has ended or while it runs; answered by
// FoundFiles. `*` and `?` match within a name, `**` any number of directories.
struct FindFiles {
  std::string pattern;  // absolute
  bool operator==(const FindFiles&) const = default;
};
struct SignalProgram {
  std::uint8_t signal = 0;
  bool operator==(const SignalProgram&) const = default;
};
struct ResizeTerminal {
  TerminalSize size;
  bool operator==(const ResizeTerminal&) const = default;
};
using ClientFrame = std::variant<PutFile, GetFile, FileChunk, FileEnd, StartProgram, JobChunk,
                                 StartJob, FindFiles, SignalProgram, ResizeTerminal, CheckCall>;

struct FileStored {
  bool operator==(const FileStored&) const = default;
};
struct FileFailed {
  int sys_errno = 0;
  std::string what;
  bool operator==(const FileFailed&) const = default;
};
struct FoundFile {
  GuestPath path;
  std::uint64_t size = 0;
  bool operator==(const FoundFile&) const = default;
};
struct FoundFiles {
  std::vector<FoundFile> files;  // sorted by name
  bool complete = true;          // false: there are more than fit, or too much to look through
  bool operator==(const FoundFiles&) const = default;
};
// Descriptors: the write end of stdin, the read ends of stdout and stderr and, of a job or a
// runtime, of its results; or a pty master.
struct ProgramStarted {
  std::uint32_t pid = 0;  // as the guest sees it
  bool operator==(const ProgramStarted&) const = default;
};
// The name of the agent's last step of a start: execve of the program.
inline constexpr std::string_view kExecuteStep = "execute";
// Enters the working directory, which the caller chose as well.
inline constexpr std::string_view kEnterDirectoryStep = "enter working directory";
struct StartFailed {
  int sys_errno = 0;
  std::string step;
  bool operator==(const StartFailed&) const = default;
};
struct ProgramExited {
  std::uint8_t code = 0;
  std::uint8_t signal = 0;  // zero, or what killed it
  std::uint64_t cpu_us = 0;
  std::uint64_t max_rss_bytes = 0;
  bool operator==(const ProgramExited&) const = default;
};
// `left` says what is left; empty: nothing, and the next call may come.
struct CallChecked {
  std::string left;
  bool operator==(const CallChecked&) const = default;
};
using AgentFrame = std::variant<FileStored, FileFailed, FileChunk, FileEnd, FoundFiles,
                                ProgramStarted, StartFailed, ProgramExited, CallChecked>;

std::vector<std::byte> encode(const ClientFrame& frame);
std::vector<std::byte> encode(const AgentFrame& frame);
Result<ClientFrame> decode_client_frame(std::span<const std::byte> bytes);
Result<AgentFrame> decode_agent_frame(std::span<const std::byte> bytes);

}  // namespace glovebox::wire
