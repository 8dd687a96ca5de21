#include "wire/tar/tar_reader.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace glovebox::wire {
namespace {

constexpr std::uint64_t kMaxContent = INT64_MAX / 2;
constexpr std::int64_t kLatest = INT64_MAX / 2;
constexpr int kMaxExtras = 8;  // headers in front of one entry

tl::unexpected<Error> malformed(const char* what) {
  return fail(Error(Errc::kInvalidArgument, std::string("malformed tar archive: ") + what, EINVAL));
}

std::string_view text_at(std::string_view block, std::size_t at, std::size_t size) {
  const std::string_view field = block.substr(at, size);
  return field.substr(0, field.find('\0'));
}

// Octal, or GNU's big-endian numbers.
Result<std::int64_t> number_at(std::string_view block, std::size_t at, std::size_t size) {
  std::string_view field = block.substr(at, size);
  const auto first = static_cast<unsigned char>(field[0]);
  if (first == 0x80 || first == 0xff) {
    std::uint64_t value = first == 0xff ? UINT64_MAX : 0;
    for (std::size_t i = 1; i < size; ++i) {
      const auto byte = static_cast<unsigned char>(field[i]);
      // Only the last eight bytes may say anything; those before repeat the sign.
      if (size - i > 8 && byte != (first == 0xff ? 0xff : 0))
        return malformed("invalid binary number");
      value = (value << 8) | byte;
    }
    const auto number = static_cast<std::int64_t>(value);
    if ((number < 0) != (first == 0xff)) return malformed("invalid binary number");
    return number;
  }
  while (!field.empty() && (field.front() == ' ' || field.front() == '\0')) field.remove_prefix(1);
  std::int64_t value = 0;
  for (const char c : field) {
    if (c == ' ' || c == '\0') break;
    if (c < '0' || c > '7') return malformed("invalid octal number");
    value = value * 8 + (c - '0');  // at most twelve digits
  }
  return value;
}

bool sum_is_right(std::string_view block) {
  const auto claimed = number_at(block, 148, 8);
  if (!claimed) return false;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < kTarBlock; ++i) {
    sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(block[i]);
  }
  return sum == *claimed;
}

Result<std::uint64_t> decimal(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    return malformed("invalid pax number");
  }
  return value;
}

// "123.456", perhaps negative; digits beyond nanoseconds are dropped.
Result<std::pair<std::int64_t, std::uint32_t>> parse_time(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const std::string_view whole = text.substr(0, text.find('.'));
  TRY(const std::uint64_t seconds, decimal(whole));
  if (seconds > static_cast<std::uint64_t>(kLatest)) return malformed("invalid time");
  std::uint32_t nanoseconds = 0;
  if (whole.size() < text.size()) {
    std::string fraction(text.substr(whole.size() + 1, 9));
    fraction.resize(9, '0');
    TRY(const std::uint64_t value, decimal(fraction));
    nanoseconds = static_cast<std::uint32_t>(value);
  }
  auto signed_seconds = static_cast<std::int64_t>(seconds);
  if (negative) {
    signed_seconds = -signed_seconds;
    if (nanoseconds > 0) {
      --signed_seconds;
      nanoseconds = 1'000'000'000 - nanoseconds;
    }
  }
  return std::pair{signed_seconds, nanoseconds};
}

TarType tar_type(char letter) {
  switch (letter) {
    case '0':
    case '\0':
    case '7':
      return TarType::kFile;
    case '1':
      return TarType::kHardLink;
    case '2':
      return TarType::kSymlink;
    case '3':
      return TarType::kCharDevice;
    case '4':
      return TarType::kBlockDevice;
    case '5':
      return TarType::kDirectory;
    case '6':
      return TarType::kFifo;
    default:
      return TarType::kOther;
  }
}

bool has_content(TarType type) { return type == TarType::kFile || type == TarType::kOther; }

// What a C string would hold of it.
std::string until_nul(std::string_view bytes) {
  return std::string(bytes.substr(0, bytes.find('\0')));
}

}  // namespace

