// What a handler sees: the request, whole; the answer, whole or as a stream. Nothing of Beast.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/task.h"

namespace glovebox::http {

enum class Method : std::uint8_t { kGet, kHead, kPost, kPut, kPatch, kDelete, kOptions, kOther };
std::string_view method_name(Method method);
Method parse_method(std::string_view name);  // case-sensitive, as HTTP is

// In the order of the message, duplicates kept. Names are compared without case.
class Headers {
 public:
  using Field = std::pair<std::string, std::string>;
  Headers() = default;
  Headers(std::initializer_list<Field> fields) : fields_(fields) {}

  const std::string* find(std::string_view name) const;  // the first one, or null
  std::string_view get(std::string_view name) const;     // the first one, or ""
  std::size_t count(std::string_view name) const;
  void add(std::string name, std::string value);
  void set(std::string_view name, std::string value);  // replaces all of that name
  void remove(std::string_view name);

  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }
  std::size_t size() const { return fields_.size(); }

 private:
  std::vector<Field> fields_;
};

// Decoded pairs, in order, duplicates kept.
class Params {
 public:
  using Field = std::pair<std::string, std::string>;
  const std::string* find(std::string_view name) const;  // the first one, or null
  std::string_view get(std::string_view name) const;     // the first one, or ""
  void add(std::string name, std::string value);
  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }
  std::size_t size() const { return fields_.size(); }

 private:
  std::vector<Field> fields_;
};

// Implemented by the connection: tells once when the client has gone while a handler runs.
class DisconnectSource {
 public:
  virtual ~DisconnectSource() = default;
  virtual void watch(std::function<void()> callback) = 0;
  virtual bool gone() const = 0;
};

// A body that comes while its handler runs (Route::streams_body): as fast as it is read and no
// faster. Not for two coroutines at once.
class BodyStream {
 public:
  virtual ~BodyStream() = default;
  // 0: the end. kTimeout: the client was silent for too long; kUnavailable: it is gone;
  // kInvalidArgument: these are not chunks. After an error there is nothing more to read.
  virtual asio::awaitable<Result<std::size_t>> read_some(char* into, std::size_t size) = 0;
  // Ends a read under way, and every later one, with kUnavailable.
  virtual void cancel() = 0;

  std::optional<std::uint64_t> length;  // Content-Length; nothing: chunked
  // How long the client may be silent, however slow it is; zero: as the server's settings say.
  std::chrono::milliseconds patience{0};
};

struct Request {
  Method method = Method::kGet;
  std::string method_word;  // as sent, for kOther
  std::string target;       // as sent, undecoded: "/v1/runs/a%20b?x=1"
  std::string path;         // decoded: "/v1/runs/a b"
  Params query;
  Params path_params;  // of the route's pattern, decoded
  Headers headers;
  std::string body;
  BodyStream* body_stream =
      nullptr;              // instead of body, where the route streams it; never null there
  std::string host;         // of the request line or the Host header, as sent
  std::string remote;       // "127.0.0.1:54321", "[::1]:54321"
  std::string remote_host;  // "127.0.0.1", "::1"
  std::string local;        // the address it came to; only where the server listens everywhere
  std::string owner;  // whom it is charged to: a project, or the network of an anonymous client
  std::string id;     // "rq" + 20 of [a-z0-9]; ours, whatever the client sent
  std::string route;  // the pattern that matched, for figures; empty when none did
  // The digest of the console's session that the admission of the route accepted; empty: none. Only
  // routes that accept cookies have such an admission, so a cookie counts nowhere else.
  std::string session;
  bool tls = false;

  std::string_view header(std::string_view name) const { return headers.get(name); }
  std::string_view param(std::string_view name) const { return path_params.get(name); }

  // Calls back at most once, on the server's thread, when the client closes the connection before
  // the answer is complete; never after the handler has returned. If it has gone already, the
  // callback is called at once. Registering costs a watch, so trivial handlers should not.
  void on_disconnect(std::function<void()> callback) {
    if (source != nullptr) source->watch(std::move(callback));
  }
  bool disconnected() const { return source != nullptr && source->gone(); }

  DisconnectSource* source = nullptr;  // the connection's; null in tests of handlers
};

// An error in the form every client knows: {"error":{"code","message"},"request_id"}. The request
// id is filled in when the answer is written.
struct Problem {
  std::string code;
  std::string message;
};

struct Response {
  int status = 200;
  Headers headers;
  std::string body;
  std::optional<Problem> problem;  // replaces body
  bool is_streamed = false;        // the handler wrote through its ResponseWriter
  // Let go when the answer has been sent, or has not. Null: the server counts a large body itself,
  // and refuses it when its owner has too many.
  std::shared_ptr<void> holds{};

  static Response json(std::string body, int status = 200);
  static Response text(std::string body, int status = 200);  // text/plain; charset=utf-8
  static Response empty(int status = 204);
  static Response refuse(int status, std::string code, std::string message);
  static Response from_error(const Error& error);  // by the table in http/status.cc
  // What a handler returns after it has used the writer.
  static Response streamed();
};

// The streaming form: chunked, or with the Content-Length that begin() is given; then exactly so
// many bytes must follow. To HEAD and 304 no body is sent. Not for two coroutines at once. Each
// call waits until the kernel has taken the bytes, so a slow client slows the writer; false: the
// client is gone, stop.
class ResponseWriter {
 public:
  virtual ~ResponseWriter() = default;
  virtual asio::awaitable<bool> begin(int status, Headers headers) = 0;
  virtual asio::awaitable<bool> write(std::string bytes) = 0;
  // The same without a copy: the bytes stay the caller's, who keeps them until it returns.
  virtual asio::awaitable<bool> write_view(std::string_view bytes) {
    return write(std::string(bytes));
  }
  virtual asio::awaitable<bool> finish() = 0;
  virtual bool begun() const = 0;
};

// The raw stream of a connection after an upgrade (WebSocket). Bytes that the client sent behind
// its request come out of read_some first. One coroutine may read while another writes. When the
// server stops, reading ends; writing does not yet.
class RawStream {
 public:
  virtual ~RawStream() = default;
  virtual asio::awaitable<std::size_t> read_some(char* into, std::size_t size) = 0;  // 0: ended
  virtual asio::awaitable<bool> write(std::string bytes) = 0;
  // The same without a copy, one part after the other.
  virtual asio::awaitable<bool> write_views(std::string_view first,
                                            std::string_view second = {}) = 0;
  // What the kernel takes at once; nothing: the client is gone. Not while a write is under way.
  virtual std::optional<std::size_t> write_now(std::string_view bytes) = 0;
  // Counts so many bytes of the client's that are held because what they belong to is not whole, in
  // place of those of the last call. False: its owner holds as much as it may (ServerLimits).
  virtual bool hold(std::size_t bytes) = 0;
  // For the log, when it is not 101.
  virtual void set_status(int status) = 0;
  virtual bool stopping() const = 0;
  // Ends a read under way, and every later one; what was written still arrives.
  virtual void stop_reading() = 0;
  // Both directions; a read or write under way ends.
  virtual void close() = 0;
};

}  // namespace glovebox::http
