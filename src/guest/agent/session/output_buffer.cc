#include "guest/agent/session/output_buffer.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"

namespace glovebox::agent {
namespace {

constexpr std::size_t kFirstSize = 4096;

// Calls part(position in the ring, bytes before it, size) for each contiguous piece.
template <class Part>
void for_each_part(std::size_t ring, std::uint64_t offset, std::size_t count, Part part) {
  std::size_t done = 0;
  while (done < count) {
    const std::size_t at = static_cast<std::size_t>((offset + done) % ring);
    const std::size_t size = std::min(count - done, ring - at);
    part(at, done, size);
    done += size;
  }
}

}  // namespace

std::size_t OutputBuffer::room(std::uint64_t needed_from) const {
  const std::uint64_t oldest = std::clamp(needed_from, begin_, end_);
  return most_ - static_cast<std::size_t>(end_ - oldest);
}

void OutputBuffer::add(std::string_view bytes) {
  GBX_ASSERT(bytes.size() <= most_);
  if (bytes.empty()) return;
  const std::size_t wanted = static_cast<std::size_t>(end_ - begin_) + bytes.size();
  if (wanted > ring_.size()) grow(std::min(wanted, most_));
  for_each_part(ring_.size(), end_, bytes.size(),
                [&](std::size_t at, std::size_t before, std::size_t size) {
                  std::memcpy(ring_.data() + at, bytes.data() + before, size);
                });
  end_ += bytes.size();
  if (end_ - begin_ > ring_.size()) begin_ = end_ - ring_.size();
}

std::string OutputBuffer::copy(std::uint64_t from, std::size_t most) const {
  GBX_ASSERT(from >= begin_);
  std::string bytes;
  if (from >= end_) return bytes;
  bytes.resize(static_cast<std::size_t>(std::min<std::uint64_t>(most, end_ - from)));
  for_each_part(ring_.size(), from, bytes.size(),
                [&](std::size_t at, std::size_t before, std::size_t size) {
                  std::memcpy(bytes.data() + before, ring_.data() + at, size);
                });
  return bytes;
}

void OutputBuffer::drop_all() {
  begin_ = end_;
  std::vector<char>().swap(ring_);
}

void OutputBuffer::grow(std::size_t needed) {
  std::size_t size = std::max(kFirstSize, ring_.size());
  while (size < needed) size *= 2;
  size = std::min(size, most_);
  if (size == ring_.size()) return;
  const std::string kept = copy(begin_, static_cast<std::size_t>(end_ - begin_));
  std::vector<char> larger(size);
  for_each_part(size, begin_, kept.size(),
                [&](std::size_t at, std::size_t before, std::size_t count) {
                  std::memcpy(larger.data() + at, kept.data() + before, count);
                });
  ring_.swap(larger);
}

}  // namespace glovebox::agent
