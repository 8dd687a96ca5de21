// Where a path of a request leads. Followed as a program of the guest's would follow it, save that
// no magic link of /proc is ever followed: in there "self" is our own process. What is opened is
// worked on by its descriptor; nothing is looked up twice.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::agent {

// Who shall own what is made; kKeep: whoever makes it.
struct Owner {
  static constexpr std::uint32_t kKeep = UINT32_MAX;
  std::uint32_t uid = kKeep;
  std::uint32_t gid = kKeep;
  bool given() const { return uid != kKeep || gid != kKeep; }
};

// A name in a directory. The name is never ".", ".." or empty.
struct Place {
  UniqueFd dir;
  std::string name;
};

inline constexpr unsigned kDirMode = 0755;

// openat2 without magic links, and never waiting: for a FIFO, a terminal, a device.
Result<UniqueFd> open_path(int dir, const std::string& path, int flags, unsigned mode = 0,
                           std::uint64_t resolve = 0);
// The same, for a directory to list.
Result<UniqueFd> open_listing(int dir, const std::string& path, std::uint64_t resolve = 0);
// A directory of the one at `dir`, never through a link; `name` is one component.
Result<UniqueFd> open_child(int dir, const std::string& name);
// A regular file to read from: not a FIFO, not a device, not of /proc.
Result<UniqueFd> open_content(int dir, const std::string& path, bool follow, struct stat& info);

// True of what the kernel makes up as it is read. A failure to tell counts as yes.
bool in_proc(int fd);

// The place a path names, itself and not what it links to. Error when it names no entry of a
// directory, like "/" or "a/..".
Result<Place> find_place(const std::string& path);
// Makes the directories that lead to it. They get the owner too.
Result<Place> make_way_to(const std::string& path, const Owner& owner);
// Goes on through links, to the place a program would write to.
Result<Place> follow_links(Place place);

// A name that nobody can have guessed; watches do not tell of such.
std::string temporary_name();
bool is_temporary_name(std::string_view name);

// Changes a mode. Where setuid files do not count, none is made either: such a place is a directory
// of the host's, and out there it would count.
Result<> set_mode(int fd, unsigned mode);

// Fails with `err`, saying to what it happened where the request does not say it.
tl::unexpected<Error> fail_with(int err, const std::string& where = {});

}  // namespace glovebox::agent
