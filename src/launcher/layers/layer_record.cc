#include "launcher/layers/layer_record.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/id.h"
#include "base/unique_fd.h"
#include "base/write_all.h"

namespace glovebox::launcher {
namespace {

constexpr std::string_view kFirstLine = "glovebox-layer 1\n";
constexpr const char* kName = "record";
constexpr std::size_t kMaxHead = 512;
constexpr std::size_t kDigestSize = 64;

// Takes "name value\n" from the beginning of `rest`.
std::optional<std::string_view> take_line(std::string_view& rest, std::string_view name) {
  if (!rest.starts_with(name) || rest.size() <= name.size() || rest[name.size()] != ' ') {
    return std::nullopt;
  }
  const std::size_t begin = name.size() + 1;
  const std::size_t end = rest.find('\n', begin);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view value = rest.substr(begin, end - begin);
  rest.remove_prefix(end + 1);
  return value;
}

std::optional<std::uint64_t> take_number(std::string_view& rest, std::string_view name) {
  const auto value = take_line(rest, name);
  if (!value || value->empty()) return std::nullopt;
  std::uint64_t number = 0;
  const char* end = value->data() + value->size();
  const auto [at, error] = std::from_chars(value->data(), end, number);
  if (error != std::errc() || at != end) return std::nullopt;
  return number;
}

bool is_digest(std::string_view text) {
  return text.size() == kDigestSize && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace

std::string record_text(const LayerRecord& record) {
  std::string text(kFirstLine);
  text += "bytes " + std::to_string(record.bytes) + "\n";
  text += "entries " + std::to_string(record.entries) + "\n";
  text += "digest " + record.digest + "\n";
  text += "made " + std::to_string(record.made_ms) + "\n";
  text += "note " + std::to_string(record.note.size()) + "\n";
  text += record.note;
  return text;
}

std::optional<LayerRecord> parse_record(std::string_view text) {
  if (!text.starts_with(kFirstLine)) return std::nullopt;
  text.remove_prefix(kFirstLine.size());
  const auto bytes = take_number(text, "bytes");
  const auto entries = bytes ? take_number(text, "entries") : std::nullopt;
  const auto digest = entries ? take_line(text, "digest") : std::nullopt;
  const auto made = digest ? take_number(text, "made") : std::nullopt;
  const auto note = made ? take_number(text, "note") : std::nullopt;
  constexpr auto kLatest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!note || !is_digest(*digest) || *made > kLatest || *note > kMaxLayerNote ||
      *note != text.size()) {
    return std::nullopt;
  }
  LayerRecord record;
  record.bytes = *bytes;
  record.entries = *entries;
  record.digest = std::string(*digest);
  record.made_ms = static_cast<std::int64_t>(*made);
  record.note = std::string(text);
  return record;
}

Result<> write_record(int dir, const LayerRecord& record) {
  const std::string text = record_text(record);
  // A record that could not be read again is not written.
  if (!parse_record(text)) {
    return fail(Errc::kInvalidArgument,
                "a layer's record needs a digest of 64 hexadecimal digits and a note of at most " +
                    std::to_string(kMaxLayerNote) + " bytes");
  }
  const std::string draft = ".record-" + random_label(12);
  const UniqueFd file(
      ::openat(dir, draft.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return fail(Error::from_errno("create a layer's record"));
  Result<> written = write_all(file.get(), text);
  if (written && ::fsync(file.get()) != 0) written = fail(Error::from_errno("sync a record"));
  if (written && ::renameat(dir, draft.c_str(), dir, kName) != 0) {
    written = fail(Error::from_errno("rename a record"));
  }
  if (!written) {
    (void)::unlinkat(dir, draft.c_str(), 0);
    return fail(std::move(written.error()).context("write a layer's record"));
  }
  if (::fsync(dir) != 0) return fail(Error::from_errno("sync a layer's directory"));
  return {};
}

Result<LayerRecord> read_record(int dir) {
  const UniqueFd file(::openat(dir, kName, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) return fail(Error::from_errno("open a layer's record"));
  struct stat info {};
  if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return fail(Errc::kProtocol, "a layer's record is not a regular file");
  }
  std::string text(kMaxHead + kMaxLayerNote + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(Error::from_errno("read a layer's record"));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  auto record = parse_record(text);
  if (!record) return fail(Errc::kProtocol, "a layer's record is malformed");
  return std::move(*record);
}

}  // namespace glovebox::launcher