Result<std::size_t> TarReader::read_block(char* block) {
  std::size_t have = 0;
  while (have < kTarBlock) {
    TRY(const std::size_t got, source_(block + have, kTarBlock - have));
    if (got == 0) break;
    have += got;
    bytes_read_ += got;
  }
  if (have != 0 && have != kTarBlock) return malformed("unexpected end");
  return have;
}

Result<std::size_t> TarReader::read(char* bytes, std::size_t size) {
  const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(size, left_));
  if (want == 0) return std::size_t{0};
  TRY(const std::size_t got, source_(bytes, want));
  if (got == 0) return malformed("unexpected end");
  left_ -= got;
  bytes_read_ += got;
  return got;
}

Result<> TarReader::skip_content() {
  left_ += padding_;
  padding_ = 0;
  char waste[16 * 1024];
  while (left_ > 0) TRY_OK(read(waste, sizeof waste));
  return {};
}

Result<std::string> TarReader::read_extra(std::uint64_t size) {
  if (size > kMaxExtra) return malformed("header too long");
  std::string bytes;
  left_ = size;
  padding_ = (kTarBlock - size % kTarBlock) % kTarBlock;
  char piece[4096];
  while (left_ > 0) {
    TRY(const std::size_t got, read(piece, sizeof piece));
    bytes.append(piece, got);
  }
  TRY_OK(skip_content());
  return bytes;
}

Result<> TarReader::take_records(std::string_view records, Extra& extra) {
  while (!records.empty()) {
    const std::size_t space = records.find(' ');
    if (space == std::string_view::npos || space > 10) return malformed("invalid pax record");
    TRY(const std::uint64_t length, decimal(records.substr(0, space)));
    if (length > records.size() || length < space + 4) return malformed("invalid pax record");
    std::string_view record = records.substr(space + 1, length - space - 1);
    records.remove_prefix(length);
    const std::size_t equals = record.find('=');
    if (record.back() != '\n' || equals == std::string_view::npos || equals == 0) {
      return malformed("invalid pax record");
    }
    record.remove_suffix(1);
    TRY_OK(take_record(record.substr(0, equals), record.substr(equals + 1), extra));
  }
  return {};
}

Result<> TarReader::take_record(std::string_view key, std::string_view value, Extra& extra) {
  constexpr std::string_view kXattr = "SCHILY.xattr.";
  if (key == "path" || key == "linkpath") {
    if (value.find('\0') != std::string_view::npos) return malformed("invalid name");
    (key == "path" ? extra.name : extra.link) = std::string(value);
  } else if (key == "size") {
    TRY(extra.size, decimal(value));
  } else if (key == "uid") {
    TRY(extra.uid, decimal(value));
  } else if (key == "gid") {
    TRY(extra.gid, decimal(value));
  } else if (key == "mtime") {
    TRY(extra.mtime, parse_time(value));
  } else if (key.starts_with(kXattr)) {
    const std::string_view name = key.substr(kXattr.size());
    if (name.empty() || name.find('\0') != std::string_view::npos)
      return malformed("invalid extended attribute");
    extra.xattrs.emplace_back(name, value);
  } else if (key == "GLOVEBOX.removed") {
    extra.removed = value == "1";
  } else if (key == "GLOVEBOX.opaque") {
    extra.opaque = value == "1";
  } else if (key.starts_with("GNU.sparse.")) {
    return malformed("sparse files are not supported; create it without --sparse");
  }
  return {};
}

