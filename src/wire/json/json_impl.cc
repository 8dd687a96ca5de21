// Boost.JSON's implementation, compiled once, so that no library of it need be linked. The text of
// numbers is ours: Boost writes every double in scientific notation (300 as 3E2), which is hard to
// read, and which some clients cannot read as a number at all. This is the one place that writes
// numbers of JSON, in all programs. A Boost that moves these functions does not compile with this.
#define BOOST_JSON_DETAIL_IMPL_FORMAT_IPP
#include <boost/json/src.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace boost::json::detail {
namespace {

// What the serializer has room for.
template <class Number, class... Format>
char* write_digits(char* dest, Number value, Format... format) noexcept {
  return std::to_chars(dest, dest + max_number_chars, value, format...).ptr;
}

}  // namespace

unsigned format_uint64(char* dest, std::uint64_t value) noexcept {
  return static_cast<unsigned>(write_digits(dest, value) - dest);
}

unsigned format_int64(char* dest, std::int64_t value) noexcept {
  return static_cast<unsigned>(write_digits(dest, value) - dest);
}

// The shortest digits that are this number again. Plain between 1e-6 and 1e21, as JavaScript does
// it; with a point, so that clients that tell integers from fractions read a fraction.
unsigned format_double(char* dest, double value) noexcept {
  const double size = std::abs(value);
  if (!std::isfinite(value)) {  // JSON has no such number
    std::memcpy(dest, "null", 4);
    return 4;
  }
  if (size != 0 && (size < 1e-6 || size >= 1e21)) {
    return static_cast<unsigned>(write_digits(dest, value, std::chars_format::scientific) - dest);
  }
  char* end = write_digits(dest, value, std::chars_format::fixed);
  if (std::memchr(dest, '.', static_cast<std::size_t>(end - dest)) == nullptr) {
    *end++ = '.';
    *end++ = '0';
  }
  return static_cast<unsigned>(end - dest);
}

}  // namespace boost::json::detail
