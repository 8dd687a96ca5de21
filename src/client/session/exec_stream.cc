#include "client/session/exec_stream.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <memory>

#include "base/unique_fd.h"
#include "base/write_all.h"
#include "client/answers.h"
#include "client/api.h"
#include "client/session/detach_keys.h"
#include "http/websocket_client.h"
#include "model/outcome.h"
#include "wire/base64_decode.h"
#include "wire/utf8.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

constexpr std::size_t kInputPiece = 32 * 1024;

// Our own terminal, raw, and put back whatever happens.
class RawTerminal {
 public:
  explicit RawTerminal(bool wanted) {
    if (!wanted || ::tcgetattr(STDIN_FILENO, &before_) != 0) return;
    termios raw = before_;
    ::cfmakeraw(&raw);
    raw_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
  }
  ~RawTerminal() {
    if (raw_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

 private:
  termios before_{};
  bool raw_ = false;
};

class ExecStream {
 public:
  ExecStream(std::unique_ptr<http::WebSocketClient> socket, const StreamWish& wish)
      : socket_(std::move(socket)), wish_(wish), reads_input_(wish.input) {}

  Result<StreamEnd> run();

 private:
  Result<bool> on_messages();
  Result<bool> on_message(const json::object& message);
  Result<> on_input();
  Result<bool> on_signal(int signal);
  Result<> tell(const json::object& message) {
    return socket_->send_text(json::serialize(message));
  }
  Result<> tell_size();

  std::unique_ptr<http::WebSocketClient> socket_;
  const StreamWish& wish_;
  bool reads_input_;
  unsigned interrupts_ = 0;
  DetachKeys keys_;
  StreamEnd end_;
};

UniqueFd signals_as_events() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH}) ::sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  return UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

Result<StreamEnd> ExecStream::run() {
  const UniqueFd signals = signals_as_events();
  if (!signals) return fail(Error::from_errno("signalfd"));
  const RawTerminal raw(wish_.terminal);
  TRY_OK(socket_->send_text(wish_.first));
  while (true) {
    pollfd events[] = {{socket_->descriptor(), POLLIN, 0},
                       {signals.get(), POLLIN, 0},
                       {reads_input_ ? STDIN_FILENO : -1, POLLIN, 0}};
    const int ready = ::poll(events, 3, socket_->has_pending() ? 0 : -1);
    if (ready < 0 && errno != EINTR) return fail(Error::from_errno("poll"));
    if (events[0].revents != 0 || socket_->has_pending()) {
      TRY(const bool over, on_messages());
      if (over) return end_;
    }
    signalfd_siginfo signal{};
    while (::read(signals.get(), &signal, sizeof signal) == sizeof signal) {
      TRY(const bool over, on_signal(static_cast<int>(signal.ssi_signo)));
      if (over) return end_;
    }
    if (events[2].revents != 0) TRY_OK(on_input());
    if (keys_.found()) {
      TRY_OK(tell({{"type", "detach"}}));
      end_.detached = true;
      return end_;
    }
  }
}

// All that has arrived. True: it is over.
Result<bool> ExecStream::on_messages() {
  while (true) {
    TRY(const auto received, socket_->receive(std::chrono::milliseconds(0)));
    if (received.is_closed) {
      return fail(
          Errc::kUnavailable,
          "the server closed the connection; the program may go on" +
              (socket_->close_reason().empty() ? std::string() : ": " + socket_->close_reason()));
    }
    if (!received.message) return false;
    TRY(const json::object object, parse_answer(received.message->data));
    TRY(const bool over, on_message(object));
    if (over) return true;
  }
}

Result<bool> ExecStream::on_message(const json::object& message) {
  const std::string type = shown(message, "type");
  if (type == "stdout" || type == "stderr") {
    std::string bytes;
    if (const json::value* text = message.if_contains("data");
        text != nullptr && text->is_string()) {
      bytes = std::string(text->get_string());
    } else {
      const auto decoded = wire::base64_decode(shown(message, "data_base64"));
      if (!decoded) return fail(Errc::kProtocol, "the server sent what is no output");
      bytes = *decoded;
    }
    TRY_OK(write_all(type == "stdout" ? STDOUT_FILENO : STDERR_FILENO, bytes));
  } else if (type == "started") {
    const json::value* number = message.if_contains("process");
    if (number != nullptr && number->is_int64()) {
      end_.process = static_cast<std::uint64_t>(number->get_int64());
    }
    if (wish_.terminal) TRY_OK(tell_size());
    if (!wish_.input) TRY_OK(tell({{"type", "close_stdin"}}));
  } else if (type == "lost") {
    const std::string note =
        "glovebox: " + wire::printable(shown(message, "bytes")) + " bytes of output are lost\n";
    TRY_OK(write_all(STDERR_FILENO, note));
  } else if (type == "exit") {
    const json::value* code = message.if_contains("exit_code");
    if (code != nullptr && code->is_int64()) end_.exit_code = static_cast<int>(code->get_int64());
    if (shown(message, "oom_killed") == "true") {
      TRY_OK(write_all(STDERR_FILENO, "glovebox: killed: out of memory\n"));
    }
    return true;
  } else if (type == "error") {
    return fail(Errc::kUnavailable, shown(message, "message"));
  }
  return false;
}

Result<> ExecStream::on_input() {
  char piece[kInputPiece];
  const ssize_t got = ::read(STDIN_FILENO, piece, sizeof piece);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return {};
  if (got <= 0) {
    reads_input_ = false;
    return tell({{"type", "close_stdin"}});
  }
  std::string typed(piece, static_cast<std::size_t>(got));
  if (wish_.terminal) typed = keys_.filter(typed);
  if (typed.empty()) return {};
  return tell({{"type", "stdin"}, {"data_base64", wire::base64(typed)}});
}

Result<> ExecStream::tell_size() {
  winsize window{};
  if (::ioctl(STDIN_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_row == 0) return {};
  return tell({{"type", "resize"}, {"rows", window.ws_row}, {"columns", window.ws_col}});
}

Result<bool> ExecStream::on_signal(int signal) {
  if (signal == SIGWINCH) {
    if (wish_.terminal) TRY_OK(tell_size());
    return false;
  }
  if (signal == SIGHUP || ++interrupts_ > 1) {  // nobody is there, or does not want to wait
    end_.exit_code = 128 + signal;
    if (signal != SIGHUP) TRY_OK(tell({{"type", "detach"}}));
    return true;
  }
  const char* name = signal == SIGINT ? "INT" : signal == SIGQUIT ? "QUIT" : "TERM";
  TRY_OK(tell({{"type", "signal"}, {"signal", name}}));
  return false;
}

}  // namespace

Result<StreamEnd> run_stream(const Place& place, const StreamWish& wish) {
  TRY(const http::Url url, http::parse_url(place.url));
  http::Headers headers;
  if (!place.key.empty()) headers.set("X-API-Key", place.key);
  const std::string target = "/v1/sandboxes/" + url_encoded(wish.sandbox) + "/exec/stream";
  http::ClientResponse refusal;
  auto socket = http::WebSocketClient::connect(url, target, std::move(headers),
                                               http::ClientOptions{}, &refusal);
  if (!socket) {
    if (refusal.status == 0) return fail(std::move(socket.error()));
    TRY(const Api api, Api::open(place));
    const auto said = api.refusal_of(refusal);
    return fail(Errc::kUnavailable, said ? said->message : socket.error().message());
  }
  ExecStream stream(std::move(*socket), wish);
  return stream.run();
}

}  // namespace glovebox::client
