// TLS from end to end, with a certificate made here.
#include "http/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

#include <boost/asio/steady_timer.hpp>
#include <filesystem>

#include "http/server/server.h"
#include "http/testing/test_server.h"
#include "http/websocket/websocket.h"
#include "http/websocket/websocket_client.h"

namespace glovebox::http {
namespace {

using testing::kPatience;
using testing::quick_options;
using testing::RawClient;
using testing::route;
using testing::TestServer;

// A self-signed certificate for localhost and 127.0.0.1, in files.
class Certificate {
 public:
  Certificate() {
    char name[] = "/tmp/gbx-tls-XXXXXX";
    directory_ = ::mkdtemp(name);
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* certificate = ::X509_new();
    ::X509_set_version(certificate, 2);
    ::ASN1_INTEGER_set(::X509_get_serialNumber(certificate), 1);
    ::X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
    ::X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    ::X509_set_pubkey(certificate, key);
    X509_NAME* subject = ::X509_get_subject_name(certificate);
    ::X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                                 reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
    ::X509_set_issuer_name(certificate, subject);
    X509_EXTENSION* names =
        ::X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
    ::X509_add_ext(certificate, names, -1);
    ::X509_EXTENSION_free(names);
    ::X509_sign(certificate, key, ::EVP_sha256());
    FILE* out = ::fopen(certificate_file().c_str(), "w");
    ::PEM_write_X509(out, certificate);
    ::fclose(out);
    out = ::fopen(key_file().c_str(), "w");
    ::PEM_write_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
    ::fclose(out);
    ::X509_free(certificate);
    ::EVP_PKEY_free(key);
  }
  ~Certificate() { std::filesystem::remove_all(directory_); }
  Certificate(const Certificate&) = delete;
  Certificate& operator=(const Certificate&) = delete;

  std::string certificate_file() const { return directory_ + "/cert.pem"; }
  std::string key_file() const { return directory_ + "/key.pem"; }

 private:
  std::string directory_;
};

struct Waiting {
  std::promise<void> started;
  std::promise<void> noticed;

  Task<Response> operator()(Request& request) {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    timer.expires_after(kPatience);
    request.on_disconnect([&] {
      noticed.set_value();
      timer.cancel();
    });
    started.set_value();
    co_await timer.async_wait(kAwaitTuple);
    co_return Response::empty();
  }
};

Router table(Waiting& waiting) {
  Router router({route(Method::kGet, "/hello",
                       [](Request& request) { return Response::text(request.tls ? "tls" : "-"); }),
                 route(Method::kPost, "/echo",
                       [](Request& request) { return Response::text(std::move(request.body)); })});
  router.add(
      {.method = Method::kGet,
       .pattern = "/wait",
       .handler = [&waiting](Request& request, ResponseWriter&) { return waiting(request); }});
  return router;
}

class Tls : public ::testing::Test {
 protected:
  Tls() {
    auto context = TlsContext::server(certificate_.certificate_file(), certificate_.key_file());
    EXPECT_TRUE(context.has_value());
    ServerOptions options = quick_options();
    options.limits.header_time = std::chrono::milliseconds(500);
    server_.emplace(table(waiting_), std::move(options), std::move(*context));
  }
  Client trusting_client() const {
    ClientOptions options;
    options.ca_file = certificate_.certificate_file();
    return server_->client(std::move(options));
  }

