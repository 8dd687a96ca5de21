#include "guest/agent/files/tree_walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstring>

#include "guest/agent/files/resolved_path.h"

namespace glovebox::agent {
namespace {

constexpr std::size_t kMaxOpen = 64;  // directories of one stack
constexpr std::size_t kListingBytes = 64 * 1024;

bool is_dots(const char* name) {
  return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

}  // namespace

Result<> DirStack::push(UniqueFd dir) {
  struct stat info {};
  if (::fstat(dir.get(), &info) != 0) return fail_with(errno);
  levels_.push_back({std::move(dir), info.st_dev, info.st_ino, 0});
  if (levels_.size() > kMaxOpen) {
    Level& far = levels_[levels_.size() - kMaxOpen - 1];
    far.offset = ::lseek(far.fd.get(), 0, SEEK_CUR);
    far.fd.reset();
  }
  return {};
}

Result<> DirStack::pop() {
  const UniqueFd left = std::move(levels_.back().fd);
  levels_.pop_back();
  if (levels_.empty() || levels_.back().fd) return {};
  Level& above = levels_.back();
  TRY(above.fd, open_listing(left.get(), ".."));
  struct stat info {};
  if (::fstat(above.fd.get(), &info) != 0) return fail_with(errno);
  if (info.st_dev != above.device || info.st_ino != above.inode) {
    return fail(Error(Errc::kUnavailable, "a directory was moved while it was being read", ESTALE));
  }
  if (above.offset > 0) (void)::lseek(above.fd.get(), above.offset, SEEK_SET);
  return {};
}

Result<std::vector<DirName>> read_names(int dir, std::size_t most) {
  std::vector<DirName> names;
  alignas(dirent64) char buffer[kListingBytes];
  while (names.size() < most) {
    const long got = ::syscall(SYS_getdents64, dir, buffer, sizeof buffer);
    if (got < 0 && errno == ENOENT) break;  // it was removed meanwhile
    if (got < 0) return fail_with(errno);
    if (got == 0) break;
    for (long at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const dirent64*>(buffer + at);
      if (!is_dots(entry->d_name)) names.push_back({entry->d_name, entry->d_type});
      at += entry->d_reclen;
    }
  }
  std::sort(names.begin(), names.end(),
            [](const DirName& a, const DirName& b) { return a.name < b.name; });
  return names;
}

Result<> TreeWalk::begin() {
  TRY_OK(stack_.push(std::move(top_)));
  listings_.push_back({});
  return {};
}

Result<const DirName*> TreeWalk::next() {
  if (listings_.empty()) TRY_OK(begin());
  Listing& here = listings_.back();
  if (here.at == here.names.size() && !here.whole) {
    TRY(here.names, read_names(stack_.top(), kMaxNames));
    here.at = 0;
    here.whole = here.names.size() < kMaxNames;
  }
  if (here.at == here.names.size()) return nullptr;
  return &here.names[here.at++];
}

Result<> TreeWalk::enter(const std::string& name) {
  TRY(UniqueFd dir, open_child(this->dir(), name));
  return enter(name, std::move(dir));
}

Result<> TreeWalk::enter(const std::string& name, UniqueFd dir) {
  if (listings_.empty()) TRY_OK(begin());
  TRY_OK(stack_.push(std::move(dir)));
  Listing listing;
  listing.path_size = path_.size();
  path_ += name;  // may be a name of the listing that the next line moves
  path_ += '/';
  listings_.push_back(std::move(listing));
  return {};
}

Result<bool> TreeWalk::leave() {
  if (listings_.size() <= 1) return false;
  path_.resize(listings_.back().path_size);
  listings_.pop_back();
  TRY_OK(stack_.pop());
  return true;
}

}  // namespace glovebox::agent
