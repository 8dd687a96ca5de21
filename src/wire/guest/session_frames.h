// The protocol between server and agent over the socket of a session's sandbox: one frame per
// message, versioned from the first byte, bounded. Each side treats the other as hostile. A session
// outlives the server that made it, so nothing here depends on who said what before: a new server
// says Hello with a new epoch and learns what is there.
//
// Processes. The server numbers them. What they print is kept by the agent, per stream, in a buffer
// of kKeptOutput bytes, and every byte has an offset from the stream's beginning. A subscribed
// stream is sent as it comes, at most kWindow bytes ahead of what was acknowledged; what was not
// acknowledged is never dropped while there is a subscription, so a slow reader slows the guest.
// A `lossy` stream without a subscription loses its oldest bytes instead of stopping the guest.
//
// Files and ports. One helper process per file request, as the asked-for user; one connection per
// port request. Their bytes have one of two carriers, which Hello and Welcome settle:
//
//   kDescriptors  FileOpened brings the end of a pipe of the request's own, PortConnected a socket.
//                 They have the kernel's flow control, and closing one ends its helper.
//   kFrames       They bring none, and a stream begins: StreamData, at most kStreamWindow bytes
//                 beyond the last StreamTaken, then StreamFinished. Both sides have all of these
//                 (framed_stream.h). For links that cannot carry descriptors: byte streams
//                 (base/frame_link.h), and kernels that do not let descriptors out.
//
// A sender has frames of streams wait until no other frame does, and because of the window the
// receiver always has room for them: a stream that is not read delays no other frame.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/sandbox_spec.h"
#include "wire/guest/file_metadata.h"

