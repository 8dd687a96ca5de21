#include "api/routes/sandboxes/file_tree_routes.h"

#include <boost/json.hpp>
#include <utility>

#include "base/percent_encoding.h"
#include "http/target.h"
#include "routing/file_query.h"
#include "routing/file_upload.h"
#include "routing/listing_response.h"
#include "routing/sandbox_lookup.h"
#include "sessions/files/file_json.h"

namespace glovebox::api {

using http::Request;
using http::Response;
using http::ResponseWriter;
namespace {

namespace json = boost::json;
using wire::FileOp;
using wire::FileRequest;

constexpr std::uint64_t kDefaultEntries = 10'000;
constexpr std::uint64_t kMaxEntries = 1'000'000;
constexpr std::uint64_t kMaxDepth = 1'000;
constexpr std::size_t kBuffer = std::size_t{1} << 20;

Result<FileRequest> list_of(const Request& request) {
  FileRequest file;
  routing::FileQuery query(request.query);
  file.op = FileOp::kList;
  TRY(file.path, query.path());
  TRY(file.user, query.user());
  TRY(const std::uint64_t depth, query.whole("depth", 0, kMaxDepth, 1));
  TRY(file.most, query.whole("limit", 1, kMaxEntries, kDefaultEntries));
  TRY_OK(query.finish());
  file.depth = static_cast<std::uint32_t>(depth);
  return file;
}

Result<FileRequest> tar_of(const Request& request, FileOp op) {
  FileRequest file;
  routing::FileQuery query(request.query);
  file.op = op;
  TRY(file.path, query.path());
  TRY(file.user, query.user());
  TRY_OK(query.finish());
  return file;
}

}  // namespace

std::span<const routing::RouteRow<FileTreeRoutes>> FileTreeRoutes::rows() {
  using http::Method;
  static constexpr routing::RouteRow<FileTreeRoutes> kRows[] = {
      {Method::kGet, "/v1/sandboxes/{id}/files/list", routing::Access::kKey,
       &FileTreeRoutes::list_files, "List a directory"},
      {Method::kGet, "/v1/sandboxes/{id}/files/tar", routing::Access::kKey,
       &FileTreeRoutes::read_tar, "Download a directory tree as a tar archive"},
      {Method::kPut, "/v1/sandboxes/{id}/files/tar", routing::Access::kKey,
       &FileTreeRoutes::write_tar, "Unpack a tar archive", 0, nullptr, true},
  };
  return kRows;
}

Task<Response> FileTreeRoutes::list_files(Request& request, ResponseWriter& writer) {
  CO_TRY(const auto session, deps_.lookup.session_of(request));
  CO_TRY(FileRequest file, list_of(request));
  const std::string directory = file.path;
  const std::uint64_t most = file.most;
  auto opened = co_await session->transfer(std::move(file));
  if (!opened) co_return routing::file_refusal(opened.error());
  const std::unique_ptr<node::FileTransfer> transfer = std::move(*opened);
  request.on_disconnect([borrowed = transfer.get()] { borrowed->close(); });
  routing::ListingResponse::EntryJson entry_json = [&directory](const wire::FileEntry& entry) {
    return json::serialize(
        sessions::entry_json(entry, sessions::path_below(directory, entry.path)));
  };
  routing::ListingResponse listing(*transfer, most, writer, std::move(entry_json));
  const auto read = co_await listing.read_all();
  if (!read && writer.begun()) co_return fail(Error(read.error()));
  if (!read) co_return routing::file_refusal(read.error());
  if (!*read) co_return Response::streamed();
  std::string tail = listing.is_truncated() ? ",\"truncated\":true}\n" : ",\"truncated\":false}\n";
  co_return co_await listing.finish(std::move(tail));
}

Task<Response> FileTreeRoutes::read_tar(Request& request, ResponseWriter& writer) {
  CO_TRY(const auto session, deps_.lookup.session_of(request));
  CO_TRY(FileRequest file, tar_of(request, FileOp::kTarOut));
  const std::string name(sessions::last_name(file.path));
  auto opened = co_await session->transfer(std::move(file));
  if (!opened) co_return routing::file_refusal(opened.error());
  const std::unique_ptr<node::FileTransfer> transfer = std::move(*opened);
  request.on_disconnect([borrowed = transfer.get()] { borrowed->close(); });
  http::Headers headers{{"Content-Type", "application/x-tar"}, {"Cache-Control", "no-store"}};
  headers.add("Content-Disposition",
              "attachment; filename*=UTF-8''" + percent_encode(name) + ".tar");
  bool there = co_await writer.begin(200, std::move(headers));
  std::string buffer(kBuffer, '\0');
  while (there && request.method != http::Method::kHead) {
    const std::size_t got = co_await transfer->read_some(buffer.data(), buffer.size());
    if (got == 0) {
      // An incomplete archive must not look complete: the connection is cut.
      CO_TRY_OK(co_await transfer->done());
      break;
    }
    const std::string_view bytes(buffer.data(), got);
    there = co_await writer.write_view(bytes);
  }
  if (there) co_await writer.finish();
  co_return Response::streamed();
}

Task<Response> FileTreeRoutes::write_tar(Request& request, ResponseWriter&) {
  CO_TRY(const auto session, deps_.lookup.session_of(request));
  CO_TRY(FileRequest file, tar_of(request, FileOp::kTarIn));
  auto opened = co_await session->transfer(std::move(file));
  if (!opened) co_return routing::file_refusal(opened.error());
  const std::unique_ptr<node::FileTransfer> transfer = std::move(*opened);
  const auto done = co_await routing::take_upload(*transfer, *request.body_stream);
  if (!done && done.error().sys_errno() == 0) co_return fail(Error(done.error()));
  if (!done) co_return routing::file_refusal(done.error());
  const json::object body{{"entries", done->entries}, {"bytes", done->bytes}};
  co_return Response::json(json::serialize(body) + "\n");
}

}  // namespace glovebox::api
