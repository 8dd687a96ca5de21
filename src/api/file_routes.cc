#include "api/file_routes.h"

#include <boost/json.hpp>
#include <utility>

#include "base/percent_encoding.h"
#include "http/byte_range.h"
#include "http/target.h"
#include "routing/file_download.h"
#include "routing/file_upload.h"
#include "routing/sandbox_lookup.h"
#include "sessions/files/file_json.h"
#include "sessions/processes/process_json.h"
#include "wire/json/strict_json.h"
#include "routing/file_query.h"
#include "wire/json/request_fields.h"

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
  return Response::json(json::serialize(sessions::entry_json(*entry, path)) + "\n");
}

// What a download says of its file.
http::Headers headers_of(const wire::FileEntry& entry, const std::string& path) {
  http::Headers headers{{"Content-Type", "application/octet-stream"},
                        {"Accept-Ranges", "bytes"},
                        {"Cache-Control", "no-store"},
                        {"X-Content-Type-Options", "nosniff"},
                        {"X-File-Mode", sessions::mode_text(entry.mode)},
                        {"X-File-Size", std::to_string(entry.size)}};
  headers.add("Content-Disposition",
              "attachment; filename*=UTF-8''" + percent_encode(sessions::last_name(path)));
  return headers;
}

struct Download {
  FileRequest request;
  std::optional<http::ByteRange> range;
};

Result<Download> download_of(const Request& request) {
  Download download;
  routing::FileQuery query(request.query);
  download.request.op = FileOp::kRead;
  TRY(download.request.path, query.path());
  TRY(download.request.user, query.user());
  TRY_OK(query.finish());
  // There is no validator that If-Range could name, so with it the whole is right.
  if (request.method == http::Method::kGet && request.headers.find("If-Range") == nullptr) {
    download.range = http::parse_range(request.header("Range"));
  }
  if (request.method == http::Method::kHead) download.request.most = 0;
  return download;
}

// The end of a file is only known to who has looked.
Task<> place_from_the_end(std::shared_ptr<node::Session> session, Download& download) {
  FileRequest stat = download.request;
  stat.op = FileOp::kStat;
  CO_TRY(const wire::FileDone done, co_await session->file(std::move(stat)));
  CO_TRY(const wire::FileEntry entry, sessions::entry_of(done.entry));
  const auto span = http::span_of(*download.range, entry.size);
  // Nothing of it: what it is then, opening it will tell.
  download.range = span ? http::ByteRange{span->from, std::nullopt} : http::ByteRange{entry.size, std::nullopt};
  co_return Result<>();
}

Response no_such_part(std::uint64_t total) {
  Response response =
      Response::refuse(416, "range_not_satisfiable", "the file has no such range of bytes");
  response.headers.set("Content-Range", "bytes */" + std::to_string(total));
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
      {Method::kGet, "/v1/sandboxes/{id}/files", routing::Access::kKey, &FileRoutes::read_file, "The bytes of a file"},
      {Method::kPut, "/v1/sandboxes/{id}/files", routing::Access::kKey, &FileRoutes::write_file, "Write a file, whole or not at all", 0, nullptr, true},
      {Method::kDelete, "/v1/sandboxes/{id}/files", routing::Access::kKey, &FileRoutes::remove_file, "Remove a file or a tree"},
      {Method::kGet, "/v1/sandboxes/{id}/files/stat", routing::Access::kKey, &FileRoutes::stat_file, "What is known of a file"},
      {Method::kGet, "/v1/sandboxes/{id}/files/exists", routing::Access::kKey, &FileRoutes::file_exists, "Is there such a file?"},
      {Method::kPost, "/v1/sandboxes/{id}/files/mkdir", routing::Access::kKey, &FileRoutes::make_directory, "Make a directory and its parents"},
      {Method::kPost, "/v1/sandboxes/{id}/files/move", routing::Access::kKey, &FileRoutes::move_file, "Move a file or a tree"},
      {Method::kPost, "/v1/sandboxes/{id}/files/copy", routing::Access::kKey, &FileRoutes::copy_file, "Copy a file or a tree"},
  };
  return kRows;
}

Task<Response> FileRoutes::read_file(Request& request, ResponseWriter& writer) {
  CO_TRY(const auto session, deps_.lookup.session_of(request));
  CO_TRY(Download download, download_of(request));
  if (download.range && !download.range->first) {
    const auto placed = co_await place_from_the_end(session, download);
    if (!placed) co_return routing::file_refusal(placed.error());
  }
  const std::string path = download.request.path;
  if (download.range) {
    const http::ByteRange& range = *download.range;
    download.request.from = *range.first;
    if (range.last && *range.last - *range.first < UINT64_MAX) {
      download.request.most = *range.last - *range.first + 1;
    }
  }
  auto opened = co_await session->transfer(std::move(download.request));
  if (!opened) co_return routing::file_refusal(opened.error());
  const std::unique_ptr<node::FileTransfer> transfer = std::move(*opened);
  CO_TRY(const wire::FileEntry entry, sessions::entry_of(transfer->entry()));
  http::Headers headers = headers_of(entry, path);
  http::Span span{0, entry.size};
  if (download.range) {
    const auto part = http::span_of(*download.range, entry.size);
    if (!part) co_return no_such_part(entry.size);
    span = *part;
    headers.add("Content-Range", "bytes " + std::to_string(span.from) + "-" +
                                     std::to_string(span.from + span.size - 1) + "/" +
                                     std::to_string(entry.size));
  }
  headers.add("Content-Length", std::to_string(span.size));
  request.on_disconnect([borrowed = transfer.get()] { borrowed->close(); });
  const bool there = co_await writer.begin(download.range ? 206 : 200, std::move(headers));
  if (there && request.method != http::Method::kHead) {
    CO_TRY_OK(co_await routing::send_download(*transfer, span.size, writer));
  }
  if (there) co_await writer.finish();
  co_return Response::streamed();
}

Task<Response> FileRoutes::write_file(Request& request, ResponseWriter&) {
  CO_TRY(const auto session, deps_.lookup.session_of(request));
  CO_TRY(FileRequest file, upload_of(request));
  const std::string path = file.path;
  auto opened = co_await session->transfer(std::move(file));
  if (!opened) co_return routing::file_refusal(opened.error());
  // Goes without a commit, whatever happens: then the file is as it was.
  const std::unique_ptr<node::FileTransfer> transfer = std::move(*opened);
  const auto done = co_await routing::take_upload(*transfer, *request.body_stream);
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
