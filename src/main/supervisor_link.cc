#include "main/supervisor_link.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <span>
#include <vector>

#include "base/fd_message.h"
#include "base/log.h"
#include "base/task.h"

namespace glovebox::server {
namespace {

using Descriptor = asio::posix::stream_descriptor;

constexpr std::size_t kMaxMessage = 256;
// Longer than a restart of the launcher or gateway takes; after that the server requests one.
constexpr std::chrono::seconds kWithout{3};
// doctor takes less than a second on an idle host.
constexpr std::chrono::seconds kForDoctor{30};
constexpr std::size_t kMaxDoctorReport = std::size_t{256} << 10;

bool is_ours(int socket, uid_t owner) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == 0 || peer.uid == owner;
}

}  // namespace

struct SupervisorLink::State : std::enable_shared_from_this<State> {
  State(asio::io_context& context, std::string where) : io(context), url(std::move(where)) {}

  asio::io_context& io;
  std::string url;
  uid_t owner = ::getuid();  // the user who started the server; its uid changes later
  Part launcher;
  Part gateway;
  std::shared_ptr<Descriptor> channel;
  std::shared_ptr<Descriptor> listening;
  std::shared_ptr<asio::steady_timer> timer;
  bool is_ready = false;
  bool is_stopped = false;
  std::string doctor;                               // what it said; empty: nothing yet
  std::vector<asio::steady_timer*> doctor_waiting;  // cancelled when it has

  void send(const std::string& message) {
    if (!channel || !channel->is_open()) return;
    const auto bytes = std::as_bytes(std::span(message.data(), message.size()));
    if (auto sent = send_message(channel->native_handle(), bytes); !sent) {
      log::warn("cannot send to the supervisor", {{"error", sent.error().message()}});
    }
  }
  void send_ready_if_so() {
    if (is_ready) send("R{\"url\":\"" + url + "\"}");
  }
  void use(UniqueFd socket);
  asio::awaitable<void> listen_to(std::shared_ptr<Descriptor> from);
  asio::awaitable<void> accept();
  asio::awaitable<void> request_missing_parts();
  asio::awaitable<void> read_doctor(UniqueFd pipe);
  Task<std::string> doctor_report();
};

void SupervisorLink::State::use(UniqueFd socket) {
  ::fcntl(socket.get(), F_SETFL, ::fcntl(socket.get(), F_GETFL) | O_NONBLOCK);
  if (channel) channel->close();
  channel = std::make_shared<Descriptor>(io, socket.release());
  asio::co_spawn(io, listen_to(channel), asio::detached);
  send_ready_if_so();
}

asio::awaitable<void> SupervisorLink::State::listen_to(std::shared_ptr<Descriptor> from) {
  const auto self = shared_from_this();
  while (!is_stopped) {
    const auto [ec] = co_await from->async_wait(Descriptor::wait_read, kAwaitTuple);
    if (ec || !from->is_open()) co_return;
    auto message = receive_message(from->native_handle(), kMaxMessage, 1);
    if (!message && message.error().code() == Errc::kResourceExhausted) continue;
    if (!message || message->bytes.empty()) break;
    const bool is_part = message->bytes.size() == 1 && message->fds.size() == 1;
    if (is_part && message->bytes[0] == std::byte{'L'}) {
      launcher.arrives(std::move(message->fds[0]));
    } else if (is_part && message->bytes[0] == std::byte{'G'}) {
      gateway.arrives(std::move(message->fds[0]));
    } else if (is_part && message->bytes[0] == std::byte{'D'}) {
      asio::co_spawn(io, read_doctor(std::move(message->fds[0])), asio::detached);
    } else {
      log::warn("unknown message from the supervisor");
    }
  }
  log::info("the supervisor is gone; waiting for another");
  from->close();
}

