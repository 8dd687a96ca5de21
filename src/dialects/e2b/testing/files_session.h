// For tests of E2B's file routes: a sandbox that answers as the test wants and keeps what was
// committed, and a client of it.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/json.hpp>
#include <cerrno>
#include <map>

#include "api/testing/test_server.h"
#include "dialects/e2b/testing/endpoints.h"
#include "sessions/testing/fake_idle_session.h"
#include "wire/guest/file_records.h"

namespace glovebox::e2b {
namespace json = boost::json;
using wire::FileOp;
using wire::FileRequest;

inline Error guest_error(int error, std::string message) {
  return Error(Errc::kInternal, std::move(message), error);
}

inline wire::FileEntry entry_at(std::string path, wire::FileType type = wire::FileType::kFile) {
  wire::FileEntry entry;
  entry.path = path.starts_with('/') ? std::move(path) : "/home/user/" + path;
  entry.type = type;
  entry.mode = type == wire::FileType::kDirectory ? 0755 : 0644;
  entry.uid = 1000;
  entry.user = "user";
  entry.group = "user";
  entry.size = 5;
  entry.modified_ns = 1'767'323'045'678'901'234;
  return entry;
}

class FilesSession final : public sessions::FakeIdleSession {
 public:
  explicit FilesSession(asio::io_context& context)
      : sessions::FakeIdleSession(context), io(context) {}

  Result<wire::FileDone> respond(const FileRequest& request) {
    asked.push_back(request);
    if (refuse) {
      if (const int error = refuse(request); error != 0) return fail(guest_error(error, message));
    }
    wire::FileEntry entry = entry_at(request.target.empty() ? request.path : request.target, type);
    if (request.op == FileOp::kWrite) entry.metadata = request.metadata;
    wire::FileDone done;
    done.entry = wire::encode_record(entry);
    done.entries = entries;
    return done;
  }
  Task<wire::FileDone> file(FileRequest request) override { co_return respond(request); }
  Task<std::unique_ptr<node::FileTransfer>> transfer(FileRequest request) override;

  asio::io_context& io;
  std::vector<FileRequest> asked;
  std::function<int(const FileRequest&)> refuse;  // with an errno
  std::string message = "the guest's message";
  wire::FileType type = wire::FileType::kFile;
  std::uint64_t entries = 1;
  std::string content;                       // what is read: bytes, or records
  bool stays_open = false;                   // of a watch
  std::map<std::string, std::string> files;  // that were committed
};

class FilesTransfer final : public node::FileTransfer {
 public:
  FilesTransfer(FilesSession& session, FileRequest request, std::string entry)
      : session_(session),
        request_(std::move(request)),
        entry_(std::move(entry)),
        waiting_(session.io, std::chrono::steady_clock::time_point::max()) {}
  const std::string& entry() const override { return entry_; }
  asio::awaitable<std::size_t> read_some(char* into, std::size_t size) override {
    while (session_.content.empty() && session_.stays_open && !closed_) {
      waiting_.expires_after(std::chrono::milliseconds(1));
      co_await waiting_.async_wait(kAwaitTuple);
    }
    if (closed_) co_return 0;
    const std::size_t got = session_.content.copy(into, size);
    session_.content.erase(0, got);
    co_return got;
  }
  asio::awaitable<bool> write(std::string_view bytes) override {
    taken_ += bytes;
    co_return true;
  }
  void commit() override { session_.files[request_.path] = taken_; }
  void mark() override {
    session_.content +=
        wire::encode_record(wire::WatchEvent{wire::WatchKind::kReady, false, "", ""});
  }
  Task<wire::FileDone> done() override {
    wire::FileDone done;
    done.entry = entry_;
    co_return done;
  }
  void close() override {
    closed_ = true;
    waiting_.cancel();
  }

 private:
  FilesSession& session_;
  const FileRequest request_;
  const std::string entry_;
  std::string taken_;
  bool closed_ = false;
  asio::steady_timer waiting_;
};

inline Task<std::unique_ptr<node::FileTransfer>> FilesSession::transfer(FileRequest request) {
  const auto opened = respond(request);
  if (!opened) co_return fail(Error(opened.error()));
  std::unique_ptr<node::FileTransfer> transfer =
      std::make_unique<FilesTransfer>(*this, std::move(request), opened->entry);
  co_return transfer;
}

class TextBody final : public http::BodyStream {
 public:
  TextBody(std::string text, std::size_t piece) : text_(std::move(text)), piece_(piece) {}
  asio::awaitable<Result<std::size_t>> read_some(char* into, std::size_t size) override {
    const std::size_t got = text_.copy(into, std::min(size, piece_), at_);
    at_ += got;
    co_return got;
  }
  void cancel() override {}

 private:
  const std::string text_;
  const std::size_t piece_;
  std::size_t at_ = 0;
};

struct E2bFiles : ::testing::Test {
  E2bFiles() {
    test.sessions.add({.project = "mine", .session = session});
    test.session_service.alive[session->id()] = session;
  }
  // Without the parameter "id" the request names no sandbox.
  api::Answer run(const Endpoint& endpoint, http::Request request) {
    api::RecordingWriter writer;
    std::optional<Result<http::Response>> result;
    request.method = endpoint.method;
    request.target = endpoint.path;
    request.path = endpoint.path;
    const routing::PortTarget target{std::string(request.param("id")), kEnvdTestPort};
    const http::Route* route = target.id.empty() ? test.api->e2b.find_untargeted(request)
                                                 : test.api->e2b.find(request, target);
    if (route == nullptr) {
      ADD_FAILURE() << "no route for " << endpoint.path;
      return {};
    }
    asio::co_spawn(
        test.io,
        [&]() -> asio::awaitable<void> { result = co_await route->handler(request, writer); },
        asio::detached);
    test.run_until([&] { return result.has_value(); });
    api::Answer answer;
    if (!*result) {
      answer.status = -1;  // the connection is cut, or the server makes it a response
      answer.body = result->error().message();
    } else if ((*result)->is_streamed) {
      answer = {writer.status, writer.headers, writer.body, true};
    } else {
      answer = {(*result)->status, (*result)->headers, (*result)->body, false};
    }
    return answer;
  }
  http::Request request_of(std::string body = {}) {
    http::Request request;
    request.path_params.add("id", session->id().str());
    request.headers.add("X-Access-Token", token);
    request.body = std::move(body);
    return request;
  }
  api::Answer call(const Endpoint& endpoint, std::string body) {
    return run(endpoint, request_of(std::move(body)));
  }
  api::Answer post(http::Headers headers, std::string query_path, std::string body,
                   std::size_t piece = 100) {
    http::Request request = request_of();
    for (const auto& [name, value] : headers) request.headers.add(name, value);
    if (!query_path.empty()) request.query.add("path", std::move(query_path));
    TextBody stream(std::move(body), piece);
    request.body_stream = &stream;
    return run(kUpload, std::move(request));
  }
  const FileRequest& last() const { return session->asked.back(); }
  static std::string code(const api::Answer& answer) {
    return std::string(json::parse(answer.body).at("code").as_string());
  }

  api::TestServer test;
  std::shared_ptr<FilesSession> session = std::make_shared<FilesSession>(test.io);
  const std::string token = test.api->e2b.tokens().token_of(session->id().str());
};

}  // namespace glovebox::e2b
