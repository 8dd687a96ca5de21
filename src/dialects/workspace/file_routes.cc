#include "dialects/workspace/file_routes.h"

#include <boost/json.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "dialects/workspace/requests.h"
#include "routing/file_query.h"
#include "routing/file_response.h"
#include "sessions/files/directory_listing.h"
#include "sessions/files/file_json.h"

namespace glovebox::workspace {

using http::Request;
using http::Response;
using http::ResponseWriter;

namespace {

namespace json = boost::json;

constexpr std::uint64_t kMaxListed = 10'000;
constexpr std::uint32_t kMaxDepth = 32;

json::object file_json(const wire::FileEntry& entry) {
  json::object known = sessions::entry_json(entry, entry.path);
  json::object file{{"name", known["name"]}, {"filename", known["path"]}};
  if (known.contains("path_base64")) file["filename_base64"] = known["path_base64"];
  file["type"] = known["type"];
  file["size"] = known["size"];
  file["modified"] = known["modified_at"];
  return file;
}

// {"files", "truncated"} after what `body` has.
Task<json::object> list_directory(std::shared_ptr<node::Session> session, wire::FileRequest wanted,
                                  json::object body) {
  const std::uint64_t most = wanted.most;
  CO_TRY(const std::unique_ptr<node::FileTransfer> transfer,
         co_await session->transfer(std::move(wanted)));
  json::array files;
  std::uint64_t count = 0;
  sessions::DirectoryListing listing(*transfer);
  while (true) {
    CO_TRY(const std::optional<wire::FileEntry> entry, co_await listing.next());
    if (!entry) break;
    if (++count <= most) files.push_back(file_json(*entry));
  }
  body["files"] = std::move(files);
  body["truncated"] = listing.is_truncated() || count > most;
  co_return body;
}

}  // namespace

std::span<const routing::RouteRow<FileRoutes>> FileRoutes::rows() {
  using http::Method;
  using routing::Access;
  static constexpr routing::RouteRow<FileRoutes> kRows[] = {
      {Method::kGet, "/workspace/se/download/{session_id}/{filename*}", Access::kKey,
       &FileRoutes::download_file, "Download a file from a session"},
      {Method::kGet, "/workspace/se/files/{session_id}", Access::kKey, &FileRoutes::list_files,
       "List the files of a session"},
  };
  return kRows;
}

Task<Response> FileRoutes::download_file(Request& request, ResponseWriter& writer) {
  CO_TRY(const ClientSession session, clients_.parse(request));
  wire::FileRequest file;
  CO_TRY(file.path, path_of(request.param("filename")));
  CO_TRY(auto running, clients_.use(session));
  co_return co_await routing::respond_with_file(std::move(running), std::move(file), request,
                                                writer);
}

Task<Response> FileRoutes::list_files(Request& request, ResponseWriter&) {
  CO_TRY(const ClientSession session, clients_.parse(request));
  routing::FileQuery query(request.query);
  CO_TRY(const bool recursive, query.truth("recursive", false));
  const std::string* below = query.text("path");
  CO_TRY_OK(query.finish());
  wire::FileRequest wanted;
  wanted.op = wire::FileOp::kList;
  wanted.path = "/home/user";
  if (below != nullptr && !below->empty()) {
    CO_TRY(wanted.path, path_of(*below));
  }
  wanted.depth = recursive ? kMaxDepth : 1;
  wanted.most = kMaxListed;
  CO_TRY(auto running, clients_.use(session));
  json::object begun{{"session_id", session.id}};
  const auto body =
      co_await list_directory(std::move(running), std::move(wanted), std::move(begun));
  if (!body) co_return routing::file_refusal(body.error());
  co_return Response::json(json::serialize(*body) + "\n");
}

}  // namespace glovebox::workspace