  Certificate certificate_;
  Waiting waiting_;
  std::optional<TestServer> server_;
};

TEST_F(Tls, CarriesManyRequests) {
  Client client = trusting_client();
  for (int i = 0; i < 10; ++i) {
    const auto response = client.send({.target = "/hello"});
    ASSERT_TRUE(response.has_value()) << response.error().message();
    EXPECT_EQ(response->body, "tls");
  }
  EXPECT_EQ(server_->figures().connections_total, 1u);
}

TEST_F(Tls, CarriesLargeBodiesBothWays) {
  std::string body;
  for (int i = 0; body.size() < (3u << 20); ++i) body += std::to_string(i);
  const auto response =
      trusting_client().send({.method = Method::kPost, .target = "/echo", .body = body});
  ASSERT_TRUE(response.has_value()) << response.error().message();
  EXPECT_EQ(response->body, body);
}

TEST_F(Tls, AnUnknownCertificateIsRefusedByTheClient) {
  const auto response = server_->client().send({.target = "/hello"});
  ASSERT_FALSE(response.has_value());
  EXPECT_THAT(response.error().message(), ::testing::HasSubstr("self-signed"));
}

TEST_F(Tls, PlainTextGetsNoAnswer) {
  RawClient client(*server_);
  client.send("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client.read_to_end().find("HTTP/1.1 200"), std::string::npos);
}

TEST_F(Tls, AHandshakeThatDoesNotComeIsCutOff) {
  RawClient client(*server_);
  EXPECT_TRUE(client.is_ended());
}

TEST_F(Tls, ADisconnectIsNoticedWhileTheHandlerRuns) {
  Client client = trusting_client();
  std::thread other([&] {
    EXPECT_EQ(waiting_.started.get_future().wait_for(kPatience), std::future_status::ready);
    client.interrupt();
  });
  EXPECT_FALSE(client.send({.target = "/wait"}).has_value());
  other.join();
  EXPECT_EQ(waiting_.noticed.get_future().wait_for(kPatience), std::future_status::ready);
}

TEST_F(Tls, FilesThatDoNotFitAreNamed) {
  const auto missing = TlsContext::server("/nonexistent.pem", certificate_.key_file());
  ASSERT_FALSE(missing.has_value());
  EXPECT_THAT(missing.error().message(),
              ::testing::HasSubstr("/nonexistent.pem: No such file or directory"));
  const Certificate another;
  EXPECT_FALSE(TlsContext::server(certificate_.certificate_file(), another.key_file()).has_value());
}

asio::awaitable<void> echo_messages(Request& request, RawStream& stream) {
  WebSocketOptions options;
  options.ping_interval = std::chrono::milliseconds(700);
  const std::unique_ptr<WebSocket> socket = co_await accept_websocket(request, stream, options);
  if (!socket) co_return;
  for (;;) {
    std::optional<WebSocket::Message> message = co_await socket->receive();
    if (!message) break;
    const bool sent = co_await socket->send_binary(std::move(message->data));
    if (!sent) break;
  }
}

TEST(TlsWebSocket, CarriesMessagesAndPings) {
  const Certificate certificate;
  Router router;
  Route route;
  route.pattern = "/echo";
  route.handler = [](Request&, ResponseWriter&) -> Task<Response> { co_return Response::empty(); };
  route.upgrade = echo_messages;
  router.add(std::move(route));
  const auto context = TlsContext::server(certificate.certificate_file(), certificate.key_file());
  ASSERT_TRUE(context.has_value());
  TestServer server(std::move(router), quick_options(), *context);
  ClientOptions options;
  options.ca_file = certificate.certificate_file();
  Headers headers;
  auto socket = WebSocketClient::connect(server.url(), "/echo", headers, options);
  ASSERT_TRUE(socket.has_value()) << socket.error().message();
  for (std::size_t size = 1; size <= 1 << 20; size *= 2) {
    const std::string bytes(size, static_cast<char>(size % 251));
    ASSERT_TRUE((*socket)->send_binary(bytes).has_value());
    const auto received = (*socket)->receive(kPatience);
    ASSERT_TRUE(received.has_value() && received->message) << size;
    EXPECT_TRUE(received->message->data == bytes) << size;
  }
  // Who did not answer the server's pings would be gone by then.
  const auto nothing = (*socket)->receive(std::chrono::milliseconds(1600));
  ASSERT_TRUE(nothing.has_value());
  EXPECT_FALSE(nothing->message || nothing->is_closed);
  ASSERT_TRUE((*socket)->send_binary("still here").has_value());
  EXPECT_TRUE((*socket)->receive(kPatience)->message.has_value());
  (*socket)->close();
  EXPECT_TRUE(server.eventually([](const ServerFigures& f) { return f.connections == 0; }));
}

}  // namespace
}  // namespace glovebox::http
