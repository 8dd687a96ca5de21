// filesystem.Filesystem of E2B's daemon, but for watching: Stat, ListDir, MakeDir, Move, Remove.
#include <boost/json.hpp>
#include <cerrno>
#include <utility>

#include "base/utf8.h"
#include "dialects/e2b/envd/file_access.h"
#include "dialects/e2b/envd/file_entry.h"
#include "dialects/e2b/envd/file_paths.h"
#include "dialects/e2b/envd/filesystem_request.h"
#include "dialects/e2b/handlers.h"
#include "dialects/e2b/agent_access.h"
#include "sessions/files/file_json.h"

namespace glovebox::e2b {
namespace {

namespace json = boost::json;
using wire::FileOp;
using wire::FileRequest;

constexpr std::uint64_t kMaxListed = 1'000'000;
constexpr std::size_t kRecords = 64 * 1024;
// An answer up to here is whole, and can still be an error; a larger one is sent as it comes.
constexpr std::size_t kHeld = 512 * 1024;

Response entry_answer(const std::string& record, const std::string& asked) {
  const auto entry = sessions::entry_of(record);
  if (!entry) return failure_response(failure_of(entry.error()));
  return message_response({{"entry", entry_json(*entry, whole_path(entry->path, asked))}});
}

std::string quoted(const std::string& path) { return "'" + to_utf8(path) + "'"; }

// AsyncFifoLock records into the elements of a JSON array, and sends them when they are many.
class DirAnswer {
 public:
  DirAnswer(node::FileTransfer& transfer, std::string directory, ResponseWriter& writer)
      : transfer_(transfer), directory_(std::move(directory)), writer_(writer) {}

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
    auto done = co_await transfer_.done();
    if (done && (!reader_.empty() || done->message == "truncated" || count_ > kMaxListed)) {
      done = fail(Errc::kResourceExhausted, "the directory has too many entries");
    }
    if (!done && writer_.begun()) co_return fail(Error(done.error()));
    if (!done) co_return failure_response(file_failure(done.error(), directory_));
    text_ += "]}";
    if (!writer_.begun()) {
      Response answer = Response::json(std::move(text_));
      answer.headers.set("Content-Type", "application/json");
      co_return answer;
    }
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
      if (++count_ > kMaxListed) continue;  // it was told how many
      if (count_ > 1) text_ += ',';
      text_ += json::serialize(entry_json(entry, sessions::path_below(directory_, entry.path)));
    }
  }

  asio::awaitable<bool> send() {
    if (!writer_.begun()) {
      http::Headers headers{{"Content-Type", "application/json"}};
      const bool there = co_await writer_.begin(200, std::move(headers));
      if (!there) co_return false;
    }
    const bool there = co_await writer_.write_view(text_);
    text_.clear();
    co_return there;
  }

  node::FileTransfer& transfer_;
  const std::string directory_;
  ResponseWriter& writer_;
  wire::RecordReader reader_;
  std::string text_ = "{\"entries\":[";
  std::uint64_t count_ = 0;
};

}  // namespace

Task<Response> files_stat(routing::App& app, Request& request, ResponseWriter&) {
  const Gate gate = co_await enter(app, request, Token::kNeeded);
  if (gate.refusal) co_return *gate.refusal;
  const auto call = read_filesystem_request(request);
  if (!call) co_return failure_response(call.error());
  FileRequest file = file_request(FileOp::kStat, call->user, call->at);
  const auto done = co_await ask_file(gate.session, std::move(file));
  if (!done) co_return failure_response(file_failure(done.error(), call->path));
  co_return entry_answer(done->entry, call->at);
}

Task<Response> files_list_dir(routing::App& app, Request& request, ResponseWriter& writer) {
  const Gate gate = co_await enter(app, request, Token::kNeeded);
  if (gate.refusal) co_return *gate.refusal;
  const auto call = read_filesystem_request(request);
  if (!call) co_return failure_response(call.error());
  const auto depth = number_field(call->message, "depth");
  if (!depth) co_return failure_response(failure_of(depth.error()));
  FileRequest file = file_request(FileOp::kList, call->user, call->at);
  file.depth = *depth == 0 ? 1 : *depth;
  file.most = kMaxListed;
  auto opened = co_await open_file(gate.session, std::move(file));
  if (!opened) co_return failure_response(file_failure(opened.error(), call->path));
  const std::unique_ptr<node::FileTransfer> transfer = std::move(*opened);
  const auto top = sessions::entry_of(transfer->entry());
  if (!top) co_return failure_response(failure_of(top.error()));
  request.on_disconnect([borrowed = transfer.get()] { borrowed->close(); });
  DirAnswer answer(*transfer, whole_path(top->path, call->at), writer);
  co_return co_await answer.give();
}

Task<Response> files_make_dir(routing::App& app, Request& request, ResponseWriter&) {
  const Gate gate = co_await enter(app, request, Token::kNeeded);
  if (gate.refusal) co_return *gate.refusal;
  const auto call = read_filesystem_request(request);
  if (!call) co_return failure_response(call.error());
  FileRequest file = file_request(FileOp::kMakeDir, call->user, call->at);
  const auto done = co_await ask_file(gate.session, std::move(file));
  if (!done && done.error().sys_errno() == EEXIST) {
    co_return failure_response(
        {Code::kInvalidArgument,
         "path already exists but it is not a directory: " + quoted(call->path)});
  }
  if (!done) co_return failure_response(file_failure(done.error(), call->path));
  if (done->entries == 0) {
    co_return failure_response(
        {Code::kAlreadyExists, "directory already exists: " + quoted(call->path)});
  }
  co_return entry_answer(done->entry, call->at);
}

Task<Response> files_move(routing::App& app, Request& request, ResponseWriter&) {
  const Gate gate = co_await enter(app, request, Token::kNeeded);
  if (gate.refusal) co_return *gate.refusal;
  const auto call = read_filesystem_request(request, "source");
  if (!call) co_return failure_response(call.error());
  const auto destination = text_field(call->message, "destination");
  if (!destination) co_return failure_response(failure_of(destination.error()));
  if (call->path.empty() || destination->empty()) {
    co_return failure_response({Code::kInvalidArgument, "the source or the destination is missing"});
  }
  const auto target = request_path(*destination);
  if (!target) co_return failure_response(failure_of(target.error()));
  FileRequest file = file_request(FileOp::kMove, call->user, call->at);
  file.target = *target;
  const auto done = co_await ask_file(gate.session, std::move(file));
  if (!done) co_return failure_response(file_failure(done.error(), call->path));
  co_return entry_answer(done->entry, *target);
}

Task<Response> files_remove(routing::App& app, Request& request, ResponseWriter&) {
  const Gate gate = co_await enter(app, request, Token::kNeeded);
  if (gate.refusal) co_return *gate.refusal;
  const auto call = read_filesystem_request(request);
  if (!call) co_return failure_response(call.error());
  FileRequest file = file_request(FileOp::kRemove, call->user, call->at);
  file.recursive = true;
  const auto done = co_await ask_file(gate.session, std::move(file));
  // What is not there is removed.
  if (!done && done.error().sys_errno() != ENOENT) {
    co_return failure_response(file_failure(done.error(), call->path));
  }
  co_return message_response({});
}

}  // namespace glovebox::e2b
