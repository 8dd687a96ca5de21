#include "guest/agent/files/tar_writer.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace glovebox::agent {
namespace {

// The classic header: names, and where each field is.
struct Field {
  std::size_t at;
  std::size_t size;
};
constexpr Field kName{0, 100}, kMode{100, 8}, kUid{108, 8}, kGid{116, 8}, kSize{124, 12},
    kMtime{136, 12}, kChecksum{148, 8}, kType{156, 1}, kLink{157, 100}, kMagic{257, 8},
    kDevMajor{329, 8}, kDevMinor{337, 8};

constexpr std::uint64_t kMaxSmall = 07777777;      // seven octal digits
constexpr std::uint64_t kMaxLarge = 077777777777;  // eleven

char letter_of(wire::TarType type) {
  switch (type) {
    case wire::TarType::kHardLink:
      return '1';
    case wire::TarType::kSymlink:
      return '2';
    case wire::TarType::kCharDevice:
      return '3';
    case wire::TarType::kBlockDevice:
      return '4';
    case wire::TarType::kDirectory:
      return '5';
    case wire::TarType::kFifo:
      return '6';
    default:
      return '0';
  }
}

void put(std::string& block, Field field, std::string_view text) {
  text = text.substr(0, field.size);
  std::copy(text.begin(), text.end(), block.begin() + static_cast<std::ptrdiff_t>(field.at));
}

void put_octal(std::string& block, Field field, std::uint64_t value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%0*llo", static_cast<int>(field.size - 1),
                static_cast<unsigned long long>(value));
  put(block, field, digits);
}

std::string classic(const wire::TarEntry& entry, const std::string& name, char letter) {
  std::string block(wire::kTarBlock, '\0');
  put(block, kName, name);
  put_octal(block, kMode, entry.mode & 07777u);
  put_octal(block, kUid, std::min<std::uint64_t>(entry.uid, kMaxSmall));
  put_octal(block, kGid, std::min<std::uint64_t>(entry.gid, kMaxSmall));
  put_octal(block, kSize, std::min(entry.size, kMaxLarge));
  const auto mtime = static_cast<std::uint64_t>(std::max<std::int64_t>(entry.mtime_s, 0));
  put_octal(block, kMtime, std::min(mtime, kMaxLarge));
  block[kType.at] = letter;
  put(block, kLink, entry.link);
  put(block, kMagic, std::string_view("ustar\00000", 8));
  put_octal(block, kDevMajor, 0);
  put_octal(block, kDevMinor, 0);
  // The sum of all bytes, those of the sum itself taken as spaces.
  put(block, kChecksum, "        ");
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  char digits[8];
  std::snprintf(digits, sizeof digits, "%06o", sum);
  put(block, kChecksum, std::string_view(digits, 7));  // six digits, NUL, space
  return block;
}

// "LENGTH key=value\n", where the length is that of all of it.
void add_record(std::string& records, const std::string& key, const std::string& value) {
  const std::size_t bare = key.size() + value.size() + 3;  // " ", "=", "\n"
  std::size_t length = bare + 1;
  while (bare + std::to_string(length).size() != length) ++length;
  records += std::to_string(length) + " " + key + "=" + value + "\n";
}

std::string time_text(std::int64_t seconds, std::uint32_t nanoseconds) {
  // A negative time counts its fraction away from zero.
  std::string sign;
  auto whole = static_cast<std::uint64_t>(seconds);
  if (seconds < 0) {
    sign = "-";
    whole = 0 - whole;
    if (nanoseconds > 0) {
      --whole;
      nanoseconds = 1'000'000'000 - nanoseconds;
    }
  }
  std::string text = sign + std::to_string(whole);
  if (nanoseconds == 0) return text;
  char fraction[16];
  std::snprintf(fraction, sizeof fraction, ".%09u", nanoseconds);
  return text + fraction;
}

std::string records_of(const wire::TarEntry& entry, const std::string& name) {
  std::string records;
  if (name.size() > kName.size) add_record(records, "path", name);
  if (entry.link.size() > kLink.size) add_record(records, "linkpath", entry.link);
  if (entry.size > kMaxLarge) add_record(records, "size", std::to_string(entry.size));
  if (entry.uid > kMaxSmall) add_record(records, "uid", std::to_string(entry.uid));
  if (entry.gid > kMaxSmall) add_record(records, "gid", std::to_string(entry.gid));
  const bool plain_time = entry.mtime_ns == 0 && entry.mtime_s >= 0 &&
                          static_cast<std::uint64_t>(entry.mtime_s) <= kMaxLarge;
  if (!plain_time) add_record(records, "mtime", time_text(entry.mtime_s, entry.mtime_ns));
  for (const auto& [key, value] : entry.xattrs) {
    add_record(records, "SCHILY.xattr." + key, value);
  }
  if (entry.removed) add_record(records, "GLOVEBOX.removed", "1");
  if (entry.opaque) add_record(records, "GLOVEBOX.opaque", "1");
  return records;
}

}  // namespace

std::string tar_header(const wire::TarEntry& entry) {
  std::string name = entry.name;
  if (entry.type == wire::TarType::kDirectory) name += '/';
  const std::string records = records_of(entry, name);
  std::string bytes;
  if (!records.empty()) {
    wire::TarEntry pax;
    pax.mode = 0644;
    pax.size = records.size();
    bytes = classic(pax, "././@PaxHeader", 'x') + records + tar_padding(records.size());
  }
  return bytes + classic(entry, name, letter_of(entry.type));
}

std::string tar_padding(std::uint64_t size) {
  const auto over = static_cast<std::size_t>(size % wire::kTarBlock);
  return std::string(over == 0 ? 0 : wire::kTarBlock - over, '\0');
}

std::string tar_end() { return std::string(2 * wire::kTarBlock, '\0'); }

}  // namespace glovebox::agent
