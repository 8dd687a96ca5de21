#include "wire/guest/guest_frames.h"

#include "wire/byte_codec.h"

namespace glovebox::wire {
namespace {

enum GuestKind : std::uint8_t {
  kGuestPutFile = 1,
  kGuestGetFile,
  kGuestFileChunk,
  kGuestFileEnd,
  kGuestStart,
  kGuestSignal,
  kGuestResize,
  kGuestJobChunk,
  kGuestStartJob,
  kGuestFindFiles,
  kGuestCheckCall,
  kGuestFileStored = 65,
  kGuestFileFailed,
  kGuestStarted,
  kGuestStartFailed,
  kGuestExited,
  kGuestFoundFiles,
  kGuestCallChecked,
};

constexpr std::size_t kMaxGuestStep = 256;

ByteWriter begin_guest(GuestKind kind) {
  ByteWriter writer;
  writer.number(kGuestProtocol);
  writer.number(static_cast<std::uint8_t>(kind));
  return writer;
}

tl::unexpected<Error> malformed_guest() { return fail(Errc::kProtocol, "malformed guest frame"); }

struct GuestEncoder {
  std::vector<std::byte> operator()(const PutFile& put) const {
    ByteWriter writer = begin_guest(kGuestPutFile);
    writer.text(put.path.str());
    writer.number(put.mode);
    return writer.take();
  }
  std::vector<std::byte> operator()(const GetFile& get) const {
    ByteWriter writer = begin_guest(kGuestGetFile);
    writer.text(get.path.str());
    return writer.take();
  }
  std::vector<std::byte> operator()(const FileChunk& chunk) const {
    ByteWriter writer = begin_guest(kGuestFileChunk);
    writer.text(chunk.bytes);
    return writer.take();
  }
  std::vector<std::byte> operator()(const FileEnd&) const {
    return begin_guest(kGuestFileEnd).take();
  }
  std::vector<std::byte> operator()(const StartProgram& start) const {
    ByteWriter writer = begin_guest(kGuestStart);
    writer.texts(start.exec.argv);
    writer.texts(start.exec.env);
    writer.text(start.exec.workdir);
    writer.number(static_cast<std::uint8_t>(start.exec.terminal.has_value()));
    const TerminalSize size = start.exec.terminal.value_or(TerminalSize{});
    writer.number(size.rows);
    writer.number(size.columns);
    writer.number(static_cast<std::uint8_t>(start.runtime));
    writer.text(start.exec.user);
    return writer.take();
  }
  std::vector<std::byte> operator()(const JobChunk& chunk) const {
    ByteWriter writer = begin_guest(kGuestJobChunk);
    writer.text(chunk.bytes);
    return writer.take();
  }
  std::vector<std::byte> operator()(const StartJob& start) const {
    ByteWriter writer = begin_guest(kGuestStartJob);
    writer.number(static_cast<std::uint8_t>(start.stays));
    return writer.take();
  }
  std::vector<std::byte> operator()(const CheckCall&) const {
    return begin_guest(kGuestCheckCall).take();
  }
  std::vector<std::byte> operator()(const CallChecked& checked) const {
    ByteWriter writer = begin_guest(kGuestCallChecked);
    writer.text(std::string_view(checked.left).substr(0, kMaxGuestStep));
    return writer.take();
  }
  std::vector<std::byte> operator()(const FindFiles& find) const {
    ByteWriter writer = begin_guest(kGuestFindFiles);
    writer.text(find.pattern);
    return writer.take();
  }
  std::vector<std::byte> operator()(const FoundFiles& found) const {
    ByteWriter writer = begin_guest(kGuestFoundFiles);
    writer.number(static_cast<std::uint16_t>(found.files.size()));
    for (const FoundFile& file : found.files) {
      writer.text(file.path.str());
      writer.number(file.size);
    }
    writer.number(static_cast<std::uint8_t>(found.complete));
    return writer.take();
  }
  std::vector<std::byte> operator()(const SignalProgram& signal) const {
    ByteWriter writer = begin_guest(kGuestSignal);
    writer.number(signal.signal);
    return writer.take();
  }
  std::vector<std::byte> operator()(const ResizeTerminal& resize) const {
    ByteWriter writer = begin_guest(kGuestResize);
    writer.number(resize.size.rows);
    writer.number(resize.size.columns);
    return writer.take();
  }
  std::vector<std::byte> operator()(const FileStored&) const {
    return begin_guest(kGuestFileStored).take();
  }
  std::vector<std::byte> operator()(const FileFailed& failed) const {
    ByteWriter writer = begin_guest(kGuestFileFailed);
    writer.number(static_cast<std::uint32_t>(failed.sys_errno));
    writer.text(std::string_view(failed.what).substr(0, kMaxGuestStep));
    return writer.take();
  }
  std::vector<std::byte> operator()(const ProgramStarted& started) const {
    ByteWriter writer = begin_guest(kGuestStarted);
    writer.number(started.pid);
    return writer.take();
  }
  std::vector<std::byte> operator()(const StartFailed& failed) const {
    ByteWriter writer = begin_guest(kGuestStartFailed);
    writer.number(static_cast<std::uint32_t>(failed.sys_errno));
    writer.text(std::string_view(failed.step).substr(0, kMaxGuestStep));
    return writer.take();
  }
  std::vector<std::byte> operator()(const ProgramExited& exited) const {
    ByteWriter writer = begin_guest(kGuestExited);
    writer.number(exited.code);
    writer.number(exited.signal);
    writer.number(exited.cpu_us);
    writer.number(exited.max_rss_bytes);
    return writer.take();
  }
};

// execve takes strings that end at the first NUL: one inside would run something else than what
// was checked.
bool free_of_nul(const std::vector<std::string>& values) {
  for (const std::string& value : values) {
    if (value.find('\0') != std::string::npos) return false;
  }
  return true;
}

Result<ClientFrame> get_start(ByteReader& from) {
  StartProgram start;
  start.exec.argv = from.texts(kMaxExecStrings, kMaxExecBytes);
  start.exec.env = from.texts(kMaxExecStrings, kMaxExecBytes);
  start.exec.workdir = from.text(GuestPath::kMaxBytes);
  const auto terminal = from.number<std::uint8_t>();
  TerminalSize size;
  size.rows = from.number<std::uint16_t>();
  size.columns = from.number<std::uint16_t>();
  const auto runtime = from.number<std::uint8_t>();
  start.exec.user = from.text(kMaxExecUser);
  if (terminal == 1) start.exec.terminal = size;
  start.runtime = runtime == 1;
  if (!from.finished() || terminal > 1 || runtime > 1 || (terminal == 1 && runtime == 1) ||
      start.exec.argv.empty() || (terminal == 0 && size != TerminalSize{}) ||
      !free_of_nul(start.exec.argv) || !free_of_nul(start.exec.env) ||
      !free_of_nul({start.exec.workdir, start.exec.user})) {
    return malformed_guest();
  }
  return start;
}

// A path is taken only in its clean form, so that what was checked is what is opened.
Result<GuestPath> get_path(ByteReader& from) {
  const std::string text = from.text(GuestPath::kMaxBytes);
  auto path = GuestPath::parse(text);
  if (!path || path->str() != text) return malformed_guest();
  return path;
}

Result<AgentFrame> get_found(ByteReader& from) {
  FoundFiles found;
  const auto count = from.number<std::uint16_t>();
  if (count > kMaxFoundFiles) return malformed_guest();
  for (unsigned i = 0; i < count; ++i) {
    TRY(GuestPath path, get_path(from));
    found.files.push_back({std::move(path), from.number<std::uint64_t>()});
  }
  const auto complete = from.number<std::uint8_t>();
  if (!from.finished() || complete > 1) return malformed_guest();
  found.complete = complete == 1;
  return found;
}

bool guest_starts_well(ByteReader& from, std::size_t size) {
  return size <= kMaxGuestFrame && from.number<std::uint8_t>() == kGuestProtocol;
}

}  // namespace

std::vector<std::byte> encode(const ClientFrame& frame) {
  return std::visit(GuestEncoder{}, frame);
}
std::vector<std::byte> encode(const AgentFrame& frame) { return std::visit(GuestEncoder{}, frame); }

Result<ClientFrame> decode_client_frame(std::span<const std::byte> bytes) {
  ByteReader from(bytes);
  if (!guest_starts_well(from, bytes.size())) return malformed_guest();
  switch (from.number<std::uint8_t>()) {
    case kGuestPutFile: {
      TRY(GuestPath path, get_path(from));
      const auto mode = from.number<std::uint32_t>();
      if (!from.finished() || (mode & ~0777u) != 0) return malformed_guest();
      return PutFile{std::move(path), mode};
    }
    case kGuestGetFile: {
      TRY(GuestPath path, get_path(from));
      if (!from.finished()) return malformed_guest();
      return GetFile{std::move(path)};
    }
    case kGuestFileChunk: {
      FileChunk chunk{from.text(kMaxChunk)};
      if (!from.finished()) return malformed_guest();
      return chunk;
    }
    case kGuestFileEnd:
      if (!from.finished()) return malformed_guest();
      return FileEnd{};
    case kGuestStart:
      return get_start(from);
    case kGuestJobChunk: {
      JobChunk chunk{from.text(kMaxChunk)};
      if (!from.finished()) return malformed_guest();
      return chunk;
    }
    case kGuestStartJob: {
      const auto stays = from.number<std::uint8_t>();
      if (!from.finished() || stays > 1) return malformed_guest();
      return StartJob{stays == 1};
    }
    case kGuestCheckCall:
      if (!from.finished()) return malformed_guest();
      return CheckCall{};
    case kGuestFindFiles: {
      FindFiles find{from.text(GuestPath::kMaxBytes)};
      if (!from.finished() || find.pattern.empty() || find.pattern[0] != '/' ||
          !free_of_nul({find.pattern})) {
        return malformed_guest();
      }
      return find;
    }
    case kGuestSignal: {
      const auto signal = from.number<std::uint8_t>();
      if (!from.finished() || signal == 0 || signal > 64) return malformed_guest();
      return SignalProgram{signal};
    }
    case kGuestResize: {
      TerminalSize size;
      size.rows = from.number<std::uint16_t>();
      size.columns = from.number<std::uint16_t>();
      if (!from.finished()) return malformed_guest();
      return ResizeTerminal{size};
    }
    default:
      return malformed_guest();
  }
}

Result<AgentFrame> decode_agent_frame(std::span<const std::byte> bytes) {
  ByteReader from(bytes);
  if (!guest_starts_well(from, bytes.size())) return malformed_guest();
  switch (from.number<std::uint8_t>()) {
    case kGuestFileStored:
      if (!from.finished()) return malformed_guest();
      return FileStored{};
    case kGuestFileFailed: {
      const auto error = from.number<std::uint32_t>();
      FileFailed failed{static_cast<int>(error & 0xffff), from.text(kMaxGuestStep)};
      if (!from.finished() || error > 0xffff) return malformed_guest();
      return failed;
    }
    case kGuestFileChunk: {
      FileChunk chunk{from.text(kMaxChunk)};
      if (!from.finished()) return malformed_guest();
      return chunk;
    }
    case kGuestFileEnd:
      if (!from.finished()) return malformed_guest();
      return FileEnd{};
    case kGuestFoundFiles:
      return get_found(from);
    case kGuestStarted: {
      const ProgramStarted started{from.number<std::uint32_t>()};
      if (!from.finished()) return malformed_guest();
      return started;
    }
    case kGuestStartFailed: {
      const auto error = from.number<std::uint32_t>();
      StartFailed failed{static_cast<int>(error & 0xffff), from.text(kMaxGuestStep)};
      if (!from.finished() || error > 0xffff) return malformed_guest();
      return failed;
    }
    case kGuestExited: {
      ProgramExited exited;
      exited.code = from.number<std::uint8_t>();
      exited.signal = from.number<std::uint8_t>();
      exited.cpu_us = from.number<std::uint64_t>();
      exited.max_rss_bytes = from.number<std::uint64_t>();
      if (!from.finished() || exited.signal > 64) return malformed_guest();
      return exited;
    }
    case kGuestCallChecked: {
      CallChecked checked{from.text(kMaxGuestStep)};
      if (!from.finished()) return malformed_guest();
      return checked;
    }
    default:
      return malformed_guest();
  }
}

}  // namespace glovebox::wire
