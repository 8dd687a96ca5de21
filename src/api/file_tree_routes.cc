#include "api/file_tree_routes.h"

#include <boost/json.hpp>
#include <utility>

#include "base/percent_encoding.h"
#include "http/target.h"
#include "routing/file_upload.h"
#include "routing/sandbox_lookup.h"
#include "sessions/files/file_json.h"
#include "routing/file_query.h"

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
constexpr std::size_t kRecords = 64 * 1024;
// An answer up to this size is sent at once, and can still be an error; a larger one is streamed.
constexpr std::size_t kHeld = 512 * 1024;

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

// Converts records into the elements of a JSON array, and sends them in batches.
class ListAnswer {
 public:
  ListAnswer(node::FileTransfer& transfer, std::string directory, std::uint64_t most,
             ResponseWriter& writer)
      : transfer_(transfer), directory_(std::move(directory)), most_(most), writer_(writer) {}

  Task<Response> give() {
    std::string buffer(kRecords, '\0');
    while (true) {
      const std::size_t got = co_await transfer_.read_some(buffer.data(), buffer.size());
      if (got == 0) break;
      reader_.add({buffer.data(), got});
      CO_TRY_OK(take_records());
      if (text_.size() < kHeld) continue;
      const bool there = co_await send();
      if (!there) co_return Response::streamed();
    }
    const auto done = co_await transfer_.done();
    if (!done && !writer_.begun()) co_return routing::file_refusal(done.error());
    if (!done) co_return fail(Error(done.error()));
    if (!reader_.empty()) {
      co_return fail(Errc::kProtocol, "incomplete directory listing from the sandbox");
    }
    const bool cut = done->message == "truncated" || count_ > most_;
    text_ += cut ? "],\"truncated\":true}\n" : "],\"truncated\":false}\n";
    if (!writer_.begun()) co_return Response::json(std::move(text_));
    const bool there = co_await send();
    if (there) co_await writer_.finish();
    co_return Response::streamed();
  }

 private:
  Result<> take_records() {
    while (true) {
      TRY(const std::optional<std::string> record, reader_.next());
      if (!record) return {};
      TRY(const wire::FileEntry entry, wire::decode_file_entry(*record));
      if (++count_ > most_) continue;  // the helper ignored the limit
      if (count_ > 1) text_ += ',';
      text_ += json::serialize(sessions::entry_json(entry, sessions::path_below(directory_, entry.path)));
    }
  }

  asio::awaitable<bool> send() {
    if (!writer_.begun()) {
      http::Headers headers{{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}};
      const bool there = co_await writer_.begin(200, std::move(headers));
      if (!there) co_return false;
    }
    const bool there = co_await writer_.write_view(text_);
    text_.clear();
    co_return there;
  }

  node::FileTransfer& transfer_;
  const std::string directory_;
  const std::uint64_t most_;
  ResponseWriter& writer_;
  wire::RecordReader reader_;
  std::string text_ = "{\"entries\":[";
  std::uint64_t count_ = 0;
};

}  // namespace

std::span<const routing::RouteRow<FileTreeRoutes>> FileTreeRoutes::rows() {
  using http::Method;
  static constexpr routing::RouteRow<FileTreeRoutes> kRows[] = {
      {Method::kGet, "/v1/sandboxes/{id}/files/list", routing::Access::kKey, &FileTreeRoutes::list_files, "What is in a directory"},
      {Method::kGet, "/v1/sandboxes/{id}/files/tar", routing::Access::kKey, &FileTreeRoutes::read_tar, "A tree as a tar archive"},
      {Method::kPut, "/v1/sandboxes/{id}/files/tar", routing::Access::kKey, &FileTreeRoutes::write_tar, "Unpack a tar archive", 0, nullptr, true},
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
  ListAnswer answer(*transfer, directory, most, writer);
  co_return co_await answer.give();
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
