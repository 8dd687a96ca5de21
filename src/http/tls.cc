#include "http/tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/assert.h"

namespace glovebox::http {

namespace {

std::string openssl_error() {
  const unsigned long code = ::ERR_get_error();
  ::ERR_clear_error();
  if (code == 0) return "unknown TLS error";
  if (ERR_SYSTEM_ERROR(code)) return std::strerror(ERR_GET_REASON(code));
  const char* reason = ::ERR_reason_error_string(code);
  return reason != nullptr ? reason : "unknown TLS error";
}

// The socket of a session, written with MSG_NOSIGNAL: OpenSSL's own uses write(), and a client that
// goes away would send us SIGPIPE.
int bio_write(BIO* bio, const char* bytes, int size) {
  const int fd = static_cast<int>(reinterpret_cast<std::intptr_t>(::BIO_get_data(bio)));
  BIO_clear_retry_flags(bio);
  const ssize_t put = ::send(fd, bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (put < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(put);
}

int bio_read(BIO* bio, char* into, int size) {
  const int fd = static_cast<int>(reinterpret_cast<std::intptr_t>(::BIO_get_data(bio)));
  BIO_clear_retry_flags(bio);
  const ssize_t got = ::recv(fd, into, static_cast<std::size_t>(size), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  return static_cast<int>(got);
}

long bio_control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

const BIO_METHOD* socket_bio() {
  static const BIO_METHOD* const kMethod = [] {
    BIO_METHOD* method = ::BIO_meth_new(BIO_TYPE_SOURCE_SINK | ::BIO_get_new_index(), "glovebox");
    GBX_ASSERT(method != nullptr);
    ::BIO_meth_set_write(method, bio_write);
    ::BIO_meth_set_read(method, bio_read);
    ::BIO_meth_set_ctrl(method, bio_control);
    return method;
  }();
  return kMethod;
}

void common_settings(SSL_CTX* context) {
  ::SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  // RELEASE_BUFFERS: an idle session keeps no record buffers (34 KB).
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  // A client must not make us do handshakes over and over on one connection.
  ::SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
}

}  // namespace

Result<std::shared_ptr<const TlsContext>> TlsContext::server(const std::string& certificate_file,
                                                             const std::string& key_file) {
  SSL_CTX* raw = ::SSL_CTX_new(::TLS_server_method());
  GBX_ASSERT(raw != nullptr);
  std::shared_ptr<const TlsContext> context(new TlsContext(raw, true));
  common_settings(raw);
  if (::SSL_CTX_use_certificate_chain_file(raw, certificate_file.c_str()) != 1) {
    return fail(Errc::kInvalidArgument,
                "TLS certificate " + certificate_file + ": " + openssl_error());
  }
  if (::SSL_CTX_use_PrivateKey_file(raw, key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return fail(Errc::kInvalidArgument, "TLS key " + key_file + ": " + openssl_error());
  }
  if (::SSL_CTX_check_private_key(raw) != 1) {
    return fail(Errc::kInvalidArgument, "TLS key " + key_file + " is not the key of " +
                                            certificate_file + ": " + openssl_error());
  }
  return context;
}

Result<std::shared_ptr<const TlsContext>> TlsContext::client(const std::string& ca_file) {
  SSL_CTX* raw = ::SSL_CTX_new(::TLS_client_method());
  GBX_ASSERT(raw != nullptr);
  std::shared_ptr<const TlsContext> context(new TlsContext(raw, false));
  common_settings(raw);
  ::SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);
  const int loaded = ca_file.empty() ? ::SSL_CTX_set_default_verify_paths(raw)
                                     : ::SSL_CTX_load_verify_file(raw, ca_file.c_str());
  if (loaded != 1) {
    return fail(Errc::kInvalidArgument, "TLS authorities " + ca_file + ": " + openssl_error());
  }
  return context;
}

TlsContext::~TlsContext() { ::SSL_CTX_free(context_); }

TlsSession::TlsSession(std::shared_ptr<const TlsContext> context, int fd, const std::string& host)
    : context_(std::move(context)), ssl_(::SSL_new(context_->get())) {
  GBX_ASSERT(ssl_ != nullptr);
  BIO* bio = ::BIO_new(socket_bio());
  GBX_ASSERT(bio != nullptr);
  ::BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)));
  ::BIO_set_init(bio, 1);
  ::SSL_set_bio(ssl_, bio, bio);
  if (context_->is_server()) {
    ::SSL_set_accept_state(ssl_);
    return;
  }
  ::SSL_set_connect_state(ssl_);
  in6_addr ignored{};
  const bool is_address = ::inet_pton(AF_INET, host.c_str(), &ignored) == 1 ||
                          ::inet_pton(AF_INET6, host.c_str(), &ignored) == 1;
  if (is_address) {
    ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(ssl_), host.c_str());
  } else {
    SSL_set_tlsext_host_name(ssl_, host.c_str());
    ::SSL_set1_host(ssl_, host.c_str());
  }
}

TlsSession::~TlsSession() { ::SSL_free(ssl_); }

Io TlsSession::outcome(int returned) {
  switch (::SSL_get_error(ssl_, returned)) {
    case SSL_ERROR_WANT_READ:
      return Io::kWantRead;
    case SSL_ERROR_WANT_WRITE:
      return Io::kWantWrite;
    case SSL_ERROR_ZERO_RETURN:
      return Io::kEnded;
    default:
      break;
  }
  failed_ = true;
  const long verified = ::SSL_get_verify_result(ssl_);
  error_ = verified != X509_V_OK ? ::X509_verify_cert_error_string(verified) : openssl_error();
  ::ERR_clear_error();
  return Io::kFailed;
}

Io TlsSession::handshake() {
  ::ERR_clear_error();
  const int done = ::SSL_do_handshake(ssl_);
  if (done != 1) return outcome(done);
  handshake_done_ = true;
  return Io::kDone;
}

Io TlsSession::read(char* into, std::size_t size, std::size_t& got) {
  ::ERR_clear_error();
  const int done = ::SSL_read_ex(ssl_, into, size, &got);
  return done == 1 ? Io::kDone : outcome(done);
}

Io TlsSession::peek() {
  ::ERR_clear_error();
  char byte = 0;
  std::size_t got = 0;
  const int done = ::SSL_peek_ex(ssl_, &byte, 1, &got);
  return done == 1 ? Io::kDone : outcome(done);
}

Io TlsSession::write(const char* bytes, std::size_t size, std::size_t& put) {
  ::ERR_clear_error();
  const int done = ::SSL_write_ex(ssl_, bytes, size, &put);
  return done == 1 ? Io::kDone : outcome(done);
}

void TlsSession::shutdown() {
  // After a failure OpenSSL forbids it.
  if (!handshake_done_ || failed_) return;
  ::ERR_clear_error();
  ::SSL_shutdown(ssl_);
  ::ERR_clear_error();
}

bool TlsSession::has_pending() const { return ::SSL_has_pending(ssl_) == 1; }

}  // namespace glovebox::http
