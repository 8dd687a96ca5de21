// Writes a tar archive to the data pipe. Content is read from regular files only; a file that is
// truncated meanwhile is padded with zeros, and one that was removed is left out.
#pragma once

#include <sys/stat.h>

#include <map>
#include <string>
#include <utility>

#include "base/result.h"
#include "guest/agent/files/helper_link.h"
#include "wire/tar/tar_entry.h"

namespace glovebox::agent {

enum class Attributes : bool { kLeaveOut, kKeep };

class ArchiveWriter {
 public:
  ArchiveWriter(PipeWriter& out, Attributes attributes) : out_(out), attributes_(attributes) {}

  // `dir` is a descriptor of the directory itself.
  Result<> add_directory(int dir, const std::string& path, bool opaque);
  // Anything else, as `path`. Sockets and devices are left out.
  Result<> add(int dir, const std::string& name, const std::string& path);
  // A record that the template's file of that name was removed.
  Result<> add_removed(const std::string& path);
  Result<> finish();

  std::uint64_t entries() const { return entries_; }

 private:
  Result<> add_regular(int dir, const std::string& name, wire::TarEntry entry);
  Result<> put(const wire::TarEntry& entry);

  PipeWriter& out_;
  Attributes attributes_;
  std::uint64_t entries_ = 0;
  // Of files with several hard links: the name that has the content.
  std::map<std::pair<dev_t, ino_t>, std::string> first_names_;
};

}  // namespace glovebox::agent
