#include "guest/agent/files/archive_writer.h"

#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <climits>

#include "guest/agent/files/extended_attributes.h"
#include "guest/agent/files/resolved_path.h"
#include "guest/agent/files/tar_writer.h"
#include "guest/agent/files/tree_walk.h"

namespace glovebox::agent {
namespace {

constexpr std::size_t kMaxFirstNames = 500'000;

wire::TarEntry entry_of(const struct stat& info, const std::string& path, wire::TarType type) {
  wire::TarEntry entry;
  entry.type = type;
  entry.name = path;
  entry.mode = info.st_mode & 07777u;
  entry.uid = info.st_uid;
  entry.gid = info.st_gid;
  entry.mtime_s = info.st_mtim.tv_sec;
  entry.mtime_ns = static_cast<std::uint32_t>(info.st_mtim.tv_nsec);
  return entry;
}

}  // namespace

Result<> ArchiveWriter::put(const wire::TarEntry& entry) {
  ++entries_;
  return out_.write(tar_header(entry));
}

Result<> ArchiveWriter::add_directory(int dir, const std::string& path, bool opaque) {
  struct stat info {};
  if (::fstat(dir, &info) != 0) return fail_with(errno, path);
  wire::TarEntry entry = entry_of(info, path, wire::TarType::kDirectory);
  entry.opaque = opaque;
  if (attributes_ == Attributes::kKeep) entry.xattrs = read_attributes(dir);
  return put(entry);
}

Result<> ArchiveWriter::add_removed(const std::string& path) {
  wire::TarEntry entry;
  entry.name = path;
  entry.removed = true;
  return put(entry);
}

Result<> ArchiveWriter::add(int dir, const std::string& name, const std::string& path) {
  struct stat info {};
  if (::fstatat(dir, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (is_gone(errno)) return {};
    return fail_with(errno, path);
  }
  if (S_ISLNK(info.st_mode)) {
    wire::TarEntry entry = entry_of(info, path, wire::TarType::kSymlink);
    char target[PATH_MAX];
    const ssize_t size = ::readlinkat(dir, name.c_str(), target, sizeof target);
    if (size <= 0) return {};  // it is something else by now
    entry.link.assign(target, static_cast<std::size_t>(size));
    return put(entry);
  }
  if (S_ISFIFO(info.st_mode)) return put(entry_of(info, path, wire::TarType::kFifo));
  if (!S_ISREG(info.st_mode)) return {};
  return add_regular(dir, name, entry_of(info, path, wire::TarType::kFile));
}

Result<> ArchiveWriter::add_regular(int dir, const std::string& name, wire::TarEntry entry) {
  struct stat info {};
  auto file = open_content(dir, name, false, info);
  if (!file) {
    if (is_gone(file.error().sys_errno()) || file.error().sys_errno() == EISDIR ||
        file.error().sys_errno() == EINVAL) {
      return {};  // it went, or is something else by now
    }
    return fail(std::move(file.error()).context(entry.name));
  }
  entry = entry_of(info, entry.name, wire::TarType::kFile);
  if (info.st_nlink > 1 && first_names_.size() < kMaxFirstNames) {
    const auto [first, is_new] = first_names_.try_emplace({info.st_dev, info.st_ino}, entry.name);
    if (!is_new) {
      entry.type = wire::TarType::kHardLink;
      entry.link = first->second;
      return put(entry);
    }
  }
  if (attributes_ == Attributes::kKeep) entry.xattrs = read_attributes(file->get());
  entry.size = static_cast<std::uint64_t>(info.st_size);
  TRY_OK(put(entry));
  auto sent = out_.send_file(file->get(), 0, entry.size);
  if (!sent) return fail(std::move(sent.error()).context(entry.name));
  const std::string zeros(64 * 1024, '\0');
  for (std::uint64_t left = entry.size - *sent; left > 0;) {
    const auto piece = std::min<std::uint64_t>(left, zeros.size());
    TRY_OK(out_.fill(std::string_view(zeros).substr(0, piece)));
    left -= piece;
  }
  return out_.write(tar_padding(entry.size));
}

Result<> ArchiveWriter::finish() {
  TRY_OK(out_.write(tar_end()));
  return out_.flush();
}

}  // namespace glovebox::agent
