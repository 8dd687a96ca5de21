#include "supervisor/data_dir.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>

#include "base/write_all.h"

namespace glovebox::supervisor {
namespace {

namespace json = boost::json;

Result<> make_directories(const std::string& path) {
  for (std::size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
    const std::string part = path.substr(0, at);
    if (::mkdir(part.c_str(), 0755) != 0 && errno != EEXIST) {
      return fail(Error::from_errno("make " + part));
    }
    if (at == std::string::npos) return {};
  }
}

pid_t pid_of(const json::object& object, const char* key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_int64() ? static_cast<pid_t>(value->get_int64()) : 0;
}

std::string text_of(const json::object& object, const char* key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

}  // namespace

Result<DataDir> DataDir::open(const std::string& path) {
  TRY_OK(make_directories(path));
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return fail(Error::from_errno("stat " + path));
  if (!S_ISDIR(info.st_mode)) return fail(Errc::kInvalidArgument, path + " is not a directory");
  if (info.st_uid != ::geteuid() || (info.st_mode & 022) != 0) {
    return fail(Errc::kPolicy, path + " must be owned by you and not writable by other users");
  }
  const std::string lock_path = path + "/serve.lock";
  UniqueFd lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock) return fail(Error::from_errno("open " + lock_path));
  return DataDir(path, std::move(lock));
}

Result<bool> DataDir::try_lock() {
  // A record lock and not flock(2): the kernel reports its holder, and children do not inherit it.
  // The file is opened nowhere else in this process: closing it there would release the lock.
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(lock_.get(), F_SETLK, &lock) == 0) return true;
  if (errno == EACCES || errno == EAGAIN) return false;
  return fail(Error::from_errno("lock " + path_));
}

Result<> DataDir::write_serve_info(const ServeInfo& info) const {
  const json::object object = {{"url", info.url},
                               {"pid", info.pid},
                               {"launcher_pid", info.launcher_pid},
                               {"gateway_pid", info.gateway_pid},
                               {"supervisor_pid", info.supervisor_pid},
                               {"version", info.version}};
  const std::string path = path_ + "/serve.json";
  const std::string fresh = path + ".new";
  (void)::unlink(fresh.c_str());
  const UniqueFd file(
      ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!file) return fail(Error::from_errno("write " + fresh));
  (void)::fchmod(file.get(), 0644);
  TRY_OK(write_all(file.get(), json::serialize(object) + "\n"));
  if (::rename(fresh.c_str(), path.c_str()) != 0) return fail(Error::from_errno("write " + path));
  return {};
}

std::optional<ServeInfo> DataDir::read_serve_info() const {
  const std::string path = path_ + "/serve.json";
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  char text[4096];
  const ssize_t size = file ? ::read(file.get(), text, sizeof text) : -1;
  if (size <= 0) return std::nullopt;
  boost::system::error_code error;
  const json::value parsed =
      json::parse(json::string_view(text, static_cast<std::size_t>(size)), error);
  if (error || !parsed.is_object()) return std::nullopt;
  const json::object& object = parsed.get_object();
  ServeInfo info{.url = text_of(object, "url"),
                 .pid = pid_of(object, "pid"),
                 .launcher_pid = pid_of(object, "launcher_pid"),
                 .gateway_pid = pid_of(object, "gateway_pid"),
                 .supervisor_pid = pid_of(object, "supervisor_pid"),
                 .version = text_of(object, "version")};
  if (!is_plain_url(info.url)) return std::nullopt;
  return info;
}

void DataDir::remove_admin_key() const { ::unlink(admin_key().c_str()); }

void DataDir::remove_serve_info() const { (void)::unlink((path_ + "/serve.json").c_str()); }

bool is_plain_url(const std::string& url) {
  if (url.size() > 300 || !(url.starts_with("http://") || url.starts_with("https://")))
    return false;
  return std::all_of(url.begin(), url.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == ':' || c == '/' || c == '-' || c == '[' || c == ']';
  });
}

}  // namespace glovebox::supervisor
