#include "launcher/jail/made_files.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string_view>

#include "base/hex.h"
#include "base/unique_fd.h"
#include "launcher/layers/host_layer.h"

namespace glovebox::launcher {

Result<> make_dir(int at, const std::string& path, mode_t mode, std::uint32_t uid, bool chown) {
  if (::mkdirat(at, path.c_str(), mode) != 0) return fail(Error::from_errno("make " + path));
  // The umask only affects modes beyond 0755.
  if ((mode & 07022) != 0 && ::fchmodat(at, path.c_str(), mode, 0) != 0) {
    return fail(Error::from_errno("chmod " + path));
  }
  if (chown && ::fchownat(at, path.c_str(), uid, uid, AT_SYMLINK_NOFOLLOW) != 0) {
    return fail(Error::from_errno("chown " + path));
  }
  return {};
}

Result<> make_boot_id(int at, std::uint32_t uid, bool chown) {
  unsigned char bytes[16];
  if (::getrandom(bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes)) {
    return fail(Error::from_errno("getrandom"));
  }
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3f) | 0x80);
  std::string text;
  for (std::size_t i = 0; i < sizeof bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    append_hex(text, bytes[i]);
  }
  text += '\n';
  const UniqueFd file(
      ::openat(at, kBootIdFile, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0444));
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      (chown && ::fchown(file.get(), uid, uid) != 0)) {
    return fail(Error::from_errno("make a boot id"));
  }
  return {};
}

Result<> make_image_files(int tmpfs, std::uint32_t root, bool chown) {
  TRY_OK(make_dir(tmpfs, "upper/etc", 0755, root, chown));
  for (const LayerFile& one : network_files()) {
    const std::string path = std::string("upper/") + one.path;
    const UniqueFd file(
        ::openat(tmpfs, path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
    const std::string_view text = one.text;
    if (!file ||
        ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
        (chown && ::fchown(file.get(), root, root) != 0)) {
      return fail(Error::from_errno("make " + path));
    }
  }
  return {};
}

}  // namespace glovebox::launcher
