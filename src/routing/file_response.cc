#include "routing/file_response.h"

#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "base/percent_encoding.h"
#include "http/byte_range.h"
#include "routing/file_download.h"
#include "routing/file_query.h"
#include "sessions/files/file_json.h"

namespace glovebox::routing {
namespace {

using http::ByteRange;
using http::Response;
using wire::FileOp;

http::Headers file_headers(const wire::FileEntry& entry, const std::string& path) {
  http::Headers headers{{"Content-Type", "application/octet-stream"},
                        {"Accept-Ranges", "bytes"},
                        {"Cache-Control", "no-store"},
                        {"X-Content-Type-Options", "nosniff"},
                        {"ETag", file_etag(entry)},
                        {"X-File-Mode", sessions::mode_text(entry.mode)},
                        {"X-File-Size", std::to_string(entry.size)}};
  headers.add("Content-Disposition",
              "attachment; filename*=UTF-8''" + percent_encode(sessions::last_name(path)));
  return headers;
}

std::optional<ByteRange> requested_range(const http::Request& request) {
  // A client that has a part of an older version gets the whole file.
  if (request.method != http::Method::kGet || request.headers.find("If-Range") != nullptr) {
    return std::nullopt;
  }
  return http::parse_range(request.header("Range"));
}

// "The last n bytes" as an offset, which needs the size of the file.
Task<ByteRange> resolve_suffix_range(std::shared_ptr<node::Session> session, wire::FileRequest file,
                                     ByteRange range) {
  file.op = FileOp::kStat;
  CO_TRY(const wire::FileDone done, co_await session->file(std::move(file)));
  CO_TRY(const wire::FileEntry entry, sessions::entry_of(done.entry));
  const auto span = http::span_of(range, entry.size);
  // An empty range: whether that is an error depends on the size when the file is opened.
  co_return ByteRange{span ? span->from : entry.size, std::nullopt};
}

Response refuse_range(std::uint64_t total) {
  Response response =
      Response::refuse(416, "range_not_satisfiable", "the byte range is outside the file");
  response.headers.set("Content-Range", "bytes */" + std::to_string(total));
  return response;
}

void restrict_to_range(wire::FileRequest& file, const ByteRange& range) {
  file.from = *range.first;
  if (range.last && *range.last - *range.first < UINT64_MAX) {
    file.most = *range.last - *range.first + 1;
  }
}

std::string content_range(const http::ByteSpan& span, std::uint64_t total) {
  return "bytes " + std::to_string(span.from) + "-" + std::to_string(span.from + span.size - 1) +
         "/" + std::to_string(total);
}

}  // namespace

std::string file_etag(const wire::FileEntry& entry) {
  char text[64];
  std::snprintf(text, sizeof text, "\"%llx-%llx\"",
                static_cast<unsigned long long>(entry.modified_ns),
                static_cast<unsigned long long>(entry.size));
  return text;
}

Task<Response> respond_with_file(std::shared_ptr<node::Session> session, wire::FileRequest file,
                                 http::Request& request, http::ResponseWriter& writer) {
  file.op = FileOp::kRead;
  const bool is_head = request.method == http::Method::kHead;
  if (is_head) file.most = 0;
  std::optional<ByteRange> range = requested_range(request);
  if (range && !range->first) {
    const auto resolved = co_await resolve_suffix_range(session, file, *range);
    if (!resolved) co_return file_refusal(resolved.error());
    range = *resolved;
  }
  if (range) restrict_to_range(file, *range);
  const std::string path = file.path;
  auto opened = co_await session->transfer(std::move(file));
  if (!opened) co_return file_refusal(opened.error());
  const std::unique_ptr<node::FileTransfer> transfer = std::move(*opened);
  CO_TRY(const wire::FileEntry entry, sessions::entry_of(transfer->entry()));
  http::Headers headers = file_headers(entry, path);
  http::ByteSpan span{0, entry.size};
  if (range) {
    const auto part = http::span_of(*range, entry.size);
    if (!part) co_return refuse_range(entry.size);
    span = *part;
    headers.add("Content-Range", content_range(span, entry.size));
  }
  headers.add("Content-Length", std::to_string(span.size));
  request.on_disconnect([borrowed = transfer.get()] { borrowed->close(); });
  const bool is_there = co_await writer.begin(range ? 206 : 200, std::move(headers));
  if (is_there && !is_head) {
    CO_TRY_OK(co_await send_download(*transfer, span.size, writer));
  }
  if (is_there) co_await writer.finish();
  co_return Response::streamed();
}

}  // namespace glovebox::routing
