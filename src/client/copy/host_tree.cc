#include "client/copy/host_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "base/id.h"
#include "client/copy/copy_endpoint.h"

namespace glovebox::client {

Result<HostTree> HostTree::open(const std::string& path, FinalLink final_link) {
  if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) {
    return fail(Error::from_errno("create " + path));
  }
  const int links = final_link == FinalLink::kFollow ? 0 : O_NOFOLLOW;
  UniqueFd root(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | links));
  if (!root) return fail(Error::from_errno("open " + path));
  return HostTree(std::move(root));
}

Result<UniqueFd> HostTree::parent_of(const std::string& relative, std::string& name) const {
  if (!is_plain_relative(relative)) {
    return fail(Errc::kProtocol, "invalid file name from the sandbox: " + relative);
  }
  UniqueFd at(::fcntl(root_.get(), F_DUPFD_CLOEXEC, 0));
  std::string_view rest = relative;
  while (at) {
    const std::size_t slash = rest.find('/');
    name = std::string(rest.substr(0, slash));
    if (slash == std::string_view::npos) return at;
    rest.remove_prefix(slash + 1);
    if (::mkdirat(at.get(), name.c_str(), 0777) != 0 && errno != EEXIST) break;
    at.reset(::openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  return fail(Error::from_errno("open the directory of " + relative));
}

Result<> HostTree::make_directory(const std::string& relative, unsigned mode) const {
  std::string name;
  TRY(const UniqueFd parent, parent_of(relative, name));
  // With write permission for the owner, so that files can be created in it.
  if (::mkdirat(parent.get(), name.c_str(), (mode & 0777) | 0700) == 0) return {};
  struct stat info {};
  if (errno == EEXIST && ::fstatat(parent.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISDIR(info.st_mode)) {
    return {};
  }
  return fail(Error::from_errno("create " + relative));
}

Result<> HostTree::make_link(const std::string& relative, const std::string& target) const {
  std::string name;
  TRY(const UniqueFd parent, parent_of(relative, name));
  if (::symlinkat(target.c_str(), parent.get(), name.c_str()) == 0) return {};
  return fail(Error::from_errno("link " + relative));
}

Result<HostTree::File> HostTree::create(const std::string& relative) const {
  std::string name;
  TRY(UniqueFd parent, parent_of(relative, name));
  std::string draft = ".glovebox-" + random_label(12);
  UniqueFd fd(::openat(parent.get(), draft.c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return fail(Error::from_errno("write " + relative));
  return File(std::move(parent), std::move(fd), std::move(draft), std::move(name));
}

Result<> HostTree::File::keep(unsigned mode) {
  // Drops setuid, setgid and sticky bits that the guest has set.
  if (::fchmod(fd_.get(), mode & 0777) != 0 ||
      ::renameat(directory_.get(), draft_.c_str(), directory_.get(), name_.c_str()) != 0) {
    return fail(Error::from_errno("write " + name_));
  }
  draft_.clear();
  return {};
}

HostTree::File::~File() {
  if (directory_ && !draft_.empty()) ::unlinkat(directory_.get(), draft_.c_str(), 0);
}

}  // namespace glovebox::client