Result<TarEntry> TarReader::entry_of(std::string_view block, Extra extra) {
  TarEntry entry;
  entry.type = tar_type(block[156]);
  if (block[156] == 'S') {
    return malformed("sparse files are not supported; create it without --sparse");
  }
  TRY(const std::int64_t size, number_at(block, 124, 12));
  TRY(const std::int64_t mode, number_at(block, 100, 8));
  TRY(const std::int64_t uid, number_at(block, 108, 8));
  TRY(const std::int64_t gid, number_at(block, 116, 8));
  TRY(const std::int64_t mtime, number_at(block, 136, 12));
  entry.mode = static_cast<std::uint32_t>(mode & 07777);
  const auto wide_uid = extra.uid.value_or(static_cast<std::uint64_t>(uid));
  const auto wide_gid = extra.gid.value_or(static_cast<std::uint64_t>(gid));
  if (wide_uid >= UINT32_MAX || wide_gid >= UINT32_MAX) return malformed("invalid owner");
  entry.uid = static_cast<std::uint32_t>(wide_uid);
  entry.gid = static_cast<std::uint32_t>(wide_gid);
  if (mtime > kLatest || mtime < -kLatest) return malformed("invalid time");
  entry.mtime_s = mtime;
  if (extra.mtime) std::tie(entry.mtime_s, entry.mtime_ns) = *extra.mtime;
  if (extra.name) {
    entry.name = std::move(*extra.name);
  } else {
    const std::string_view prefix = text_at(block, 345, 155);
    // GNU's own format has other things where ustar has the prefix.
    const bool ustar = block.substr(257, 6) == std::string_view("ustar\0", 6);
    if (ustar && !prefix.empty()) entry.name = std::string(prefix) + "/";
    entry.name += text_at(block, 0, 100);
  }
  entry.link = extra.link ? std::move(*extra.link) : std::string(text_at(block, 157, 100));
  if (entry.type != TarType::kSymlink && entry.type != TarType::kHardLink) entry.link.clear();
  if (entry.name.empty()) return malformed("entry without a name");
  if (entry.name.size() > kMaxName || entry.link.size() > kMaxName) {
    return malformed("name too long");
  }
  // Before there was a type for directories, a trailing slash marked them.
  if (entry.type == TarType::kFile && entry.name.ends_with('/')) entry.type = TarType::kDirectory;
  while (entry.name.size() > 1 && entry.name.ends_with('/')) entry.name.pop_back();
  if (size < 0) return malformed("invalid size");
  if (has_content(entry.type)) entry.size = extra.size.value_or(static_cast<std::uint64_t>(size));
  if (entry.size > kMaxContent) return malformed("invalid size");
  left_ = entry.size;
  padding_ = (kTarBlock - entry.size % kTarBlock) % kTarBlock;
  entry.xattrs = std::move(extra.xattrs);
  entry.removed = extra.removed;
  entry.opaque = extra.opaque;
  return entry;
}

Result<std::optional<TarEntry>> TarReader::next() {
  TRY_OK(skip_content());
  Extra extra;
  char bytes[kTarBlock];
  const std::string_view block(bytes, kTarBlock);
  for (int headers = 0; !ended_; ++headers) {
    const bool first = bytes_read_ == 0;
    TRY(const std::size_t got, read_block(bytes));
    if (got == 0 && !first) return malformed("unexpected end");
    if (got == 0 || block.find_first_not_of('\0') == std::string_view::npos) {
      ended_ = true;
      break;
    }
    if (!sum_is_right(block)) return malformed("wrong checksum");
    const char letter = block[156];
    if (letter != 'x' && letter != 'g' && letter != 'L' && letter != 'K') {
      TRY(TarEntry entry, entry_of(block, std::move(extra)));
      return std::optional<TarEntry>(std::move(entry));
    }
    if (headers >= kMaxExtras) return malformed("too many headers");
    TRY(const std::int64_t size, number_at(block, 124, 12));
    if (size < 0) return malformed("invalid size");
    TRY(const std::string text, read_extra(static_cast<std::uint64_t>(size)));
    if (letter == 'x') TRY_OK(take_records(text, extra));
    if (letter == 'L') extra.name = until_nul(text);
    if (letter == 'K') extra.link = until_nul(text);
    // A global header ('g') describes the whole archive and is not needed here.
  }
  return std::optional<TarEntry>();
}

}  // namespace glovebox::wire
