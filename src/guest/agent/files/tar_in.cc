// Unpacking a tar archive into a directory, as it comes. What was unpacked before something went
// wrong stays.
#include <fcntl.h>
#include <unistd.h>

#include "guest/agent/files/archive_source.h"
#include "guest/agent/files/operations.h"
#include "guest/agent/files/place.h"
#include "guest/agent/files/unpacker.h"

namespace glovebox::agent {
namespace {

Result<UniqueFd> open_or_make(const std::string& path) {
  auto there = open_listing(AT_FDCWD, path);
  if (there || there.error().sys_errno() != ENOENT) return there;
  TRY(const Place place, make_way_to(path, Owner{}));
  if (::mkdirat(place.dir.get(), place.name.c_str(), kDirMode) != 0 && errno != EEXIST) {
    return fail_with(errno);
  }
  return open_child(place.dir.get(), place.name);
}

}  // namespace

Result<> tar_in(HelperLink& link) {
  TRY(UniqueFd top, open_or_make(link.request().path));
  if (in_proc(top.get())) return fail_with(EACCES);
  TRY_OK(link.opened());
  Unpacker unpacker(std::move(top), UniqueFd(), UnpackRules{.snapshot = false});
  return unpack_archive(link, unpacker);
}

}  // namespace glovebox::agent
