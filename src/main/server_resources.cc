#include "main/server_resources.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "base/write_all.h"

namespace glovebox::server {
namespace {

// The directory belongs to root (or the single user), so only they can have made a link in it.
Result<UniqueFd> open_file(const std::string& path, int flags, mode_t mode) {
  UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!fd) return fail(Error::from_errno("open").context(path));
  return fd;
}

Result<std::string> make_store_dir(const std::string& data_dir, const confine::ServerIds& ids) {
  const std::string path = data_dir + "/store";
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail(Error::from_errno("mkdir").context(path));
  }
  TRY(const UniqueFd dir, open_file(path, O_RDONLY | O_DIRECTORY, 0));
  if (::geteuid() == 0 && ::fchown(dir.get(), ids.uid, ids.gid) != 0) {
    return fail(Error::from_errno("chown").context(path));
  }
  if (::fchmod(dir.get(), 0700) != 0) return fail(Error::from_errno("chmod").context(path));
  return path;
}

// Files of an earlier server.user could not be opened by the current one.
Result<> take_over_files(const std::string& store_dir, const confine::ServerIds& ids) {
  if (::geteuid() != 0) return {};
  TRY(const UniqueFd dir, open_file(store_dir, O_RDONLY | O_DIRECTORY, 0));
  for (const char* name : {"glovebox.db", "glovebox.db-wal", "glovebox.db-shm", "server.lock"}) {
    if (::fchownat(dir.get(), name, ids.uid, ids.gid, AT_SYMLINK_NOFOLLOW) != 0 &&
        errno != ENOENT) {
      return fail(Error::from_errno("chown").context(store_dir + "/" + name));
    }
  }
  return {};
}

Result<UniqueFd> lock_store(const std::string& store_dir) {
  const std::string path = store_dir + "/server.lock";
  TRY(UniqueFd lock, open_file(path, O_RDWR | O_CREAT, 0600));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return fail(Error::from_errno("flock").context(path));
    return fail(Errc::kUnavailable, path + ": another server uses this data directory");
  }
  return lock;
}

// Created with the store; if the administrator removed it later, it is not created again.
Result<UniqueFd> open_admin_key(const std::string& data_dir, const std::string& store_dir) {
  const std::string path = data_dir + "/admin.key";
  struct stat status {};
  const bool is_first = ::stat((store_dir + "/glovebox.db").c_str(), &status) != 0;
  UniqueFd file(
      ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | (is_first ? O_CREAT : 0), 0600));
  if (!file && errno != ENOENT) return fail(Error::from_errno("open").context(path));
  return file;
}

Result<UniqueFd> listen_for_supervisors(const std::string& data_dir) {
  const std::string path = data_dir + "/server.sock";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return fail(Errc::kInvalidArgument, path + ": too long for a socket; use a shorter data_dir");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail(Error::from_errno("socket"));
  // This server holds the store's lock, so the previous listener is gone.
  ::unlink(path.c_str());
  const mode_t mask = ::umask(0177);
  const int bound =
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  ::umask(mask);
  if (bound != 0) return fail(Error::from_errno("bind").context(path));
  if (::listen(socket.get(), 4) != 0) return fail(Error::from_errno("listen").context(path));
  return socket;
}

// The URL for clients on this host.
std::string url_of(const http::Listener& listener, bool tls) {
  std::string address = listener.address;
  if (listener.host == "0.0.0.0") address = "127.0.0.1:" + std::to_string(listener.port);
  if (listener.host == "::") address = "[::1]:" + std::to_string(listener.port);
  return (tls ? "https://" : "http://") + address;
}

}  // namespace

Result<ServerResources> open_server_resources(const config::Settings& settings,
                                              const confine::ServerIds& ids) {
  ServerResources resources;
  if (!settings.tls_cert.empty()) {
    TRY(resources.tls, http::TlsContext::server(settings.tls_cert, settings.tls_key));
  }
  TRY(resources.store_dir, make_store_dir(settings.data_dir, ids));
  TRY(resources.store_lock, lock_store(resources.store_dir));
  TRY(resources.admin_key, open_admin_key(settings.data_dir, resources.store_dir));
  TRY_OK(take_over_files(resources.store_dir, ids));
  TRY(resources.control_socket, listen_for_supervisors(settings.data_dir));
  TRY(resources.listener, http::open_listener(settings.listen));
  resources.url = url_of(resources.listener, resources.tls != nullptr);
  return resources;
}

Result<> write_admin_key(const UniqueFd& file, const std::string& secret) {
  const std::string line = secret + "\n";
  if (::ftruncate(file.get(), 0) != 0 || ::lseek(file.get(), 0, SEEK_SET) != 0) {
    return fail(Error::from_errno("write admin.key"));
  }
  TRY_OK(write_all(file.get(), line));
  if (::fsync(file.get()) != 0) return fail(Error::from_errno("fsync admin.key"));
  return {};
}

bool is_empty_file(const UniqueFd& file) {
  struct stat status {};
  return ::fstat(file.get(), &status) == 0 && status.st_size == 0;
}

}  // namespace glovebox::server
