#include "gateway/testing/scripted_dns.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <span>

namespace glovebox::gateway {

using asio::ip::tcp;
using asio::ip::udp;

struct ScriptedDns::State {
  State(asio::io_context& one, Script given)
      : io(one), script(std::move(given)), datagrams(one), streams(one) {
    const auto loopback = asio::ip::address_v4::loopback();
    // One port for both; another try if the TCP port is taken.
    for (int tries = 0; tries < 50; ++tries) {
      boost::system::error_code error;
      datagrams = udp::socket(io, udp::endpoint(loopback, 0));
      streams = tcp::acceptor(io, tcp::v4());
      streams.bind(tcp::endpoint(loopback, datagrams.local_endpoint().port()), error);
      if (!error) break;
    }
    streams.listen();
  }
  asio::io_context& io;
  Script script;
  udp::socket datagrams;
  tcp::acceptor streams;
  std::vector<Asked> asked;
};

ScriptedDns::ScriptedDns(asio::io_context& io, Script script)
    : state_(std::make_shared<State>(io, std::move(script))) {
  asio::co_spawn(io, serve_datagrams(state_), asio::detached);
  asio::co_spawn(io, serve_streams(state_), asio::detached);
}

ScriptedDns::~ScriptedDns() {
  boost::system::error_code ignored;
  state_->datagrams.close(ignored);
  state_->streams.close(ignored);
  state_->script = nullptr;
}

DnsServer ScriptedDns::server() const {
  return {.address = net::IpAddress::v4({127, 0, 0, 1}),
          .port = state_->datagrams.local_endpoint().port()};
}

const std::vector<ScriptedDns::Asked>& ScriptedDns::asked() const { return state_->asked; }

void ScriptedDns::send(const udp::endpoint& to, const Bytes& bytes) {
  boost::system::error_code ignored;
  state_->datagrams.send_to(asio::buffer(bytes), to, 0, ignored);
}

void ScriptedDns::send_from_elsewhere(const udp::endpoint& to, const Bytes& bytes) {
  udp::socket other(state_->io, udp::endpoint(asio::ip::address_v4::loopback(), 0));
  boost::system::error_code ignored;
  other.send_to(asio::buffer(bytes), to, 0, ignored);
}

asio::awaitable<void> ScriptedDns::serve_datagrams(std::shared_ptr<State> state) {
  for (;;) {
    std::array<std::byte, 2048> buffer;
    udp::endpoint from;
    const auto [error, size] =
        co_await state->datagrams.async_receive_from(asio::buffer(buffer), from, kAwaitTuple);
    if (!state->script) co_return;
    if (error) continue;
    auto query = net::read_query(std::span(buffer).first(size));
    if (!query) continue;
    Asked asked{.query = std::move(*query), .over_tcp = false, .from = from};
    state->asked.push_back(asked);
    for (const Bytes& bytes : state->script(asked)) {
      boost::system::error_code ignored;
      state->datagrams.send_to(asio::buffer(bytes), from, 0, ignored);
    }
  }
}

asio::awaitable<void> ScriptedDns::serve_streams(std::shared_ptr<State> state) {
  for (;;) {
    auto [error, stream] = co_await state->streams.async_accept(kAwaitTuple);
    if (error || !state->script) co_return;
    std::array<std::byte, 2048> buffer;
    const auto head = asio::buffer(buffer, 2);
    const auto [no_head, two] = co_await asio::async_read(stream, head, kAwaitTuple);
    const std::size_t size =
        std::to_integer<std::size_t>(buffer[0]) << 8 | std::to_integer<std::size_t>(buffer[1]);
    if (no_head || size > buffer.size()) continue;
    const auto body = asio::buffer(buffer, size);
    const auto [no_body, all] = co_await asio::async_read(stream, body, kAwaitTuple);
    auto query = net::read_query(std::span(buffer).first(size));
    if (no_body || !query || !state->script) continue;
    Asked asked{.query = std::move(*query), .over_tcp = true, .from = {}};
    asked.query.payload = 0xffff;
    state->asked.push_back(asked);
    Bytes out;
    for (const Bytes& bytes : state->script(asked)) {
      out.push_back(std::byte(bytes.size() >> 8));
      out.push_back(std::byte(bytes.size() & 0xff));
      out.insert(out.end(), bytes.begin(), bytes.end());
    }
    const auto whole = asio::buffer(out);
    (void)co_await asio::async_write(stream, whole, kAwaitTuple);
  }
}

net::IpAddress ip(std::string_view text) { return net::IpAddress::parse(text).value(); }
net::HostName host(std::string_view name) { return net::HostName::parse(name).value(); }

std::vector<std::byte> good(const ScriptedDns::Asked& asked, std::vector<net::IpAddress> addresses,
                            std::uint32_t ttl_s) {
  return net::write_answer(asked.query, net::DnsCode::kNoError, addresses, ttl_s);
}

std::vector<std::byte> with_code(const ScriptedDns::Asked& asked, net::DnsCode code) {
  return net::write_answer(asked.query, code, {}, 0);
}

std::vector<std::byte> cut(const ScriptedDns::Asked& asked) {
  std::vector<std::byte> bytes = with_code(asked, net::DnsCode::kNoError);
  bytes[2] |= std::byte{0x02};
  return bytes;
}

std::vector<std::byte> alias(const ScriptedDns::Asked& asked, std::string_view target,
                             net::IpAddress address) {
  std::vector<std::byte> bytes = with_code(asked, net::DnsCode::kNoError);
  bytes[7] = std::byte{2};
  const auto put = [&](std::initializer_list<int> values) {
    for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  };
  const std::vector<std::byte> question = net::write_question(0, host(target), net::DnsType::kA);
  const std::span name = std::span(question).subspan(12, question.size() - 16);
  put({0xc0, 12, 0, 5, 0, 1, 0, 0, 1, 0, 0, static_cast<int>(name.size())});
  bytes.insert(bytes.end(), name.begin(), name.end());
  bytes.insert(bytes.end(), name.begin(), name.end());
  put({0, address.is_v4() ? 1 : 28, 0, 1, 0, 0, 1, 0, 0, static_cast<int>(address.size())});
  const auto* data = reinterpret_cast<const std::byte*>(address.data());
  bytes.insert(bytes.end(), data, data + address.size());
  return bytes;
}

}  // namespace glovebox::gateway
