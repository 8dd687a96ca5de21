#include "wire/guest/file_records.h"

#include <span>

#include "wire/byte_codec.h"

namespace glovebox::wire {
namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kMaxOwnerName = 256;
constexpr std::size_t kMaxTarget = 4096;

// Every record that is within the bounds of its fields is within the bound of a record.
static_assert(2 * kMaxRecordPath + 64 < kMaxFileRecord);
static_assert(kMaxRecordPath + 2 * kMaxTarget + 2 * kMaxOwnerName + kMaxMetadataBytes +
                  8 * kMaxMetadataPairs + 128 <
              kMaxFileRecord);

tl::unexpected<Error> malformed_record() { return fail(Errc::kProtocol, "malformed file record"); }

std::string record_with_length(ByteWriter writer) {
  const std::vector<std::byte> bytes = writer.take();
  ByteWriter length;
  length.number(static_cast<std::uint32_t>(bytes.size()));
  const std::vector<std::byte> front = length.take();
  std::string record(reinterpret_cast<const char*>(front.data()), front.size());
  record.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return record;
}

bool has_no_nul(const std::string& text) { return text.find('\0') == std::string::npos; }

std::span<const std::byte> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

std::uint32_t length_at(std::string_view bytes) {
  ByteReader from(bytes_of(bytes.substr(0, kLengthBytes)));
  return from.number<std::uint32_t>();
}

bool is_type(std::uint8_t type) {
  return type >= static_cast<std::uint8_t>(FileType::kFile) &&
         type <= static_cast<std::uint8_t>(FileType::kBlockDevice);
}

void write_end(ByteWriter& writer, const std::optional<LinkEnd>& end) {
  writer.number(static_cast<std::uint8_t>(end.has_value()));
  if (!end) return;
  writer.text(std::string_view(end->path).substr(0, kMaxTarget));
  writer.number(static_cast<std::uint8_t>(end->type));
  writer.number(end->mode & 07777u);
}

// False: this cannot be.
bool read_end(ByteReader& from, std::optional<LinkEnd>& end) {
  const auto there = from.number<std::uint8_t>();
  if (there == 0) return true;
  end.emplace();
  end->path = from.text(kMaxTarget);
  const auto type = from.number<std::uint8_t>();
  end->type = static_cast<FileType>(type);
  end->mode = from.number<std::uint32_t>();
  return there == 1 && is_type(type) && (end->mode & ~07777u) == 0 && has_no_nul(end->path);
}

void write_metadata(ByteWriter& writer, const Metadata& metadata) {
  writer.number(static_cast<std::uint32_t>(metadata.size()));
  for (const auto& [key, value] : metadata) {
    writer.text(key);
    writer.text(value);
  }
}

bool read_metadata(ByteReader& from, Metadata& metadata) {
  const auto count = from.number<std::uint32_t>();
  if (count > kMaxMetadataPairs) return false;
  for (std::uint32_t i = 0; i < count && from.good(); ++i) {
    std::string key = from.text(kMaxMetadataKey);
    std::string value = from.text(kMaxMetadataBytes);
    metadata.emplace_back(std::move(key), std::move(value));
  }
  return is_valid_metadata(metadata);
}

}  // namespace

std::string encode_record(const FileEntry& entry) {
  ByteWriter writer;
  writer.text(std::string_view(entry.path).substr(0, kMaxRecordPath));
  writer.number(static_cast<std::uint8_t>(entry.type));
  writer.number(entry.mode & 07777u);
  writer.number(entry.uid);
  writer.number(entry.gid);
  writer.text(std::string_view(entry.user).substr(0, kMaxOwnerName));
  writer.text(std::string_view(entry.group).substr(0, kMaxOwnerName));
  writer.number(entry.size);
  writer.number(entry.blocks);
  writer.number(static_cast<std::uint64_t>(entry.modified_ns));
  writer.text(std::string_view(entry.target).substr(0, kMaxTarget));
  write_end(writer, entry.end);
  write_metadata(writer, entry.metadata);
  return record_with_length(std::move(writer));
}

std::string encode_record(const WatchEvent& event) {
  ByteWriter writer;
  writer.number(static_cast<std::uint8_t>(event.kind));
  writer.number(static_cast<std::uint8_t>(event.directory));
  writer.text(std::string_view(event.path).substr(0, kMaxRecordPath));
  writer.text(std::string_view(event.to).substr(0, kMaxRecordPath));
  return record_with_length(std::move(writer));
}

Result<FileEntry> decode_file_entry(std::string_view record) {
  if (record.size() > kMaxFileRecord) return malformed_record();
  ByteReader from(bytes_of(record));
  FileEntry entry;
  entry.path = from.text(kMaxRecordPath);
  const auto type = from.number<std::uint8_t>();
  entry.type = static_cast<FileType>(type);
  entry.mode = from.number<std::uint32_t>();
  entry.uid = from.number<std::uint32_t>();
  entry.gid = from.number<std::uint32_t>();
  entry.user = from.text(kMaxOwnerName);
  entry.group = from.text(kMaxOwnerName);
  entry.size = from.number<std::uint64_t>();
  entry.blocks = from.number<std::uint64_t>();
  entry.modified_ns = static_cast<std::int64_t>(from.number<std::uint64_t>());
  entry.target = from.text(kMaxTarget);
  const bool details = read_end(from, entry.end) && read_metadata(from, entry.metadata);
  if (!from.finished() || !is_type(type) || !details || (entry.mode & ~07777u) != 0 ||
      !has_no_nul(entry.path) || !has_no_nul(entry.user) || !has_no_nul(entry.group) ||
      !has_no_nul(entry.target) ||
      (entry.type != FileType::kSymlink && (entry.end || !entry.target.empty()))) {
    return malformed_record();
  }
  return entry;
}

Result<WatchEvent> decode_watch_event(std::string_view record) {
  if (record.size() > kMaxFileRecord) return malformed_record();
  ByteReader from(bytes_of(record));
  WatchEvent event;
  const auto kind = from.number<std::uint8_t>();
  const auto directory = from.number<std::uint8_t>();
  event.kind = static_cast<WatchKind>(kind);
  event.directory = directory == 1;
  event.path = from.text(kMaxRecordPath);
  event.to = from.text(kMaxRecordPath);
  const bool known = kind >= static_cast<std::uint8_t>(WatchKind::kCreated) &&
                     kind <= static_cast<std::uint8_t>(WatchKind::kReady);
  if (!from.finished() || !known || directory > 1 || !has_no_nul(event.path) ||
      !has_no_nul(event.to) || (event.kind != WatchKind::kRenamed && !event.to.empty())) {
    return malformed_record();
  }
  return event;
}

Result<std::optional<std::string>> RecordReader::next() {
  const std::string_view left = std::string_view(buffer_).substr(at_);
  if (left.size() >= kLengthBytes) {
    const std::uint32_t length = length_at(left);
    if (length == 0 || length > kMaxFileRecord) return malformed_record();
    if (left.size() - kLengthBytes >= length) {
      std::string record(left.substr(kLengthBytes, length));
      at_ += kLengthBytes + length;
      return std::optional<std::string>(std::move(record));
    }
  }
  // What is left is less than a record: only that is kept.
  buffer_.erase(0, at_);
  at_ = 0;
  return std::optional<std::string>();
}

}  // namespace glovebox::wire
