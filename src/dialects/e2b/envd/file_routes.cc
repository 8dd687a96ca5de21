#include "dialects/e2b/envd/file_routes.h"

#include <utility>

#include "base/percent_encoding.h"
#include "dialects/e2b/envd/file_access.h"
#include "dialects/e2b/envd/file_entry.h"
#include "dialects/e2b/envd/file_paths.h"
#include "dialects/e2b/envd/file_upload.h"
#include "dialects/e2b/error_form.h"
#include "http/byte_range.h"
#include "http/target.h"
#include "routing/file_download.h"
#include "sessions/files/file_json.h"

namespace glovebox::e2b {

using http::Request;
using http::Response;
using http::ResponseWriter;

namespace {

using wire::FileOp;
using wire::FileRequest;

http::Headers headers_of(const std::string& path) {
  http::Headers headers{{"Content-Type", "application/octet-stream"},
                        {"Accept-Ranges", "bytes"},
                        {"Cache-Control", "no-store"},
                        {"X-Content-Type-Options", "nosniff"}};
  headers.add("Content-Disposition",
              "attachment; filename*=UTF-8''" + percent_encode(sessions::last_name(path)));
  return headers;
}

// A range of the last bytes needs the file's size, which is not known yet: the whole file is sent.
std::optional<http::ByteRange> range_of(const Request& request) {
  if (request.method != http::Method::kGet || request.headers.find("If-Range") != nullptr) {
    return std::nullopt;
  }
  auto range = http::parse_range(request.header("Range"));
  if (range && !range->first) range.reset();
  return range;
}

FileRequest read_request(std::string user, std::string path, const Request& request,
                         const std::optional<http::ByteRange>& range) {
  FileRequest file = file_request(FileOp::kRead, std::move(user), std::move(path));
  if (request.method == http::Method::kHead) file.most = 0;
  if (!range) return file;
  file.from = *range->first;
  if (range->last && *range->last - *range->first < UINT64_MAX) {
    file.most = *range->last - *range->first + 1;
  }
  return file;
}

Response refuse_range(std::uint64_t total) {
  Response response = refusal(416, "the file is shorter than the requested range");
  response.headers.set("Content-Range", "bytes */" + std::to_string(total));
  return response;
}

}  // namespace

std::span<const routing::RouteRow<FileRoutes>> FileRoutes::rows() {
  using http::Method;
  using routing::Access;
  static constexpr routing::RouteRow<FileRoutes> kRows[] = {
      {Method::kGet, "/files", Access::kOpen, &FileRoutes::download, "Read a file", 0},
      {Method::kPost, "/files", Access::kOpen, &FileRoutes::upload, "Write files", 0, nullptr,
       true},
  };
  return kRows;
}

Task<Response> FileRoutes::download(Request& request, ResponseWriter& writer) {
  AgentAccess::Admission admission = co_await access_.admit(request, FileAccess::kRead);
  if (admission.refusal) co_return std::move(*admission.refusal);
  auto user = file_user(std::string(request.query.get("username")));
  if (!user) co_return refusal(401, user.error().message());
  const std::string path(request.query.get("path"));
  auto at = request_path(path);
  if (!at) co_return refusal(400, at.error().message());
  const std::optional<http::ByteRange> range = range_of(request);
  FileRequest file = read_request(std::move(*user), std::move(*at), request, range);
  auto opened = co_await open_file(admission.session, std::move(file));
  if (!opened) co_return file_refusal(opened.error(), path);
  const std::unique_ptr<node::FileTransfer> transfer = std::move(*opened);
  const auto entry = sessions::entry_of(transfer->entry());
  if (!entry) co_return refusal(entry.error());
  http::Headers headers = headers_of(path);
  http::ByteSpan span{0, entry->size};
  if (range) {
    const auto part = http::span_of(*range, entry->size);
    if (!part) co_return refuse_range(entry->size);
    span = *part;
    headers.add("Content-Range", "bytes " + std::to_string(span.from) + "-" +
                                     std::to_string(span.from + span.size - 1) + "/" +
                                     std::to_string(entry->size));
  }
  headers.add("Content-Length", std::to_string(span.size));
  request.on_disconnect([borrowed = transfer.get()] { borrowed->close(); });
  const bool there = co_await writer.begin(range ? 206 : 200, std::move(headers));
  if (there && request.method != http::Method::kHead) {
    CO_TRY_OK(co_await routing::send_download(*transfer, span.size, writer));
  }
  if (there) co_await writer.finish();
  co_return Response::streamed();
}

Task<Response> FileRoutes::upload(Request& request, ResponseWriter&) {
  AgentAccess::Admission admission = co_await access_.admit(request, FileAccess::kWrite);
  if (admission.refusal) co_return std::move(*admission.refusal);
  auto user = file_user(std::string(request.query.get("username")));
  if (!user) co_return refusal(401, user.error().message());
  auto metadata = upload_metadata(request.headers);
  if (!metadata) {
    co_return refusal(400,
                      "metadata must be printable ASCII, with keys of at most 246 bytes and at "
                      "most 4096 bytes and 128 keys in all");
  }
  Upload upload{admission.session, std::move(*user), std::move(*metadata)};
  co_return co_await receive_upload(std::move(upload), request);
}

}  // namespace glovebox::e2b
