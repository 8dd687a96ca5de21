// For tests of messages: each is decoded to what was encoded, and nothing else is a message.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <vector>

namespace glovebox::wire {

template <class Messages, class Decode>
void expect_round_trips(const Messages& messages, Decode decode) {
  for (const auto& message : messages) {
    const std::vector<std::byte> bytes = encode(message);
    const auto back = decode(bytes);
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, message);
    // No prefix is a message, and neither is the message with a byte more.
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(decode(std::span(bytes).first(size)));
    }
    std::vector<std::byte> longer = bytes;
    longer.push_back(std::byte{0});
    EXPECT_FALSE(decode(longer));
    // Another version is another protocol.
    std::vector<std::byte> other = bytes;
    other[0] = std::byte{99};
    EXPECT_FALSE(decode(other));
  }
}

// How a message with another byte at `at` is read: refused, as it says, or as something else.
enum class ReadAs { kRefused, kSaid, kOther };
template <class Decode>
ReadAs read_with(std::vector<std::byte> bytes, std::size_t at, unsigned value, Decode decode) {
  bytes[at] = static_cast<std::byte>(value);
  const auto back = decode(bytes);
  if (!back) return ReadAs::kRefused;
  const std::vector<std::byte> again = encode(*back);
  // What normalises a text changes its length.
  return again == bytes || again.size() != bytes.size() ? ReadAs::kSaid : ReadAs::kOther;
}

// A flag is 0 or 1 and a choice one of its names: if any other value were taken for one of them,
// the message would be written back differently. (Bytes that are never kept, such as the highest of
// a bounded number, do not keep a 1 either.)
template <class Messages, class Decode>
void expect_one_spelling(const Messages& messages, Decode decode) {
  for (const auto& message : messages) {
    const std::vector<std::byte> bytes = encode(message);
    for (std::size_t at = 2; at < bytes.size(); ++at) {  // behind the version and the kind
      if (read_with(bytes, at, 1, decode) != ReadAs::kSaid) continue;
      for (const unsigned value : {2u, 3u}) {
        EXPECT_NE(read_with(bytes, at, value, decode), ReadAs::kOther)
            << "kind " << message.index() << ", byte " << at << ", value " << value;
      }
    }
  }
}

}  // namespace glovebox::wire