asio::awaitable<void> SupervisorLink::State::accept() {
  const auto self = shared_from_this();
  while (!is_stopped) {
    const auto [ec] = co_await listening->async_wait(Descriptor::wait_read, kAwaitTuple);
    if (ec) co_return;
    UniqueFd socket(
        ::accept4(listening->native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) continue;
    if (!is_ours(socket.get(), owner)) {
      log::warn("refused a supervisor of another user");
      continue;
    }
    use(std::move(socket));
  }
}

asio::awaitable<void> SupervisorLink::State::request_missing_parts() {
  const auto self = shared_from_this();
  timer = std::make_shared<asio::steady_timer>(io);
  using Clock = std::chrono::steady_clock;
  Clock::time_point launcher_seen = Clock::now();
  Clock::time_point gateway_seen = launcher_seen;
  const auto ask = [this](const Part& part, Clock::time_point& seen, const char* message) {
    const Clock::time_point now = Clock::now();
    if (part.is_there()) seen = now;
    if (now - seen < kWithout) return;
    seen = now;
    send(message);
  };
  while (!is_stopped) {
    timer->expires_after(std::chrono::milliseconds(500));
    co_await timer->async_wait(kAwaitTuple);
    if (is_stopped) co_return;
    ask(launcher, launcher_seen, "N");
    ask(gateway, gateway_seen, "M");
  }
}

asio::awaitable<void> SupervisorLink::State::read_doctor(UniqueFd pipe) {
  const auto self = shared_from_this();
  ::fcntl(pipe.get(), F_SETFL, ::fcntl(pipe.get(), F_GETFL) | O_NONBLOCK);
  Descriptor from(io, pipe.release());
  std::string text;
  char piece[4096];
  while (text.size() <= kMaxDoctorReport) {
    const auto [ec, size] = co_await from.async_read_some(asio::buffer(piece), kAwaitTuple);
    if (ec) break;  // the end of the file
    text.append(piece, size);
  }
  if (!text.empty() && text.size() <= kMaxDoctorReport) doctor = std::move(text);
  for (asio::steady_timer* waiting : doctor_waiting) waiting->cancel();
}

Task<std::string> SupervisorLink::State::doctor_report() {
  const auto self = shared_from_this();
  if (doctor.empty()) {
    if (!channel || !channel->is_open()) {
      co_return fail(Errc::kUnavailable, "no supervisor runs that could examine the host");
    }
    if (doctor_waiting.empty()) send("D");
    asio::steady_timer waiting(io, kForDoctor);
    doctor_waiting.push_back(&waiting);
    co_await waiting.async_wait(kAwaitTuple);
    std::erase(doctor_waiting, &waiting);
  }
  if (doctor.empty()) co_return fail(Errc::kUnavailable, "doctor did not say anything");
  co_return doctor;
}

SupervisorLink::SupervisorLink(asio::io_context& io, std::string url, Part launcher, Part gateway)
    : state_(std::make_shared<State>(io, std::move(url))) {
  state_->launcher = std::move(launcher);
  state_->gateway = std::move(gateway);
}

SupervisorLink::~SupervisorLink() { stop(); }

void SupervisorLink::start(UniqueFd channel, UniqueFd listening) {
  if (channel) state_->use(std::move(channel));
  if (listening) {
    state_->listening = std::make_shared<Descriptor>(state_->io, listening.release());
    asio::co_spawn(state_->io, state_->accept(), asio::detached);
  }
  asio::co_spawn(state_->io, state_->request_missing_parts(), asio::detached);
}

void SupervisorLink::say_ready() {
  state_->is_ready = true;
  state_->send_ready_if_so();
}

Task<std::string> SupervisorLink::doctor_report() { return state_->doctor_report(); }

void SupervisorLink::stop() {
  state_->is_stopped = true;
  for (asio::steady_timer* waiting : state_->doctor_waiting) waiting->cancel();
  if (state_->channel) state_->channel->close();
  if (state_->listening) state_->listening->close();
  if (state_->timer) state_->timer->cancel();
}

}  // namespace glovebox::server
