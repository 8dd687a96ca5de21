#include "bench/tls_server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/network_peer.h"

namespace glovebox::bench {
namespace {

constexpr long kValidSeconds = 24 * 3600;
constexpr timeval kHandshakeTimeout{5, 0};  // for a client that stalls

template <auto kFree>
struct Free {
  template <class T>
  void operator()(T* one) const {
    kFree(one);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Free<::EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Free<::X509_free>>;
using Session = std::unique_ptr<SSL, Free<::SSL_free>>;
using Bio = std::unique_ptr<BIO, Free<::BIO_free_all>>;

bool add_extension(X509* certificate, int which, const std::string& text) {
  const std::unique_ptr<X509_EXTENSION, Free<::X509_EXTENSION_free>> extension(
      ::X509V3_EXT_conf_nid(nullptr, nullptr, which, text.c_str()));
  return extension && ::X509_add_ext(certificate, extension.get(), -1) == 1;
}

// Self-signed, and only valid for this name.
Certificate sign_for(const std::string& name, EVP_PKEY* key) {
  Certificate made(::X509_new());
  if (!made) return nullptr;
  ::X509_set_version(made.get(), 2);
  ::ASN1_INTEGER_set(::X509_get_serialNumber(made.get()), 1);
  ::X509_gmtime_adj(::X509_getm_notBefore(made.get()), -kValidSeconds);
  ::X509_gmtime_adj(::X509_getm_notAfter(made.get()), kValidSeconds);
  ::X509_set_pubkey(made.get(), key);
  X509_NAME* subject = ::X509_get_subject_name(made.get());
  ::X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  ::X509_set_issuer_name(made.get(), subject);
  const bool done = add_extension(made.get(), NID_basic_constraints, "critical,CA:TRUE") &&
                    add_extension(made.get(), NID_subject_alt_name, "DNS:" + name) &&
                    ::X509_sign(made.get(), key, ::EVP_sha256()) != 0;
  return done ? std::move(made) : nullptr;
}

std::string pem_of(X509* certificate) {
  const Bio memory(::BIO_new(::BIO_s_mem()));
  char* text = nullptr;
  if (!memory || ::PEM_write_bio_X509(memory.get(), certificate) != 1) return "";
  const long size = BIO_get_mem_data(memory.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

}  // namespace

void TlsServer::FreeContext::operator()(ssl_ctx_st* context) const { ::SSL_CTX_free(context); }

struct TlsServer::Identity {
  Context context;
  std::string certificate;
};

Result<TlsServer::Identity> TlsServer::make_identity(const std::string& name) {
  const Key key(::EVP_EC_gen("P-256"));
  const Certificate certificate = key ? sign_for(name, key.get()) : nullptr;
  Identity identity;
  identity.context.reset(::SSL_CTX_new(::TLS_server_method()));
  if (!certificate || !identity.context ||
      ::SSL_CTX_use_certificate(identity.context.get(), certificate.get()) != 1 ||
      ::SSL_CTX_use_PrivateKey(identity.context.get(), key.get()) != 1) {
    return fail(Errc::kInternal, "cannot create a certificate");
  }
  identity.certificate = pem_of(certificate.get());
  return identity;
}

Result<std::unique_ptr<TlsServer>> TlsServer::listen(const net::IpAddress& address,
                                                     std::uint16_t port, const std::string& name) {
  TRY(UniqueFd listener, listen_on(address, port));
  TRY(Identity identity, make_identity(name));
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC));
  if (!wake) return fail(Error::from_errno("eventfd"));
  return std::unique_ptr<TlsServer>(
      new TlsServer(std::move(identity), std::move(listener), std::move(wake)));
}

TlsServer::TlsServer(Identity identity, UniqueFd listener, UniqueFd wake)
    : context_(std::move(identity.context)),
      certificate_(std::move(identity.certificate)),
      listener_(std::move(listener)),
      wake_(std::move(wake)),
      port_(port_of(listener_.get())),
      thread_([this] { serve(); }) {}

TlsServer::~TlsServer() {
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
  thread_.join();
}

void TlsServer::serve() {
  for (;;) {
    pollfd waits[2] = {{listener_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    ::poll(waits, 2, -1);
    if (waits[1].revents != 0) return;
    const UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (connection && is_from_here(connection.get())) answer(connection);
  }
}

void TlsServer::answer(const UniqueFd& connection) {
  ::setsockopt(connection.get(), SOL_SOCKET, SO_RCVTIMEO, &kHandshakeTimeout,
               sizeof kHandshakeTimeout);
  ::setsockopt(connection.get(), SOL_SOCKET, SO_SNDTIMEO, &kHandshakeTimeout,
               sizeof kHandshakeTimeout);
  const int yes = 1;
  ::setsockopt(connection.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  const Session session(::SSL_new(context_.get()));
  if (!session || ::SSL_set_fd(session.get(), connection.get()) != 1) return;
  char byte = 0;
  if (::SSL_accept(session.get()) != 1 || ::SSL_read(session.get(), &byte, 1) != 1) return;
  if (::SSL_write(session.get(), &byte, 1) == 1) (void)::SSL_shutdown(session.get());
}

}  // namespace glovebox::bench
