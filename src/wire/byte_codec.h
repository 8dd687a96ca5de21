// Little-endian fields into and out of a bounded buffer. The reader never trusts a length: it
// checks it against what is left before it allocates, and once it has failed it stays failed.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace glovebox::wire {

class ByteWriter {
 public:
  template <std::unsigned_integral T>
  void number(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
    }
  }
  void text(std::string_view value) {
    number(static_cast<std::uint32_t>(value.size()));
    const auto* data = reinterpret_cast<const std::byte*>(value.data());
    bytes_.insert(bytes_.end(), data, data + value.size());
  }
  void texts(const std::vector<std::string>& values) {
    number(static_cast<std::uint32_t>(values.size()));
    for (const std::string& value : values) text(value);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }
  std::size_t size() const { return bytes_.size(); }

 private:
  std::vector<std::byte> bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : left_(bytes) {}

  template <std::unsigned_integral T>
  T number() {
    if (left_.size() < sizeof(T)) return fail<T>();
    T value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      value = static_cast<T>(value | static_cast<T>(static_cast<T>(left_[i]) << (8 * i)));
    }
    left_ = left_.subspan(sizeof(T));
    return value;
  }
  std::string text(std::size_t max_bytes) {
    const auto size = number<std::uint32_t>();
    if (size > max_bytes || size > left_.size()) return fail<std::string>();
    std::string value(reinterpret_cast<const char*>(left_.data()), size);
    left_ = left_.subspan(size);
    return value;
  }
  std::vector<std::string> texts(std::size_t max_count, std::size_t max_bytes_each) {
    const auto count = number<std::uint32_t>();
    // Each text takes at least its four bytes of length, so a count past that is a lie.
    if (count > max_count || count > left_.size() / 4) return fail<std::vector<std::string>>();
    std::vector<std::string> values;
    values.reserve(count);
    for (std::uint32_t i = 0; i < count && good_; ++i) values.push_back(text(max_bytes_each));
    return values;
  }
  std::span<const std::byte> rest() { return std::exchange(left_, {}); }

  bool good() const { return good_; }
  // True only if every byte was used: what follows a message is an error, not padding.
  bool finished() const { return good_ && left_.empty(); }
  void refuse() { good_ = false; }

 private:
  template <class T>
  T fail() {
    good_ = false;
    left_ = {};
    return T{};
  }

  std::span<const std::byte> left_;
  bool good_ = true;
};

}  // namespace glovebox::wire
