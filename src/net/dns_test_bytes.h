// DNS messages, byte by byte. For tests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/address.h"
#include "net/host_name.h"

namespace glovebox::net::dns_test {

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
// In memory of its own that ends with the last byte, which that of a string does not.
inline std::vector<std::byte> exactly(std::string_view text) {
  const auto bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}
inline std::string as_text(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline std::string n16(unsigned value) {
  return {static_cast<char>(value >> 8 & 0xff), static_cast<char>(value & 0xff)};
}
inline std::string n32(std::uint32_t value) { return n16(value >> 16) + n16(value & 0xffff); }

// On the wire; "" is the root.
inline std::string wire(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    const std::string_view label = name.substr(0, name.find('.'));
    out += static_cast<char>(label.size());
    out += label;
    name.remove_prefix(std::min(label.size() + 1, name.size()));
  }
  return out + '\0';
}
inline HostName host(std::string_view name) { return HostName::parse(name).value(); }
inline IpAddress ip(std::string_view text) { return IpAddress::parse(text).value(); }

struct Counts {
  unsigned questions = 1, answers = 0, authorities = 0, additional = 0;
};
inline std::string header(unsigned id, unsigned flags, Counts counts) {
  return n16(id) + n16(flags) + n16(counts.questions) + n16(counts.answers) +
         n16(counts.authorities) + n16(counts.additional);
}
inline std::string question(std::string_view name, unsigned type = 1, unsigned dns_class = 1) {
  return wire(name) + n16(type) + n16(dns_class);
}
inline std::string opt(unsigned payload = 1232, const std::string& options = "",
                       std::uint32_t bits = 0) {
  return std::string(1, '\0') + n16(41) + n16(payload) + n32(bits) +
         n16(static_cast<unsigned>(options.size())) + options;
}
inline std::string query(std::string_view name, unsigned type = 1) {
  return header(0x1234, 0x0100, {}) + question(name, type);
}

}  // namespace glovebox::net::dns_test
