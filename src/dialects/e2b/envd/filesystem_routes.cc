#include "dialects/e2b/envd/filesystem_routes.h"

#include <boost/json.hpp>
#include <cerrno>
#include <utility>

#include "base/utf8.h"
#include "dialects/e2b/envd/connect.h"
#include "dialects/e2b/envd/file_access.h"
#include "dialects/e2b/envd/file_entry.h"
#include "dialects/e2b/envd/file_paths.h"
#include "dialects/e2b/envd/filesystem_request.h"
#include "http/router.h"
#include "routing/listing_response.h"
#include "sessions/files/file_json.h"

namespace glovebox::e2b {

using http::Request;
using http::Response;
using http::ResponseWriter;

namespace {

namespace json = boost::json;
using wire::FileOp;
using wire::FileRequest;

constexpr std::uint64_t kMaxListed = 1'000'000;
Response entry_response(const std::string& record, const std::string& asked) {
  const auto entry = sessions::entry_of(record);
  if (!entry) return failure_response(failure_of(entry.error()));
  return message_response({{"entry", entry_json(*entry, whole_path(entry->path, asked))}});
}

std::string quoted_path(const std::string& path) { return "'" + to_utf8(path) + "'"; }

}  // namespace

std::span<const routing::RouteRow<FilesystemRoutes>> FilesystemRoutes::rows() {
  using http::Method;
  using routing::Access;
  static constexpr routing::RouteRow<FilesystemRoutes> kRows[] = {
      {Method::kPost, "/filesystem.Filesystem/Stat", Access::kOpen, &FilesystemRoutes::stat,
       "Get information about a file"},
      {Method::kPost, "/filesystem.Filesystem/ListDir", Access::kOpen, &FilesystemRoutes::list_dir,
       "List a directory"},
      {Method::kPost, "/filesystem.Filesystem/MakeDir", Access::kOpen, &FilesystemRoutes::make_dir,
       "Create a directory"},
      {Method::kPost, "/filesystem.Filesystem/Move", Access::kOpen, &FilesystemRoutes::move,
       "Move a file or a directory tree"},
      {Method::kPost, "/filesystem.Filesystem/Remove", Access::kOpen, &FilesystemRoutes::remove,
       "Remove a file or a directory tree"},
  };
  return kRows;
}

Task<Response> FilesystemRoutes::stat(Request& request, ResponseWriter&) {
  AgentAccess::Admission admission = co_await access_.admit(request, AccessToken::kRequired);
  if (admission.refusal) co_return std::move(*admission.refusal);
  const auto wanted = read_filesystem_request(request);
  if (!wanted) co_return failure_response(wanted.error());
  FileRequest file = file_request(FileOp::kStat, wanted->user, wanted->at);
  const auto done = co_await ask_file(admission.session, std::move(file));
  if (!done) co_return failure_response(file_failure(done.error(), wanted->path));
  co_return entry_response(done->entry, wanted->at);
}

Task<Response> FilesystemRoutes::list_dir(Request& request, ResponseWriter& writer) {
  AgentAccess::Admission admission = co_await access_.admit(request, AccessToken::kRequired);
  if (admission.refusal) co_return std::move(*admission.refusal);
  const auto wanted = read_filesystem_request(request);
  if (!wanted) co_return failure_response(wanted.error());
  const auto depth = number_field(wanted->message, "depth");
  if (!depth) co_return failure_response(failure_of(depth.error()));
  FileRequest file = file_request(FileOp::kList, wanted->user, wanted->at);
  file.depth = *depth == 0 ? 1 : *depth;
  file.most = kMaxListed;
  auto opened = co_await open_file(admission.session, std::move(file));
  if (!opened) co_return failure_response(file_failure(opened.error(), wanted->path));
  const std::unique_ptr<node::FileTransfer> transfer = std::move(*opened);
  const auto top = sessions::entry_of(transfer->entry());
  if (!top) co_return failure_response(failure_of(top.error()));
  request.on_disconnect([borrowed = transfer.get()] { borrowed->close(); });
  const std::string directory = whole_path(top->path, wanted->at);
  routing::ListingResponse::EntryJson entry_text = [&directory](const wire::FileEntry& entry) {
    return json::serialize(entry_json(entry, sessions::path_below(directory, entry.path)));
  };
  routing::ListingResponse listing(*transfer, kMaxListed, writer, std::move(entry_text));
  Result<bool> read = co_await listing.read_all();
  if (read && listing.is_truncated()) {
    read = fail(Errc::kResourceExhausted, "the directory has too many entries");
  }
  if (!read && writer.begun()) co_return fail(Error(read.error()));
  if (!read) co_return failure_response(file_failure(read.error(), directory));
  if (!*read) co_return Response::streamed();
  CO_TRY(Response response, co_await listing.finish("}"));
  if (!response.is_streamed) response.headers.set("Content-Type", "application/json");
  co_return response;
}

Task<Response> FilesystemRoutes::make_dir(Request& request, ResponseWriter&) {
  AgentAccess::Admission admission = co_await access_.admit(request, AccessToken::kRequired);
  if (admission.refusal) co_return std::move(*admission.refusal);
  const auto wanted = read_filesystem_request(request);
  if (!wanted) co_return failure_response(wanted.error());
  FileRequest file = file_request(FileOp::kMakeDir, wanted->user, wanted->at);
  const auto done = co_await ask_file(admission.session, std::move(file));
  if (!done && done.error().sys_errno() == EEXIST) {
    co_return failure_response(
        {Code::kInvalidArgument,
         "path already exists but it is not a directory: " + quoted_path(wanted->path)});
  }
  if (!done) co_return failure_response(file_failure(done.error(), wanted->path));
  if (done->entries == 0) {
    co_return failure_response(
        {Code::kAlreadyExists, "directory already exists: " + quoted_path(wanted->path)});
  }
  co_return entry_response(done->entry, wanted->at);
}

Task<Response> FilesystemRoutes::move(Request& request, ResponseWriter&) {
  AgentAccess::Admission admission = co_await access_.admit(request, AccessToken::kRequired);
  if (admission.refusal) co_return std::move(*admission.refusal);
  const auto wanted = read_filesystem_request(request, "source");
  if (!wanted) co_return failure_response(wanted.error());
  const auto destination = text_field(wanted->message, "destination");
  if (!destination) co_return failure_response(failure_of(destination.error()));
  if (wanted->path.empty() || destination->empty()) {
    co_return failure_response({Code::kInvalidArgument, "source or destination is missing"});
  }
  const auto target = request_path(*destination);
  if (!target) co_return failure_response(failure_of(target.error()));
  FileRequest file = file_request(FileOp::kMove, wanted->user, wanted->at);
  file.target = *target;
  const auto done = co_await ask_file(admission.session, std::move(file));
  if (!done) co_return failure_response(file_failure(done.error(), wanted->path));
  co_return entry_response(done->entry, *target);
}

Task<Response> FilesystemRoutes::remove(Request& request, ResponseWriter&) {
  AgentAccess::Admission admission = co_await access_.admit(request, AccessToken::kRequired);
  if (admission.refusal) co_return std::move(*admission.refusal);
  const auto wanted = read_filesystem_request(request);
  if (!wanted) co_return failure_response(wanted.error());
  FileRequest file = file_request(FileOp::kRemove, wanted->user, wanted->at);
  file.recursive = true;
  const auto done = co_await ask_file(admission.session, std::move(file));
  // A file that does not exist counts as removed.
  if (!done && done.error().sys_errno() != ENOENT) {
    co_return failure_response(file_failure(done.error(), wanted->path));
  }
  co_return message_response({});
}

}  // namespace glovebox::e2b
