// The newest output of one stream of a session's process, with offsets from the stream's beginning,
// for clients that read it later. Allocates memory as needed, up to a bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace glovebox::agent {

class OutputBuffer {
 public:
  explicit OutputBuffer(std::size_t most) : most_(most) {}

  std::uint64_t begin() const { return begin_; }  // the oldest byte that is kept
  std::uint64_t end() const { return end_; }      // all that was ever added
  // How much can be added without losing anything from `needed_from` on.
  std::size_t room(std::uint64_t needed_from) const;
  // Drops the oldest bytes if there is no room. `bytes` must not exceed the bound.
  void add(std::string_view bytes);
  // At most `most` bytes from `from` on, which is not before begin().
  std::string copy(std::uint64_t from, std::size_t most) const;
  void drop_all();
  std::size_t memory() const { return ring_.size(); }

 private:
  void grow(std::size_t needed);

  std::size_t most_;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
  std::vector<char> ring_;  // the byte of offset n is at n modulo its size
};

}  // namespace glovebox::agent
