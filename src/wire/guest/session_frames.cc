// One description per frame serves both directions, so that what is written is what is read. A
// frame's kind is its place in its variant: new frames go to the end.
#include "wire/guest/session_frames.h"

#include <type_traits>
#include <utility>

#include "wire/byte_codec.h"
#include "wire/guest/file_records.h"
#include "wire/guest/guest_frames.h"

namespace glovebox::wire {
namespace {

constexpr std::uint8_t kFirstServerKind = 1;
constexpr std::uint8_t kFirstAgentKind = 65;
constexpr std::size_t kMaxSessionStep = 256;
constexpr std::size_t kMaxMessage = 1024;
constexpr std::size_t kMaxEntry = kMaxFileRecord + 4;
constexpr int kMaxErrno = 0xffff;

enum class Nul : bool { kRefused, kAllowed };

// Writes fields. What it is given was made by us and is not checked, only cut where it is for
// people to read.
class Put {
 public:
  static constexpr bool kReads = false;
  explicit Put(std::uint8_t kind) {
    to_.number(kSessionProtocol);
    to_.number(kind);
  }
  template <std::unsigned_integral T>
  void number(const T& value) {
    to_.number(value);
  }
  void flag(const bool& value) { to_.number(static_cast<std::uint8_t>(value)); }
  template <class E>
  void choice(const E& value, E, E) {
    to_.number(static_cast<std::uint8_t>(value));
  }
  void text(const std::string& value, std::size_t, Nul) { to_.text(value); }
  void remark(const std::string& value, std::size_t most) {
    to_.text(std::string_view(value).substr(0, most));
  }
  void texts(const std::vector<std::string>& values) { to_.texts(values); }
  void error(const int& value) { to_.number(static_cast<std::uint32_t>(value)); }
  void demand(bool) {}
  std::vector<std::byte> take() { return to_.take(); }

 private:
  ByteWriter to_;
};

// Reads fields, and refuses the whole frame for one that cannot be.
class Get {
 public:
  static constexpr bool kReads = true;
  explicit Get(ByteReader& from) : from_(from) {}
  template <std::unsigned_integral T>
  void number(T& value) {
    value = from_.number<T>();
  }
  void flag(bool& value) {
    const auto byte = from_.number<std::uint8_t>();
    demand(byte <= 1);
    value = byte == 1;
  }
  template <class E>
  void choice(E& value, E least, E most) {
    const auto byte = from_.number<std::uint8_t>();
    demand(byte >= static_cast<std::uint8_t>(least) && byte <= static_cast<std::uint8_t>(most));
    value = static_cast<E>(byte);
  }
  void text(std::string& value, std::size_t most, Nul nul) {
    value = from_.text(most);
    demand(nul == Nul::kAllowed || value.find('\0') == std::string::npos);
  }
  void remark(std::string& value, std::size_t most) { value = from_.text(most); }
  // execve takes strings that end at the first NUL: one inside would run something else than what
  // was checked.
  void texts(std::vector<std::string>& values) {
    values = from_.texts(kMaxExecStrings, kMaxExecBytes);
    for (const std::string& value : values) demand(value.find('\0') == std::string::npos);
  }
  void error(int& value) {
    const auto number = from_.number<std::uint32_t>();
    demand(number <= kMaxErrno);
    value = static_cast<int>(number & kMaxErrno);
  }
  void demand(bool met) {
    if (!met) from_.refuse();
  }

