// Unpacks an untrusted archive into a directory, and nowhere else: each path is opened from that
// directory on, through no symlink and never through "..".
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "wire/tar/tar_reader.h"

namespace glovebox::agent {

struct UnpackRules {
  // A snapshot has the owners, setuid modes and attributes of its archive, replaces directories by
  // what the archive has in their place, and is not unpacked into other mounts.
  bool snapshot = false;
  // A layer has files, directories and links only, which all can read and its owner alone can
  // write: it is shared by sandboxes.
  bool layer = false;
};

struct UnpackCounts {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;  // of content
};

class Unpacker {
 public:
  // `top` is a directory to list; `usr`, of a snapshot, what is mounted at "usr" in it.
  Unpacker(UniqueFd top, UniqueFd usr, UnpackRules rules)
      : top_(std::move(top)), usr_(std::move(usr)), rules_(rules) {}

  // One entry, its content from `reader`.
  Result<> take(const wire::TarEntry& entry, wire::TarReader& reader);
  // Modes and times of directories: only now nothing is put into them any more.
  Result<> finish();

  const UnpackCounts& unpacked() const { return unpacked_; }

 private:
  enum class Missing : bool { kFail, kMake };
  // A name in a directory that is open.
  struct Location {
    int dir = -1;
    std::string name;
  };
  struct Directory {
    std::string path;
    wire::TarEntry entry;
  };

  Result<Location> find(const std::string& path, Missing missing);
  Result<UniqueFd> open_parent(std::string_view parent, Missing missing);
  Result<UniqueFd> walk(int start, std::string_view path, Missing missing);
  Result<UniqueFd> create_path(int start, std::string_view path);
  Result<> unpack(const std::string& path, const wire::TarEntry& entry, wire::TarReader& reader);
  Result<> make_directory(const Location& location, const std::string& path,
                          const wire::TarEntry& entry);
  Result<> write_file(const Location& location, const wire::TarEntry& entry,
                      wire::TarReader& reader);
  Result<> link_file(const Location& location, const std::string& path,
                     const wire::TarEntry& entry);
  Result<> remove_existing(const Location& location);
  Result<> apply_attributes(int fd, const wire::TarEntry& entry);
  void apply_attributes_by_name(const Location& location, const wire::TarEntry& entry);
  std::uint64_t resolve() const;

  UniqueFd top_;
  UniqueFd usr_;
  UnpackRules rules_;
  UnpackCounts unpacked_;
  std::string parent_path_;  // the parent that is open, below
  UniqueFd parent_fd_;
  std::vector<Directory> directories_;
};

// "./a//b/" as "a/b"; what is absolute is below the top too. Empty: the top itself. An error: "..".
Result<std::string> clean_name(std::string_view name);

}  // namespace glovebox::agent
