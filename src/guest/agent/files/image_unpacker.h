// Unpacks the layers of an image, one after the other, into one tree: what a layer removes with a
// whiteout is gone from the tree, and what it adds replaces what was there. Everything is hostile;
// every path is resolved with the tree as its root, so that no name, link or whiteout leads out of
// it. Owners, modes (also setuid), times, file capabilities and hard links are kept; device nodes
// are left out and counted.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "wire/tar/tar_reader.h"

namespace glovebox::agent {

struct ImageCounts {
  std::uint64_t entries = 0;       // also directories that are only in the paths of others
  std::uint64_t bytes = 0;         // in whole blocks, as a disk keeps them, directories too
  std::uint64_t devices = 0;       // left out
  std::uint64_t capabilities = 0;  // of files, that could not be kept
};

// Applies one layer.
class ImageUnpacker {
 public:
  // Of a layer: more is refused.
  static constexpr std::uint64_t kMaxEntries = 1'000'000;
  static constexpr std::size_t kMaxPath = 4000;
  static constexpr std::uint32_t kMaxId = 65'535;  // users of a sandbox

  // `top` is the tree's root, a directory to list. A layer that takes more than `most` bytes on the
  // disk is refused.
  ImageUnpacker(UniqueFd top, std::uint64_t most) : top_(std::move(top)), most_(most) {}

  // One entry, its content from `reader`.
  Result<> take(const wire::TarEntry& entry, wire::TarReader& reader);
  // After the last entry: attributes of directories, and the directories that a sandbox mounts
  // upon.
  Result<> finish();

  const ImageCounts& unpacked() const { return unpacked_; }

 private:
  enum class Missing : bool { kFail, kMake };
  struct Directory {
    std::string path;
    wire::TarEntry entry;
  };
  struct Split {
    std::string parent;
    std::string name;
  };

  static Split split(const std::string& path);
  Result<> remember(const std::string& path);
  Result<> count_entry();
  // What takes this much of the disk, in whole blocks.
  Result<> count_bytes(std::uint64_t bytes);
  Result<> count_directory() { return count_bytes(1); }
  Result<UniqueFd> open_directory(const std::string& path, Missing missing);
  // Of the directory that is used most: the one of the entry before.
  Result<int> parent_of(const Split& at, Missing missing);
  void forget_parent() { parent_fd_.reset(); }
  Result<> remove(int dir, const std::string& name);
  Result<> whiteout(const Split& at);
  Result<> remove_lower(int dir, const std::string& path);
  Result<> empty_lower(UniqueFd dir, const std::string& path);
  Result<> place(const Split& at, const std::string& path, const wire::TarEntry& entry,
                 wire::TarReader& reader);
  Result<> make_directory(int dir, const Split& at, const std::string& path,
                          const wire::TarEntry& entry);
  Result<> write_file(int dir, const Split& at, const wire::TarEntry& entry,
                      wire::TarReader& reader);
  Result<> link_file(int dir, const Split& at, const std::string& path,
                     const wire::TarEntry& entry);
  Result<> make_special(int dir, const Split& at, const wire::TarEntry& entry);
  Result<> apply_attributes(int fd, const wire::TarEntry& entry);
  Result<> make_mount_points();

  UniqueFd top_;
  std::uint64_t most_;
  ImageCounts unpacked_;
  std::string parent_path_;
  UniqueFd parent_fd_;
  // What this layer has put into the tree, and the directories above it: no whiteout of the same
  // layer removes it.
  std::unordered_set<std::string> own_;
  std::vector<Directory> directories_;
};

}  // namespace glovebox::agent