 private:
  ByteReader& from_;
};

// ---- pieces --------------------------------------------------------------------------------

template <class Io, class S>
void input_stream(Io& io, S& stream) {
  io.choice(stream, Stream::kStdin, Stream::kRequests);
  io.demand(stream == Stream::kStdin || stream == Stream::kRequests);
}
template <class Io, class S>
void output_stream(Io& io, S& stream) {
  io.choice(stream, Stream::kStdout, Stream::kResults);
}
template <class Io, class T>
void user_name(Io& io, T& name) {
  io.text(name, kMaxUserName, Nul::kRefused);
  io.demand(!name.empty());
}
// Bytes that end beyond what can be counted have no offset.
template <class Io, class F>
void chunk(Io& io, F& frame) {
  io.number(frame.offset);
  io.text(frame.bytes, kMaxSessionChunk, Nul::kAllowed);
  io.demand(frame.bytes.size() <= UINT64_MAX - frame.offset);
}
template <class Io, class T>
void terminal_size(Io& io, T& size) {
  io.number(size.rows);
  io.number(size.columns);
}
template <class Io, class T>
void stream_state(Io& io, T& state) {
  io.number(state.begin);
  io.number(state.end);
  io.demand(state.begin <= state.end);
}
template <class Io, class T>
void process_end(Io& io, T& end) {
  io.number(end.code);
  io.number(end.signal);
  io.flag(end.oom_killed);
  io.number(end.cpu_us);
  io.number(end.max_rss_bytes);
  io.demand(end.signal <= 64);
}
// A flag, then the value if there is one.
template <class Io, class O, class Fields>
void maybe(Io& io, O& value, Fields fields) {
  bool there = value.has_value();
  io.flag(there);
  if (!there) return;
  if constexpr (Io::kReads) value.emplace();
  fields(io, *value);
}
template <class Io, class M>
void metadata_fields(Io& io, M& metadata) {
  auto count = static_cast<std::uint32_t>(metadata.size());
  io.number(count);
  io.demand(count <= kMaxMetadataPairs);
  if (count > kMaxMetadataPairs) return;
  if constexpr (Io::kReads) metadata.resize(count);
  for (auto& [key, value] : metadata) {
    io.text(key, kMaxMetadataKey, Nul::kRefused);
    io.text(value, kMaxMetadataBytes, Nul::kRefused);
  }
  io.demand(is_valid_metadata(metadata));
}
template <class Io, class E>
void exec_spec(Io& io, E& exec) {
  io.texts(exec.argv);
  io.texts(exec.env);
  io.text(exec.workdir, kMaxSessionPath, Nul::kRefused);
  maybe(io, exec.terminal, [](auto& to, auto& size) { terminal_size(to, size); });
  io.demand(!exec.argv.empty());
}

// ---- frames --------------------------------------------------------------------------------

struct Fields {
  template <class Io, class F>
  static void of(Io& io, F& f) {
    using T = std::remove_const_t<F>;
    if constexpr (std::is_same_v<T, Hello> || std::is_same_v<T, Welcome>) {
      io.number(f.epoch);
      io.choice(f.carrier, Carrier::kDescriptors, Carrier::kFrames);
    } else if constexpr (std::is_same_v<T, StartProcess>) {
      io.number(f.process);
      io.choice(f.kind, ProcessKind::kProgram, ProcessKind::kContext);
      exec_spec(io, f.exec);
      user_name(io, f.user);
      io.text(f.label, kMaxLabel, Nul::kAllowed);
      io.flag(f.has_stdin);
      io.flag(f.lossy);
      io.flag(f.subscribed);
      io.demand(f.kind == ProcessKind::kProgram || !f.exec.terminal);
    } else if constexpr (std::is_same_v<T, Input>) {
      io.number(f.process);
      input_stream(io, f.stream);
      chunk(io, f);
    } else if constexpr (std::is_same_v<T, CloseInput>) {
      io.number(f.process);
      input_stream(io, f.stream);
    } else if constexpr (std::is_same_v<T, Subscribe> || std::is_same_v<T, Acknowledge>) {
      io.number(f.process);
      output_stream(io, f.stream);
      io.number(f.offset);
      if constexpr (std::is_same_v<T, Subscribe>) io.number(f.subscription);
    } else if constexpr (std::is_same_v<T, Unsubscribe>) {
      io.number(f.process);
      output_stream(io, f.stream);
    } else if constexpr (std::is_same_v<T, SetLossy>) {
      io.number(f.process);
      io.flag(f.lossy);
    } else if constexpr (std::is_same_v<T, SignalProcess>) {
      io.number(f.process);
      io.number(f.signal);
      io.flag(f.group);
      io.demand(f.signal >= 1 && f.signal <= 64);
    } else if constexpr (std::is_same_v<T, ResizeProcess>) {
      io.number(f.process);
      terminal_size(io, f.size);
    } else if constexpr (std::is_same_v<T, ForgetProcess>) {
      io.number(f.process);
    } else if constexpr (std::is_same_v<T, FileRequest>) {
      file_request(io, f);
    } else if constexpr (std::is_same_v<T, CommitFile> || std::is_same_v<T, AbandonFile> ||
                         std::is_same_v<T, EndProcesses> || std::is_same_v<T, PortConnected> ||
                         std::is_same_v<T, StreamFinished> || std::is_same_v<T, StreamStopped>) {
      io.number(f.request);
    } else if constexpr (std::is_same_v<T, StreamData>) {
      io.number(f.request);
      io.text(f.bytes, kMaxSessionChunk, Nul::kAllowed);
      io.demand(!f.bytes.empty());
    } else if constexpr (std::is_same_v<T, StreamTaken>) {
      io.number(f.request);
      io.number(f.offset);
    } else if constexpr (std::is_same_v<T, ConnectPort>) {
      io.number(f.request);
      io.number(f.port);
      io.demand(f.port != 0);
    } else {
      of_agent(io, f);
    }
  }

