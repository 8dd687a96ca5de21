// TLS 1.2 and up by OpenSSL, over a descriptor that stays ours. Used directly and not through
// asio::ssl, whose streams hold 34 KB of buffers each while idle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"

struct ssl_ctx_st;
struct ssl_st;

namespace glovebox::http {

// Certificates and keys, read once: for a server before it drops its privileges.
class TlsContext {
 public:
  // PEM files: the chain, leaf first, and its key.
  static Result<std::shared_ptr<const TlsContext>> server(const std::string& certificate_file,
                                                          const std::string& key_file);
  // Trusts the system's authorities, or those in `ca_file` alone.
  static Result<std::shared_ptr<const TlsContext>> client(const std::string& ca_file = {});
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  ssl_ctx_st* get() const { return context_; }
  bool is_server() const { return is_server_; }

 private:
  TlsContext(ssl_ctx_st* context, bool is_server) : context_(context), is_server_(is_server) {}
  ssl_ctx_st* context_;
  bool is_server_;
};

// What one step on a non-blocking socket came to.
enum class Io : std::uint8_t { kDone, kWantRead, kWantWrite, kEnded, kFailed };

// One session. Calls never block if the descriptor does not; on kWantRead and kWantWrite, wait for
// that and call again with the same arguments.
class TlsSession {
 public:
  // A client's `host` is checked against the certificate.
  TlsSession(std::shared_ptr<const TlsContext> context, int fd, const std::string& host = {});
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  Io handshake();
  Io read(char* into, std::size_t size, std::size_t& got);
  Io peek();  // kDone: there are bytes to read
  Io write(const char* bytes, std::size_t size, std::size_t& put);
  void shutdown();  // sends close_notify, best effort
  bool has_pending() const;
  const std::string& last_error() const { return error_; }  // of the failed step, for people

 private:
  Io outcome(int returned);
  std::shared_ptr<const TlsContext> context_;
  ssl_st* ssl_;
  bool handshake_done_ = false;
  bool failed_ = false;
  std::string error_;
};

}  // namespace glovebox::http
