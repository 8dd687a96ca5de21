#include "wire/guest/file_records.h"

#include <gtest/gtest.h>

namespace glovebox::wire {
namespace {

std::string odd_name() {
  std::string name;
  for (int c = 1; c < 256; ++c) {
    if (c != '/') name.push_back(static_cast<char>(c));
  }
  return name;
}

FileEntry some_entry() {
  FileEntry entry;
  entry.path = odd_name();
  entry.type = FileType::kSymlink;
  entry.mode = 04755;
  entry.uid = 1000;
  entry.gid = 4294967294u;
  entry.user = "user";
  entry.group = "wheel";
  entry.size = UINT64_MAX;
  entry.blocks = 8;
  entry.modified_ns = -1;
  entry.target = "../elsewhere";
  entry.end = LinkEnd{"/else where", FileType::kDirectory, 0755};
  entry.metadata = {{"author", "somebody else"}, {"empty", ""}};
  return entry;
}

TEST(FileRecords, AnEntryComesBackAsItWas) {
  const FileEntry entry = some_entry();
  RecordReader reader;
  reader.add(encode_record(entry));
  const auto record = reader.next();
  ASSERT_TRUE(record.has_value() && record->has_value());
  EXPECT_EQ(decode_file_entry(**record).value(), entry);
  EXPECT_TRUE(reader.empty());
}

TEST(FileRecords, TheLongestEntryFits) {
  FileEntry entry = some_entry();
  entry.path.assign(kMaxRecordPath, 'p');
  entry.target.assign(4096, 't');
  entry.user.assign(256, 'u');
  entry.group.assign(256, 'g');
  entry.end->path.assign(4096, 'e');
  entry.metadata.clear();
  for (std::size_t i = 0; i < kMaxMetadataPairs; ++i) entry.metadata.emplace_back("k", "");
  entry.metadata.back().second.assign(kMaxMetadataBytes - kMaxMetadataPairs, 'v');
  const std::string record = encode_record(entry);
  EXPECT_LE(record.size(), 4 + kMaxFileRecord);
  EXPECT_EQ(decode_file_entry(record.substr(4)).value(), entry);
}

TEST(FileRecords, AnEventComesBackAsItWas) {
  const WatchEvent event{WatchKind::kRenamed, true, odd_name(), "b/c"};
  EXPECT_EQ(decode_watch_event(encode_record(event).substr(4)).value(), event);
}

TEST(FileRecords, EveryTypeAndEveryEventIsOne) {
  for (unsigned type = 0; type <= 8; ++type) {
    FileEntry entry = some_entry();
    entry.target.clear();
    entry.end.reset();
    entry.type = static_cast<FileType>(type);
    const bool is_type = type >= 1 && type <= static_cast<unsigned>(FileType::kBlockDevice);
    if (entry.type == FileType::kSymlink) continue;  // the others above
    EXPECT_EQ(decode_file_entry(encode_record(entry).substr(4)).has_value(), is_type) << type;
  }
  const auto last = static_cast<unsigned>(WatchKind::kReady);
  for (unsigned kind = 0; kind <= last + 1; ++kind) {
    const WatchEvent event{static_cast<WatchKind>(kind), false, "a", ""};
    const auto back = decode_watch_event(encode_record(event).substr(4));
    EXPECT_EQ(back.has_value(), kind >= 1 && kind <= last) << kind;
  }
  EXPECT_FALSE(WatchEvent{}.directory);
}

TEST(FileRecords, AStreamIsCutIntoRecordsByteByByte) {
  const std::string stream = encode_record(some_entry()) + encode_record(some_entry());
  RecordReader reader;
  int found = 0;
  for (const char byte : stream) {
    reader.add(std::string_view(&byte, 1));
    const auto record = reader.next();
    ASSERT_TRUE(record.has_value());
    if (record->has_value()) ++found;
  }
  EXPECT_EQ(found, 2);
  EXPECT_TRUE(reader.empty());
}

TEST(FileRecords, ALengthBeyondTheBoundIsAnError) {
  RecordReader reader;
  reader.add(std::string("\xff\xff\xff\x7f", 4));
  EXPECT_FALSE(reader.next().has_value());
  // The length alone, which says that the rest is still to come, and that of one byte more.
  const auto length = [](std::size_t size) {
    std::string bytes(4, '\0');
    for (int i = 0; i < 4; ++i) bytes[i] = static_cast<char>(size >> (8 * i) & 0xff);
    return bytes;
  };
  RecordReader longest;
  longest.add(length(kMaxFileRecord));
  EXPECT_TRUE(longest.next().has_value());
  RecordReader longer;
  longer.add(length(kMaxFileRecord + 1));
  EXPECT_FALSE(longer.next().has_value());
  RecordReader nothing;
  nothing.add(std::string(4, '\0'));
  EXPECT_FALSE(nothing.next().has_value());
}

TEST(FileRecords, WhatIsCutOrTooLongOrUnknownIsRefused) {
  const std::string record = encode_record(some_entry()).substr(4);
  for (std::size_t size = 0; size < record.size(); ++size) {
    EXPECT_FALSE(decode_file_entry(std::string_view(record).substr(0, size)).has_value());
  }
  EXPECT_FALSE(decode_file_entry(record + "x").has_value());
  FileEntry unknown = some_entry();
  unknown.type = static_cast<FileType>(99);
  EXPECT_FALSE(decode_file_entry(encode_record(unknown).substr(4)).has_value());
  FileEntry cut = some_entry();
  cut.path = std::string("a\0b", 3);
  EXPECT_FALSE(decode_file_entry(encode_record(cut).substr(4)).has_value());
  FileEntry file = some_entry();
  file.type = FileType::kFile;  // has no target
  EXPECT_FALSE(decode_file_entry(encode_record(file).substr(4)).has_value());
  file.target.clear();  // and leads nowhere else
  EXPECT_FALSE(decode_file_entry(encode_record(file).substr(4)).has_value());
  file.end.reset();
  EXPECT_TRUE(decode_file_entry(encode_record(file).substr(4)).has_value());
  const WatchEvent odd{WatchKind::kCreated, false, "a", "b"};  // only a rename has two names
  EXPECT_FALSE(decode_watch_event(encode_record(odd).substr(4)).has_value());
}

TEST(FileRecords, MetadataIsBounded) {
  EXPECT_TRUE(is_valid_metadata({}));
  EXPECT_TRUE(is_valid_metadata({{std::string(kMaxMetadataKey, 'k'), " ~"}}));
  EXPECT_FALSE(is_valid_metadata({{std::string(kMaxMetadataKey + 1, 'k'), ""}}));
  EXPECT_FALSE(is_valid_metadata({{"", "v"}}));
  EXPECT_FALSE(is_valid_metadata({{"k", "\n"}}));
  EXPECT_FALSE(is_valid_metadata({{"k", "\xc3\xa4"}}));
  EXPECT_FALSE(is_valid_metadata({{"k\x7f", ""}}));
  EXPECT_TRUE(is_valid_metadata({{"k", std::string(kMaxMetadataBytes - 1, 'v')}}));
  EXPECT_FALSE(is_valid_metadata(
      {{"k", std::string(kMaxMetadataBytes - 96, 'v')}, {"l", std::string(95, 'v')}}));
  EXPECT_TRUE(is_valid_metadata(Metadata(kMaxMetadataPairs, {"k", ""})));
  EXPECT_FALSE(is_valid_metadata(Metadata(kMaxMetadataPairs + 1, {"k", ""})));
  EXPECT_TRUE(is_valid_metadata("k", std::string(kMaxMetadataBytes, 'v')));
  EXPECT_FALSE(is_valid_metadata("k", std::string(kMaxMetadataBytes + 1, 'v')));
  FileEntry entry = some_entry();
  for (const Metadata& bad : {Metadata{{"k", "\n"}}, Metadata(200, {"k", ""})}) {
    entry.metadata = bad;
    EXPECT_FALSE(decode_file_entry(encode_record(entry).substr(4)).has_value());
  }
}

}  // namespace
}  // namespace glovebox::wire
