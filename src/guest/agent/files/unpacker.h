// Puts the entries of an archive that anybody may have made into a directory, and nowhere else: the
// way to each is opened from that directory on, through no link and never upwards.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "guest/agent/files/tar_reader.h"

namespace glovebox::agent {

struct UnpackRules {
  // A snapshot has the owners, setuid modes and attributes of its archive, replaces directories by
  // what the archive has in their place, and is not unpacked into other mounts.
  bool snapshot = false;
  // A layer has files, directories and links only, which all can read and its owner alone can
  // write: it is shared by sandboxes.
  bool layer = false;
};

struct Unpacked {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;  // of content
};

class Unpacker {
 public:
  // `top` is a directory to list; `usr`, of a snapshot, what is mounted at "usr" in it.
  Unpacker(UniqueFd top, UniqueFd usr, UnpackRules rules)
      : top_(std::move(top)), usr_(std::move(usr)), rules_(rules) {}

  // One entry, its content from `reader`.
  Result<> take(const TarEntry& entry, TarReader& reader);
  // Modes and times of directories: only now nothing is put into them any more.
  Result<> finish();

  const Unpacked& unpacked() const { return unpacked_; }

 private:
  enum class Missing : bool { kFail, kMake };
  // A name in a directory that is open.
  struct Spot {
    int dir = -1;
    std::string name;
  };
  struct Directory {
    std::string path;
    TarEntry entry;
  };

  Result<Spot> find(const std::string& path, Missing missing);
  Result<UniqueFd> open_way(std::string_view parent, Missing missing);
  Result<UniqueFd> walk(int start, std::string_view path, Missing missing);
  Result<UniqueFd> make_way(int start, std::string_view path);
  Result<> place(const std::string& path, const TarEntry& entry, TarReader& reader);
  Result<> make_directory(const Spot& spot, const std::string& path, const TarEntry& entry);
  Result<> write_file(const Spot& spot, const TarEntry& entry, TarReader& reader);
  Result<> link_file(const Spot& spot, const std::string& path, const TarEntry& entry);
  Result<> make_room(const Spot& spot);
  Result<> dress(int fd, const TarEntry& entry);
  void dress_named(const Spot& spot, const TarEntry& entry);
  std::uint64_t resolve() const;

  UniqueFd top_;
  UniqueFd usr_;
  UnpackRules rules_;
  Unpacked unpacked_;
  std::string way_;  // the parent that is open, below
  UniqueFd way_fd_;
  std::vector<Directory> directories_;
};

// "./a//b/" as "a/b"; what is absolute is below the top too. Empty: the top itself. An error: "..".
Result<std::string> clean_name(std::string_view name);

}  // namespace glovebox::agent
