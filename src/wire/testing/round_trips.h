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

}  // namespace glovebox::wire
