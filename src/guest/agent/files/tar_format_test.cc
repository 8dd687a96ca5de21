// Headers of archives, byte by byte: what is taken at each bound, and refused beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "guest/agent/files/tar_writer.h"
#include "guest/agent/files/unpacker.h"
#include "wire/tar/tar_reader.h"

namespace glovebox::agent {
namespace {

using ::testing::HasSubstr;
using wire::kTarBlock;
using wire::TarEntry;
using wire::TarReader;
using wire::TarType;

TarReader reader_of(std::string bytes) {
  auto at = std::make_shared<std::size_t>(0);
  return TarReader([bytes = std::move(bytes), at](char* to, std::size_t size) {
    const std::size_t some = std::min(size, bytes.size() - *at);
    std::copy_n(bytes.data() + *at, some, to);
    *at += some;
    return Result<std::size_t>(some);
  });
}

TarEntry file_entry(const std::string& name) {
  TarEntry entry;
  entry.name = name;
  entry.mode = 0644;
  return entry;
}

// A header with other bytes at one place, and the sum that belongs to it.
std::string changed(std::string block, std::size_t at, std::string_view bytes) {
  block.replace(at, bytes.size(), bytes);
  block.replace(148, 8, "        ");
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  char digits[8];
  std::snprintf(digits, sizeof digits, "%06o", sum);
  return block.replace(148, 7, std::string_view(digits, 7));
}
std::string plain(char type = '0') { return changed(tar_header(file_entry("a")), 156, {&type, 1}); }

// GNU's form of a number in twelve bytes.
std::string binary(std::int64_t value) {
  std::string bytes(12, value < 0 ? '\xff' : '\0');
  if (value >= 0) bytes[0] = '\x80';
  for (int i = 0; i < 8; ++i) bytes[11 - i] = static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}
constexpr std::size_t kSizeAt = 124;
constexpr std::size_t kMtimeAt = 136;

// The message for what is refused, or "" for an entry.
std::string refusal(const std::string& archive) {
  TarReader reader = reader_of(archive);
  const auto entry = reader.next();
  if (!entry) return entry.error().message();
  return *entry ? "" : "the end";
}

TEST(Tar, NumbersAreTakenUpToTheirBounds) {
  constexpr std::int64_t kMost = INT64_MAX / 2;
  EXPECT_EQ(refusal(changed(plain(), kSizeAt, binary(0))), "");
  EXPECT_EQ(refusal(changed(plain(), kSizeAt, binary(kMost))), "");
  EXPECT_THAT(refusal(changed(plain(), kSizeAt, binary(kMost + 1))), HasSubstr("invalid size"));
  EXPECT_EQ(refusal(changed(plain(), kMtimeAt, binary(kMost))), "");
  EXPECT_THAT(refusal(changed(plain(), kMtimeAt, binary(kMost + 1))), HasSubstr("invalid time"));
  EXPECT_EQ(refusal(changed(plain(), kMtimeAt, binary(-kMost))), "");
  EXPECT_THAT(refusal(changed(plain(), kMtimeAt, binary(-kMost - 1))), HasSubstr("invalid time"));
  // The sign and the bytes in front of the number must agree.
  for (const char* front : {"\x80\x01", "\xff\x01"}) {
    EXPECT_THAT(refusal(changed(plain(), kSizeAt, std::string(front) + std::string(10, '\0'))),
                HasSubstr("invalid binary number"));
  }
  std::string wrong_sign = binary(INT64_MIN);
  wrong_sign[0] = '\x80';
  for (int i = 1; i < 4; ++i) wrong_sign[i] = '\0';
  EXPECT_THAT(refusal(changed(plain(), kMtimeAt, wrong_sign)), HasSubstr("invalid binary number"));
  EXPECT_EQ(refusal(changed(plain(), 100, "0000777")), "");
  for (const char* digits : {"0000778", "000077/", "00-0777"}) {
    EXPECT_THAT(refusal(changed(plain(), 100, digits)), HasSubstr("invalid octal number"));
  }
}

TEST(Tar, ANegativeSizeIsRefusedWhateverTheType) {
  // A link has no content: its size is not used, and not believed either.
  for (const char type : {'0', '1', '2', '5', 'x', 'g', 'L', 'K'}) {
    EXPECT_THAT(refusal(changed(plain(type), kSizeAt, binary(-1))), HasSubstr("invalid size"))
        << type;
  }
}

TEST(Tar, OwnersAreBelowTheLastNumber) {
  TarEntry entry = file_entry("a");
  entry.uid = entry.gid = UINT32_MAX - 1;
  TarReader reader = reader_of(tar_header(entry));
  EXPECT_EQ(**reader.next(), entry);
  entry.uid = UINT32_MAX;
  EXPECT_THAT(refusal(tar_header(entry)), HasSubstr("invalid owner"));
  entry.uid = 0;
  entry.gid = UINT32_MAX;
  EXPECT_THAT(refusal(tar_header(entry)), HasSubstr("invalid owner"));
}

TEST(Tar, TimesComeBackAsTheyWere) {
  constexpr std::int64_t kLatest = INT64_MAX / 2;
  for (const std::int64_t seconds :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, std::int64_t{-5}, kLatest, -kLatest}) {
    for (const std::uint32_t nanoseconds : {0u, 1u, 999'999'999u}) {
      if (seconds == -kLatest && nanoseconds != 0) continue;
      TarEntry entry = file_entry("a");
      entry.mtime_s = seconds;
      entry.mtime_ns = nanoseconds;
      TarReader reader = reader_of(tar_header(entry));
      const auto back = reader.next();
      ASSERT_TRUE(back) << back.error().message();
      EXPECT_EQ(**back, entry) << seconds << "." << nanoseconds;
    }
  }
  TarEntry late = file_entry("a");
  late.mtime_s = kLatest + 1;
  EXPECT_THAT(refusal(tar_header(late)), HasSubstr("invalid time"));
}

TEST(Tar, NamesHaveAtMost64KilobytesAndHeadersAMegabyte) {
  const auto named = [](char letter, std::size_t size) {
    const std::string name(size, 'n');
    TarEntry header = file_entry("long");
    header.size = size;
    return changed(tar_header(header), 156, {&letter, 1}) + name + tar_padding(size);
  };
  EXPECT_EQ(refusal(named('L', TarReader::kMaxName) + plain()), "");
  EXPECT_THAT(refusal(named('L', TarReader::kMaxName + 1) + plain()), HasSubstr("name too long"));
  EXPECT_EQ(refusal(named('K', TarReader::kMaxName) + plain('2')), "");
  EXPECT_THAT(refusal(named('K', TarReader::kMaxName + 1) + plain('2')),
              HasSubstr("name too long"));
  EXPECT_EQ(refusal(named('g', TarReader::kMaxExtra) + plain()), "");
  EXPECT_THAT(refusal(named('g', TarReader::kMaxExtra + 1) + plain()),
              HasSubstr("header too long"));
}

TEST(Tar, AnEntryHasAtMostEightHeaders) {
  std::string headers;
  for (int i = 0; i < 8; ++i) headers += plain('x');
  EXPECT_EQ(refusal(headers + plain()), "");
  EXPECT_THAT(refusal(headers + plain('x') + plain()), HasSubstr("too many headers"));
}

TEST(Tar, ARecordSaysItsLength) {
  const auto with = [](const std::string& records) {
    TarEntry pax = file_entry("pax");
    pax.size = records.size();
    const char letter = 'x';
    return refusal(changed(tar_header(pax), 156, {&letter, 1}) + records +
                   tar_padding(records.size()) + plain());
  };
  for (const char* good : {"6 a=b\n", "5 a=\n", "0000000015 a=b\n", "6 a=b\n6 c=d\n"}) {
    EXPECT_EQ(with(good), "") << good;
  }
  for (const char* bad : {"4 =\n", "5 =b\n", "4 a\n", "7 a=b\n", "5 a=b\n", "00000000016 a=b\n",
                          "a=b\n", " 6 a=b\n", "6 a=b ", "-6 a=b\n", "6 a=b\n6 c=d"}) {
    EXPECT_THAT(with(bad), HasSubstr("malformed tar archive: invalid pax")) << bad;
  }
}

TEST(Tar, ATrailingSlashIsNotPartOfAName) {
  const auto name_of = [](const std::string& name) {
    TarReader reader = reader_of(tar_header(file_entry(name)));
    const TarEntry entry = **reader.next();
    return std::pair(entry.name, entry.type);
  };
  EXPECT_EQ(name_of("a//"), std::pair(std::string("a"), TarType::kDirectory));
  EXPECT_EQ(name_of("/"), std::pair(std::string("/"), TarType::kDirectory));
  EXPECT_EQ(name_of("a"), std::pair(std::string("a"), TarType::kFile));
  EXPECT_THAT(refusal(tar_header(file_entry(""))), HasSubstr("without a name"));
}

TEST(Tar, WhatFitsTheClassicHeaderTakesNoOther) {
  constexpr std::uint64_t kSmall = 07777777;
  constexpr std::uint64_t kLarge = 077777777777;
  TarEntry most = file_entry(std::string(100, 'n'));
  most.type = TarType::kSymlink;
  most.link = std::string(100, 'l');
  most.uid = most.gid = kSmall;
  most.size = kLarge;
  most.mtime_s = kLarge;
  EXPECT_EQ(tar_header(most).size(), kTarBlock);
  TarEntry least = file_entry("a");
  EXPECT_EQ(tar_header(least).size(), kTarBlock);
  const auto is_larger = [&](const auto& change) {
    TarEntry entry = most;
    change(entry);
    return tar_header(entry).size() > kTarBlock;
  };
  EXPECT_TRUE(is_larger([](TarEntry& entry) { entry.name += 'n'; }));
  EXPECT_TRUE(is_larger([](TarEntry& entry) { entry.link += 'l'; }));
  EXPECT_TRUE(is_larger([](TarEntry& entry) { ++entry.uid; }));
  EXPECT_TRUE(is_larger([](TarEntry& entry) { ++entry.gid; }));
  EXPECT_TRUE(is_larger([](TarEntry& entry) { ++entry.size; }));
  EXPECT_TRUE(is_larger([](TarEntry& entry) { ++entry.mtime_s; }));
  EXPECT_TRUE(is_larger([](TarEntry& entry) { entry.mtime_s = -1; }));
  EXPECT_TRUE(is_larger([](TarEntry& entry) { entry.mtime_ns = 1; }));
}

TEST(Tar, AnEntryTakesNothingAwayUnlessItSaysSo) {
  EXPECT_FALSE(TarEntry{}.removed);
  EXPECT_FALSE(TarEntry{}.opaque);
  EXPECT_FALSE(UnpackRules{}.snapshot);
  EXPECT_FALSE(UnpackRules{}.layer);
}

}  // namespace
}  // namespace glovebox::agent
