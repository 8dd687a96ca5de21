#include "api/routes/sandboxes/file_routes.h"

#include <boost/json.hpp>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "http/websocket/websocket_frames.h"
#include "routing/file_query.h"
#include "routing/file_response.h"
#include "routing/file_upload.h"
#include "routing/sandbox_lookup.h"
#include "sessions/files/file_json.h"
#include "sessions/processes/process_json.h"
#include "wire/json/request_fields.h"
#include "wire/json/strict_json.h"

namespace glovebox::api {

using http::Request;
using http::Response;
using http::ResponseWriter;
namespace {

namespace json = boost::json;
using wire::FileOp;
using wire::FileRequest;

Response entry_answer(const std::string& record, const std::string& path) {
  const auto entry = sessions::entry_of(record);
  if (!entry) return Response::from_error(entry.error());
  Response response = Response::json(json::serialize(sessions::entry_json(*entry, path)) + "\n");
  if (entry->type == wire::FileType::kFile) {
    response.headers.set("ETag", routing::file_etag(*entry));
  }
  return response;
}

// What the client knows of the file that it wants to replace.
struct Preconditions {
  std::string if_match;         // empty: not given
  bool must_not_exist = false;  // If-None-Match: *

  bool any() const { return !if_match.empty() || must_not_exist; }
  bool hold_for(const std::optional<std::string>& etag) const {
    if (must_not_exist && etag) return false;
    if (if_match.empty()) return true;
    if (!etag) return false;
    return if_match == "*" || http::header_list_contains(if_match, *etag);
  }
};

Result<Preconditions> preconditions_of(const Request& request) {
  Preconditions wanted{.if_match = std::string(request.header("If-Match"))};
  if (const std::string* none = request.headers.find("If-None-Match")) {
    if (*none != "*") return fail(Errc::kInvalidArgument, "If-None-Match: only * is supported");
    wanted.must_not_exist = true;
  }
  return wanted;
}

// Nothing: there is no file.
Task<std::optional<std::string>> current_etag(std::shared_ptr<node::Session> session,
                                              std::string path, std::string user) {
  FileRequest file;
  file.op = FileOp::kStat;
  file.path = std::move(path);
  file.user = std::move(user);
  file.follow = true;
  const auto done = co_await session->file(std::move(file));
  if (!done && (done.error().sys_errno() == ENOENT || done.error().sys_errno() == ENOTDIR)) {
    co_return std::optional<std::string>();
  }
  if (!done) co_return fail(Error(done.error()));
  CO_TRY(const wire::FileEntry entry, sessions::entry_of(done->entry));
  co_return std::optional<std::string>(routing::file_etag(entry));
}

Response refuse_precondition(const std::optional<std::string>& etag) {
  Response response = Response::refuse(
      412, "precondition_failed",
      etag
          ? "the file is not the one that If-Match or If-None-Match names: it was changed meanwhile"
          : "the file does not exist any more");
  if (etag) response.headers.set("ETag", *etag);
  return response;
}

Result<FileRequest> upload_of(const Request& request) {
  FileRequest file;
  routing::FileQuery query(request.query);
  file.op = FileOp::kWrite;
  TRY(file.path, query.path());
  TRY(file.user, query.user());
  TRY(file.mode, query.mode());
  TRY(file.owner, query.owner());
  TRY(file.overwrite, query.truth("overwrite", true));
  TRY_OK(query.finish());
  return file;
}

Result<FileRequest> stat_of(const Request& request) {
  FileRequest file;
  routing::FileQuery query(request.query);
  file.op = FileOp::kStat;
  TRY(file.path, query.path());
  TRY(file.user, query.user());
  TRY(file.follow, query.truth("follow", true));
  TRY_OK(query.finish());
  return file;
}

// The body of mkdir, move and copy.
Result<FileRequest> change_of(const Request& request, FileOp op) {
  FileRequest file;
  file.op = op;
  routing::FileQuery query(request.query);
  TRY(const std::string asked_user, query.user());
  TRY_OK(query.finish());
  TRY(const json::value document, wire::parse_strict_json(request.body));
  TRY(wire::ObjectReader fields, wire::ObjectReader::open(document, ""));
  const bool has_user = fields.take("user") != nullptr;
  TRY(file.user, wire::read_user(fields, "user"));
  if (!has_user) file.user = asked_user;
  if (op == FileOp::kMakeDir) {
    TRY(file.path, sessions::read_path(fields, "path", "path_base64"));
    TRY(file.mode, sessions::read_mode(fields, "mode"));
    TRY(file.owner, sessions::read_owner(fields, "owner"));
  } else {
    TRY(file.path, sessions::read_path(fields, "from", "from_base64"));
    TRY(file.target, sessions::read_path(fields, "to", "to_base64"));
    TRY(const auto overwrite, fields.truth("overwrite"));
    file.overwrite = overwrite.value_or(true);
    file.recursive = op == FileOp::kCopy;
  }
  TRY_OK(fields.finish());
  return file;
}

Task<Response> change(const FileRoutes::Dependencies& deps, Request& request, FileOp op) {
  CO_TRY(const auto session, deps.lookup.session_of(request));
  CO_TRY(FileRequest file, change_of(request, op));
  const std::string path = op == FileOp::kMakeDir ? file.path : file.target;
  const auto done = co_await session->file(std::move(file));
  if (!done) co_return routing::file_refusal(done.error());
  co_return entry_answer(done->entry, path);
}

}  // namespace

std::span<const routing::RouteRow<FileRoutes>> FileRoutes::rows() {
  using http::Method;
  static constexpr routing::RouteRow<FileRoutes> kRows[] = {
      {Method::kGet, "/v1/sandboxes/{id}/files", routing::Access::kKey, &FileRoutes::read_file,
       "Read a file"},
      {Method::kPut, "/v1/sandboxes/{id}/files", routing::Access::kKey, &FileRoutes::write_file,
       "Write a file atomically", 0, nullptr, true},
      {Method::kDelete, "/v1/sandboxes/{id}/files", routing::Access::kKey, &FileRoutes::remove_file,
       "Remove a file or a directory tree"},
      {Method::kGet, "/v1/sandboxes/{id}/files/stat", routing::Access::kKey, &FileRoutes::stat_file,
       "Get information about a file"},
      {Method::kGet, "/v1/sandboxes/{id}/files/exists", routing::Access::kKey,
       &FileRoutes::file_exists, "Check whether a file exists"},
      {Method::kPost, "/v1/sandboxes/{id}/files/mkdir", routing::Access::kKey,
       &FileRoutes::make_directory, "Create a directory and its parents"},
      {Method::kPost, "/v1/sandboxes/{id}/files/move", routing::Access::kKey,
       &FileRoutes::move_file, "Move a file or a directory tree"},
      {Method::kPost, "/v1/sandboxes/{id}/files/copy", routing::Access::kKey,
       &FileRoutes::copy_file, "Copy a file or a directory tree"},
  };
  return kRows;
}

Task<Response> FileRoutes::read_file(Request& request, ResponseWriter& writer) {
  CO_TRY(auto session, deps_.lookup.session_of(request));
  FileRequest file;
  routing::FileQuery query(request.query);
  CO_TRY(file.path, query.path());
  CO_TRY(file.user, query.user());
  CO_TRY_OK(query.finish());
  co_return co_await routing::respond_with_file(std::move(session), std::move(file), request,
                                                writer);
}

Task<Response> FileRoutes::write_file(Request& request, ResponseWriter&) {
  CO_TRY(const auto session, deps_.lookup.session_of(request));
  CO_TRY(FileRequest file, upload_of(request));
  CO_TRY(const Preconditions wanted, preconditions_of(request));
  const std::string path = file.path;
  const std::string user = file.user;
  if (wanted.any()) {
    const auto etag = co_await current_etag(session, path, user);
    if (!etag) co_return routing::file_refusal(etag.error());
    if (!wanted.hold_for(*etag)) co_return refuse_precondition(*etag);
  }
  auto opened = co_await session->transfer(std::move(file));
  if (!opened) co_return routing::file_refusal(opened.error());
  // If anything fails, the transfer ends without a commit and the file stays unchanged.
  const std::unique_ptr<node::FileTransfer> transfer = std::move(*opened);
  const auto sent = co_await routing::send_upload(*transfer, *request.body_stream);
  if (!sent && sent.error().sys_errno() == 0) co_return fail(Error(sent.error()));
  if (!sent) co_return routing::file_refusal(sent.error());
  if (wanted.any()) {
    // Again, because the body may have taken minutes. What is written between this and the commit,
    // milliseconds later, is replaced.
    const auto etag = co_await current_etag(session, path, user);
    if (!etag) co_return routing::file_refusal(etag.error());
    if (!wanted.hold_for(*etag)) co_return refuse_precondition(*etag);
  }
  transfer->commit();
  const auto done = co_await transfer->done();
  if (!done && done.error().sys_errno() == 0) co_return fail(Error(done.error()));
  if (!done) co_return routing::file_refusal(done.error());
  co_return entry_answer(done->entry, path);
}

Task<Response> FileRoutes::remove_file(Request& request, ResponseWriter&) {
  CO_TRY(const auto session, deps_.lookup.session_of(request));
  FileRequest file;
  routing::FileQuery query(request.query);
  file.op = FileOp::kRemove;
  CO_TRY(file.path, query.path());
  CO_TRY(file.user, query.user());
  CO_TRY(file.recursive, query.truth("recursive", false));
  CO_TRY_OK(query.finish());
  const auto done = co_await session->file(std::move(file));
  if (!done) co_return routing::file_refusal(done.error());
  co_return Response::empty();
}

Task<Response> FileRoutes::stat_file(Request& request, ResponseWriter&) {
  CO_TRY(const auto session, deps_.lookup.session_of(request));
  CO_TRY(FileRequest file, stat_of(request));
  const std::string path = file.path;
  const auto done = co_await session->file(std::move(file));
  if (!done) co_return routing::file_refusal(done.error());
  co_return entry_answer(done->entry, path);
}

Task<Response> FileRoutes::file_exists(Request& request, ResponseWriter&) {
  CO_TRY(const auto session, deps_.lookup.session_of(request));
  CO_TRY(FileRequest file, stat_of(request));
  const auto done = co_await session->file(std::move(file));
  const int error = done ? 0 : done.error().sys_errno();
  if (!done && error != ENOENT && error != ENOTDIR) co_return routing::file_refusal(done.error());
  co_return Response::json(done ? "{\"exists\":true}\n" : "{\"exists\":false}\n");
}

Task<Response> FileRoutes::make_directory(Request& request, ResponseWriter&) {
  return change(deps_, request, FileOp::kMakeDir);
}
Task<Response> FileRoutes::move_file(Request& request, ResponseWriter&) {
  return change(deps_, request, FileOp::kMove);
}
Task<Response> FileRoutes::copy_file(Request& request, ResponseWriter&) {
  return change(deps_, request, FileOp::kCopy);
}

}  // namespace glovebox::api
