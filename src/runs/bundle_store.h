// Bundles: bytes that a client sends once and that its runs then name by their SHA-256, so that the
// modules and files of a function do not travel with each of its calls. The server does not look
// inside; a run gets them as a file. Kept in memory: after a restart, or when room was needed, a
// client sends them again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox::runs {

// Where a run finds its bundle.
inline constexpr std::string_view kBundlePath = "/home/user/.glovebox-bundle";
inline constexpr std::size_t kMaxBundleBytes = 16u << 20;

// 64 lower-case hex digits.
bool is_bundle_digest(std::string_view text);

// Lives on the server's one thread.
class BundleStore {
 public:
  struct Bounds {
    std::size_t project_bytes = 64u << 20;
    std::size_t project_count = 256;
    std::size_t total_bytes = 256u << 20;
  };
  BundleStore() : BundleStore(Bounds()) {}
  explicit BundleStore(Bounds bounds) : bounds_(bounds) {}

  // Keeps the bytes for the project; others of its bundles give way, the least recently used first.
  // A bundle that a run still holds does not, because its memory would not be free: so the bounds
  // are those of all memory that bundles take. `digest` is that of the bytes: the caller has
  // computed it, off the server's thread. kInvalidArgument: they are too large. kResourceExhausted:
  // runs hold what would have to give way.
  Result<> put(const std::string& project, const std::string& digest, std::string bytes);
  // Null: the project has no such bundle. A run may keep what it got as long as it likes.
  std::shared_ptr<const std::string> find(const std::string& project, std::string_view digest);

  std::size_t held_bytes() const { return held_; }

 private:
  struct Entry {
    std::string project;
    std::string digest;
    std::shared_ptr<const std::string> bytes;
  };
  using Entries = std::list<Entry>;  // the most recently used first

  std::size_t bytes_of(const std::string& project) const;
  std::size_t count_of(const std::string& project) const;
  // Removes the bundle of the project that was not used for the longest time and that no run holds.
  // False: there is none.
  bool remove_oldest_of(const std::string& project);
  // The project with most bytes that no run holds.
  std::string largest_project() const;

  const Bounds bounds_;
  Entries entries_;
  std::size_t held_ = 0;
};

}  // namespace glovebox::runs