 private:
  template <class Io, class F>
  static void file_request(Io& io, F& f) {
    io.number(f.request);
    io.choice(f.op, FileOp::kRead, FileOp::kImageIn);
    user_name(io, f.user);
    io.text(f.path, kMaxSessionPath, Nul::kRefused);
    io.text(f.target, kMaxSessionPath, Nul::kRefused);
    io.number(f.from);
    io.number(f.most);
    io.number(f.depth);
    maybe(io, f.mode, [](auto& to, auto& mode) { to.number(mode); });
    io.text(f.owner, 2 * kMaxUserName + 1, Nul::kRefused);
    io.flag(f.recursive);
    io.flag(f.follow);
    io.flag(f.overwrite);
    io.flag(f.details);
    metadata_fields(io, f.metadata);
    const bool two_paths = f.op == FileOp::kMove || f.op == FileOp::kCopy;
    const bool whole_disk = f.op == FileOp::kSnapshotOut || f.op == FileOp::kSnapshotIn;
    io.demand(!f.path.empty() || whole_disk);
    io.demand(!f.target.empty() || !two_paths);
    io.demand(!f.mode || *f.mode <= 07777);
  }

  template <class Io, class F>
  static void of_agent(Io& io, F& f) {
    using T = std::remove_const_t<F>;
    if constexpr (std::is_same_v<T, ProcessStatus>) {
      io.number(f.process);
      io.choice(f.kind, ProcessKind::kProgram, ProcessKind::kContext);
      io.number(f.pid);
      io.text(f.label, kMaxLabel, Nul::kAllowed);
      io.flag(f.warm);
      io.flag(f.terminal);
      io.flag(f.lossy);
      io.number(f.started_ms);
      stream_state(io, f.out);
      stream_state(io, f.err);
      stream_state(io, f.results);
      io.number(f.input_taken);
      io.number(f.requests_taken);
      maybe(io, f.ended, [](auto& to, auto& end) { process_end(to, end); });
    } else if constexpr (std::is_same_v<T, ProcessStarted>) {
      io.number(f.process);
      io.number(f.pid);
      io.flag(f.warm);
    } else if constexpr (std::is_same_v<T, StartRefused>) {
      io.number(f.process);
      io.error(f.sys_errno);
      io.remark(f.step, kMaxSessionStep);
    } else if constexpr (std::is_same_v<T, Output>) {
      io.number(f.process);
      output_stream(io, f.stream);
      chunk(io, f);
      io.number(f.out_before);
      io.number(f.err_before);
      io.number(f.subscription);
    } else if constexpr (std::is_same_v<T, InputTaken>) {
      io.number(f.process);
      input_stream(io, f.stream);
      io.number(f.offset);
      io.flag(f.closed);
    } else if constexpr (std::is_same_v<T, ProcessExited>) {
      io.number(f.process);
      process_end(io, f.end);
      stream_state(io, f.out);
      stream_state(io, f.err);
      stream_state(io, f.results);
    } else if constexpr (std::is_same_v<T, FileOpened>) {
      io.number(f.request);
      io.text(f.entry, kMaxEntry, Nul::kAllowed);
    } else if constexpr (std::is_same_v<T, FileDone>) {
      io.number(f.request);
      io.error(f.sys_errno);
      io.remark(f.message, kMaxMessage);
      io.text(f.entry, kMaxEntry, Nul::kAllowed);
      io.number(f.bytes);
      io.number(f.entries);
    } else {
      static_assert(std::is_same_v<T, PortRefused>);
      io.number(f.request);
      io.error(f.sys_errno);
    }
  }
};

template <class Variant>
std::vector<std::byte> encode_frame(const Variant& frame, std::uint8_t first_kind) {
  Put io(static_cast<std::uint8_t>(first_kind + frame.index()));
  std::visit([&](const auto& fields) { Fields::of(io, fields); }, frame);
  return io.take();
}

// Makes the alternative that `index` names, and reads it.
template <class Variant, std::size_t... I>
bool read_alternative(Variant& frame, std::size_t index, ByteReader& from,
                      std::index_sequence<I...>) {
  Get io(from);
  const auto read = [&]<std::size_t kAt>() { Fields::of(io, frame.template emplace<kAt>()); };
  return ((index == I && (read.template operator()<I>(), true)) || ...);
}

template <class Variant>
Result<Variant> decode_frame(std::span<const std::byte> bytes, std::uint8_t first_kind) {
  constexpr std::size_t kKinds = std::variant_size_v<Variant>;
  ByteReader from(bytes);
  Variant frame;
  if (bytes.size() <= kMaxSessionFrame && from.number<std::uint8_t>() == kSessionProtocol) {
    const auto kind = from.number<std::uint8_t>();
    if (kind >= first_kind &&
        read_alternative(frame, kind - first_kind, from, std::make_index_sequence<kKinds>()) &&
        from.finished()) {
      return frame;
    }
  }
  return fail(Errc::kProtocol, "malformed session frame");
}

}  // namespace

FileData data_of(FileOp op) {
  switch (op) {
    case FileOp::kRead:
    case FileOp::kList:
    case FileOp::kTarOut:
    case FileOp::kWatch:
    case FileOp::kSnapshotOut:
      return FileData::kToServer;
    case FileOp::kWrite:
    case FileOp::kTarIn:
    case FileOp::kSnapshotIn:
    case FileOp::kImageIn:
      return FileData::kFromServer;
    default:
      return FileData::kNone;
  }
}

std::array<std::byte, 16> mark_of(std::uint64_t epoch) {
  constexpr std::string_view kName = "gbx mark";
  std::array<std::byte, 16> mark{};
  for (std::size_t i = 0; i < 8; ++i) {
    mark[i] = static_cast<std::byte>(kName[i]);
    mark[8 + i] = static_cast<std::byte>(epoch >> (8 * i));
  }
  return mark;
}

std::vector<std::byte> encode(const ServerFrame& frame) {
  return encode_frame(frame, kFirstServerKind);
}
std::vector<std::byte> encode(const SessionFrame& frame) {
  return encode_frame(frame, kFirstAgentKind);
}
Result<ServerFrame> decode_server_frame(std::span<const std::byte> bytes) {
  return decode_frame<ServerFrame>(bytes, kFirstServerKind);
}
Result<SessionFrame> decode_session_frame(std::span<const std::byte> bytes) {
  return decode_frame<SessionFrame>(bytes, kFirstAgentKind);
}

}  // namespace glovebox::wire
