#include "dialects/e2b/envd/file_access.h"

#include <algorithm>
#include <cerrno>

#include "dialects/e2b/envd/file_paths.h"
#include "sessions/files/file_json.h"

namespace glovebox::e2b {
namespace {

constexpr std::string_view kDefaultUser = "user";
constexpr std::string_view kRoot = "root";

bool root_may_succeed(const Error& error, const wire::FileRequest& request) {
  return request.user != kRoot && (error.sys_errno() == EACCES || error.sys_errno() == EPERM);
}

bool creates_files(wire::FileOp op) {
  return op == wire::FileOp::kWrite || op == wire::FileOp::kMakeDir;
}

// Paths relative to the user's home become absolute: root has another home.
Task<wire::FileRequest> as_root(std::shared_ptr<node::Session> session, wire::FileRequest request) {
  const bool absolute =
      request.path.starts_with('/') && (request.target.empty() || request.target.starts_with('/'));
  if (!absolute) {
    CO_TRY(const std::string home, co_await home_directory(session, request.user));
    if (!request.path.starts_with('/')) request.path = sessions::path_below(home, request.path);
    if (!request.target.empty() && !request.target.starts_with('/')) {
      request.target = sessions::path_below(home, request.target);
    }
  }
  if (creates_files(request.op)) request.owner = request.user;
  request.user = kRoot;
  co_return request;
}

}  // namespace

Result<std::string> file_user(std::string named) {
  if (named.empty()) return std::string(kDefaultUser);
  const bool is_valid = named.size() <= wire::kMaxUserName && (named[0] < '0' || named[0] > '9') &&
                        std::all_of(named.begin(), named.end(), [](char c) {
                          return c > ' ' && c < '\x7f' && c != ':' && c != '/';
                        });
  if (!is_valid) return fail(Errc::kPolicy, "invalid user name");
  return named;
}

wire::FileRequest file_request(wire::FileOp op, std::string user, std::string path) {
  wire::FileRequest request;
  request.op = op;
  request.path = std::move(path);
  request.details = true;
  request.follow = false;
  if (user == kRoot && creates_files(op)) request.owner = user;
  request.user = std::move(user);
  return request;
}

Task<wire::FileDone> ask_file(std::shared_ptr<node::Session> session, wire::FileRequest request) {
  auto done = co_await session->file(request);
  if (done || !root_may_succeed(done.error(), request)) co_return done;
  auto again = co_await as_root(session, std::move(request));
  if (!again) co_return done;
  co_return co_await session->file(std::move(*again));
}

Task<std::unique_ptr<node::FileTransfer>> open_file(std::shared_ptr<node::Session> session,
                                                    wire::FileRequest request) {
  auto opened = co_await session->transfer(request);
  if (opened || !root_may_succeed(opened.error(), request)) co_return opened;
  auto again = co_await as_root(session, std::move(request));
  if (!again) co_return opened;
  co_return co_await session->transfer(std::move(*again));
}

Task<std::string> home_directory(std::shared_ptr<node::Session> session, std::string user) {
  wire::FileRequest stat = file_request(wire::FileOp::kStat, std::move(user), ".");
  stat.details = false;
  CO_TRY(const wire::FileDone done, co_await session->file(std::move(stat)));
  CO_TRY(const wire::FileEntry entry, sessions::entry_of(done.entry));
  co_return clean_path(entry.path);
}

}  // namespace glovebox::e2b