namespace glovebox::wire {

inline constexpr std::uint8_t kSessionProtocol = 2;
inline constexpr std::size_t kMaxSessionFrame = 160 * 1024;
inline constexpr std::size_t kMaxSessionChunk = 64 * 1024;  // of Input, Output and StreamData
inline constexpr std::size_t kMaxLabel = 4096;
inline constexpr std::size_t kMaxUserName = 64;
inline constexpr std::size_t kMaxSessionPath = 4096;  // any bytes but NUL
// How a file request is refused whose user is not there.
inline constexpr std::string_view kNoSuchUser = "there is no user ";
inline constexpr std::uint64_t kKeptOutput = 256 * 1024;
inline constexpr std::uint64_t kWindow = 256 * 1024;
inline constexpr std::uint64_t kInputWindow = 64 * 1024;
inline constexpr std::uint64_t kStreamWindow = 256 * 1024;

// Chosen by the server, never used twice in one session.
using ProcessNumber = std::uint64_t;
using RequestNumber = std::uint64_t;  // of one epoch

enum class Stream : std::uint8_t {
  kStdin = 0,
  kStdout = 1,  // of a terminal: everything
  kStderr = 2,
  kResults = 3,   // of a context: JSON lines
  kRequests = 4,  // to a context: cells (wire/guest/cell.h)
};

// How the bytes of files and ports travel; see above.
enum class Carrier : std::uint8_t {
  kDescriptors = 1,
  kFrames,
};

// ---- of both sides -------------------------------------------------------------------------

// More bytes of the stream of a request that was opened or connected.
struct StreamData {
  RequestNumber request = 0;
  std::string bytes;  // not empty
  bool operator==(const StreamData&) const = default;
};
// The first `offset` bytes of the other side's have left our buffer.
struct StreamTaken {
  RequestNumber request = 0;
  std::uint64_t offset = 0;
  bool operator==(const StreamTaken&) const = default;
};
// No more StreamData from this side.
struct StreamFinished {
  RequestNumber request = 0;
  bool operator==(const StreamFinished&) const = default;
};
// This side drops whatever the other sends from now on: whom it was for does not read it.
struct StreamStopped {
  RequestNumber request = 0;
  bool operator==(const StreamStopped&) const = default;
};

template <class T>
concept FrameOfStream = std::is_same_v<T, StreamData> || std::is_same_v<T, StreamTaken> ||
    std::is_same_v<T, StreamFinished> || std::is_same_v<T, StreamStopped>;

// ---- from the server -----------------------------------------------------------------------

// Everything asked for in an earlier epoch is over: subscriptions, file requests, watches, streams.
// Answered by a ProcessStatus for each process, then Welcome.
struct Hello {
  std::uint64_t epoch = 0;
  Carrier carrier = Carrier::kDescriptors;
  bool operator==(const Hello&) const = default;
};

enum class ProcessKind : std::uint8_t {
  kProgram = 1,
  kWarmContext,  // an interpreter joined from the template's zygote; else, the program below, cold
  kContext,      // the program below, with kResults and kRequests as its descriptors 3 and 4
};

// Answered by ProcessStarted or StartRefused; output begins when it is subscribed to.
struct StartProcess {
  ProcessNumber process = 0;
  ProcessKind kind = ProcessKind::kProgram;
  ExecSpec exec;
  std::string user = "user";  // a name or a number of the guest's own passwd
  std::string label;          // the server's, kept and repeated in ProcessStatus
  bool has_stdin = false;     // else /dev/null; a terminal always has
  bool lossy = false;         // unless subscribed
  bool subscribed = true;     // from the first byte
  bool operator==(const StartProcess&) const = default;
};

// At most kInputWindow bytes beyond the last InputTaken. `offset` is of the first byte; what was
// taken already is skipped, so a new server may send the same again.
struct Input {
  ProcessNumber process = 0;
  Stream stream = Stream::kStdin;
  std::uint64_t offset = 0;
  std::string bytes;
  bool operator==(const Input&) const = default;
};
struct CloseInput {  // after all that was sent
  ProcessNumber process = 0;
  Stream stream = Stream::kStdin;
  bool operator==(const CloseInput&) const = default;
};
// Sends the stream from `offset` on, or from the oldest byte there is (Output.offset tells); in the
// place of the subscription before it, whose output may still be under way: each Output names its
// own. That of StartProcess is zero.
struct Subscribe {
  ProcessNumber process = 0;
  Stream stream = Stream::kStdout;
  std::uint64_t offset = 0;
  std::uint32_t subscription = 0;
  bool operator==(const Subscribe&) const = default;
};
struct Unsubscribe {
  ProcessNumber process = 0;
  Stream stream = Stream::kStdout;
  bool operator==(const Unsubscribe&) const = default;
};
// All before `offset` has arrived where it was wanted.
struct Acknowledge {
  ProcessNumber process = 0;
  Stream stream = Stream::kStdout;
  std::uint64_t offset = 0;
  bool operator==(const Acknowledge&) const = default;
};
struct SetLossy {
  ProcessNumber process = 0;
  bool lossy = false;
  bool operator==(const SetLossy&) const = default;
};
struct SignalProcess {
  ProcessNumber process = 0;
  std::uint8_t signal = 0;
  bool group = true;  // its whole process group
  bool operator==(const SignalProcess&) const = default;
};
struct ResizeProcess {
  ProcessNumber process = 0;
  TerminalSize size;
  bool operator==(const ResizeProcess&) const = default;
};
// Of one that has exited: its record and its output go. Of another: nothing.
struct ForgetProcess {
  ProcessNumber process = 0;
  bool operator==(const ForgetProcess&) const = default;
};

enum class FileOp : std::uint8_t {
  kRead = 1,     // FileOpened with the first entry and a pipe; bytes; FileDone
  kWrite,        // FileOpened with a pipe to write to; CommitFile; FileDone with the entry
  kStat,         // FileDone with the entry
  kList,         // FileOpened with a pipe of records (wire/guest/file_records.h); FileDone
  kMakeDir,      // FileDone; made with its parents
  kMove,         // `path` to `target`; replaces a file
  kCopy,         // `path` to `target`, whole trees too
  kRemove,       // whole trees too, when `recursive`
  kTarOut,       // FileOpened with a pipe; a tar archive of the tree at `path`; FileDone
  kTarIn,        // FileOpened with a pipe to write to; CommitFile; FileDone
  kWatch,        // FileOpened with a pipe of records, until it is closed
  kSnapshotOut,  // as root: what differs from the template, as kTarOut has it
  kSnapshotIn,   // as root: the same back, before anything else has run
  kImageIn,      // as kTarIn: a layer of an image, perhaps compressed, upon those below it; `most`
                 // bounds it uncompressed; FileDone has a LayerReport (image_layer.h)
};

// Which way the bytes of a request go.
enum class FileData { kNone, kToServer, kFromServer };
FileData data_of(FileOp op);

struct FileRequest {
  RequestNumber request = 0;
  FileOp op = FileOp::kStat;
  std::string user = "user";
  std::string path;                   // absolute, or below the user's home
  std::string target;                 // of kMove and kCopy
  std::uint64_t from = 0;             // kRead
  std::uint64_t most = UINT64_MAX;    // kRead: bytes; kTarIn, kSnapshot*: bytes; kList: entries
  std::uint32_t depth = 1;            // kList: 1 is the directory itself; 0 without end
  std::optional<std::uint32_t> mode;  // kWrite, kMakeDir
  std::string owner;                  // kWrite, kMakeDir: "name" or "name:group"; needs root
  bool recursive = false;             // kRemove, kWatch, kCopy
  bool follow = true;                 // kStat: a symlink at the end
  bool overwrite = true;              // kWrite, kMove, kCopy
  bool details = false;               // entries also tell where links lead, and their metadata
  Metadata metadata;                  // kWrite: all that the file shall have
  bool operator==(const FileRequest&) const = default;
};
// What was written is all there is: keep it. Without this nothing is kept. Of a stream it follows
// StreamFinished.
struct CommitFile {
  RequestNumber request = 0;
  bool operator==(const CommitFile&) const = default;
};
// Also of a connection that a stream carries.
struct AbandonFile {
  RequestNumber request = 0;
  bool operator==(const AbandonFile&) const = default;
};
// A connection to something that listens in the sandbox, on 127.0.0.1 or else on ::1.
struct ConnectPort {
  RequestNumber request = 0;
  std::uint16_t port = 0;
  bool operator==(const ConnectPort&) const = default;
};

// Kills every process of the sandbox but the agent, also those without a process number. Answered
// by FileDone when none is left; the exits of numbered processes are reported as always.
struct EndProcesses {
  RequestNumber request = 0;
  bool operator==(const EndProcesses&) const = default;
};

using ServerFrame = std::variant<Hello, StartProcess, Input, CloseInput, Subscribe, Unsubscribe,
                                 Acknowledge, SetLossy, SignalProcess, ResizeProcess, ForgetProcess,
                                 FileRequest, CommitFile, AbandonFile, ConnectPort, EndProcesses,
                                 StreamData, StreamTaken, StreamFinished, StreamStopped>;

// ---- from the agent ------------------------------------------------------------------------

struct StreamState {
  std::uint64_t begin = 0;  // the oldest byte that is kept
  std::uint64_t end = 0;    // all that was printed so far
  bool operator==(const StreamState&) const = default;
};
struct ProcessEnd {
  std::uint8_t code = 0;
  std::uint8_t signal = 0;  // zero, or what killed it
  bool oom_killed = false;  // by the kernel, for memory
  std::uint64_t cpu_us = 0;
  std::uint64_t max_rss_bytes = 0;
  bool operator==(const ProcessEnd&) const = default;
};
// A process as it is now.
struct ProcessStatus {
  ProcessNumber process = 0;
  ProcessKind kind = ProcessKind::kProgram;
  std::uint32_t pid = 0;  // as the guest sees it
  std::string label;
  bool warm = false;
  bool terminal = false;
  bool lossy = false;
  std::uint64_t started_ms = 0;  // by the wall clock
  StreamState out, err, results;
  std::uint64_t input_taken = 0;     // of stdin
  std::uint64_t requests_taken = 0;  // of kRequests
  std::optional<ProcessEnd> ended;
  bool operator==(const ProcessStatus&) const = default;
};
struct Welcome {
  std::uint64_t epoch = 0;
  Carrier carrier = Carrier::kDescriptors;  // kFrames if either side needs it
  bool operator==(const Welcome&) const = default;
};
struct ProcessStarted {
  ProcessNumber process = 0;
  std::uint32_t pid = 0;
  bool warm = false;
  bool operator==(const ProcessStarted&) const = default;
};
struct StartRefused {
  ProcessNumber process = 0;
  int sys_errno = 0;
  std::string step;
  bool operator==(const StartRefused&) const = default;
};
// Of kResults also how much had been printed when these bytes were written: what a cell printed
// comes before what it says at its end.
struct Output {
  ProcessNumber process = 0;
  Stream stream = Stream::kStdout;
  std::uint64_t offset = 0;  // of the first byte; more than was expected: the rest is lost
  std::string bytes;
  std::uint64_t out_before = 0;
  std::uint64_t err_before = 0;
  std::uint32_t subscription = 0;  // the stream's latest, when this was sent
  bool operator==(const Output&) const = default;
};
struct InputTaken {
  ProcessNumber process = 0;
  Stream stream = Stream::kStdin;
  std::uint64_t offset = 0;
  bool closed = false;  // the process no longer reads it
  bool operator==(const InputTaken&) const = default;
};
// After all its output was read from it (not: sent). What its children hold open is not waited for.
struct ProcessExited {
  ProcessNumber process = 0;
  ProcessEnd end;
  StreamState out, err, results;  // where its output ends
  bool operator==(const ProcessExited&) const = default;
};
// With kDescriptors the other end of the helper's pipe comes along. `entry` as in FileDone.
struct FileOpened {
  RequestNumber request = 0;
  std::string entry;
  bool operator==(const FileOpened&) const = default;
};
struct FileDone {
  RequestNumber request = 0;
  int sys_errno = 0;        // zero: done
  std::string message;      // for people, when not
  std::string entry;        // one record (wire/guest/file_records.h), where there is one
  std::uint64_t bytes = 0;  // moved through its pipe or stream, or found
  std::uint64_t entries = 0;
  bool operator==(const FileDone&) const = default;
};
// With kDescriptors a stream socket inside the sandbox's network comes along. Perhaps still
// connecting.
struct PortConnected {
  RequestNumber request = 0;
  bool operator==(const PortConnected&) const = default;
};
struct PortRefused {
  RequestNumber request = 0;
  int sys_errno = 0;
  bool operator==(const PortRefused&) const = default;
};

using SessionFrame =
    std::variant<ProcessStatus, Welcome, ProcessStarted, StartRefused, Output, InputTaken,
                 ProcessExited, FileOpened, FileDone, PortConnected, PortRefused, StreamData,
                 StreamTaken, StreamFinished, StreamStopped>;

// What the agent sends ahead of its answer to a Hello over a byte stream (FrameLink::seek()). The
// server chooses each epoch at random.
std::array<std::byte, 16> mark_of(std::uint64_t epoch);

std::vector<std::byte> encode(const ServerFrame& frame);
std::vector<std::byte> encode(const SessionFrame& frame);
Result<ServerFrame> decode_server_frame(std::span<const std::byte> bytes);
Result<SessionFrame> decode_session_frame(std::span<const std::byte> bytes);

}  // namespace glovebox::wire
