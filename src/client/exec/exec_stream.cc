#include "client/exec/exec_stream.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <memory>

#include "base/base64.h"
#include "base/percent_encoding.h"
#include "base/unique_fd.h"
#include "base/utf8.h"
#include "base/write_all.h"
#include "client/connection/api_client.h"
#include "client/exec/detach_keys.h"
#include "client/output/response_fields.h"
#include "http/websocket/websocket_client.h"
#include "model/outcome.h"
#include "wire/network/net_refusals.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

constexpr std::size_t kPiece = 32 * 1024;

// Raw mode of the local terminal; the destructor restores it.
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
  ExecStream(std::unique_ptr<http::WebSocketClient> socket, const ExecStreamRequest& request)
      : socket_(std::move(socket)), request_(request), reads_input_(request.input) {}

  Result<ExecStreamResult> run();

 private:
  Result<bool> on_messages();
  Result<bool> on_message(const json::object& message);
  Result<> on_input();
  Result<bool> on_signal(int signal);
  Result<> send(const json::object& message) {
    return socket_->send_text(json::serialize(message));
  }
  Result<> sresult_terminal_size();

  std::unique_ptr<http::WebSocketClient> socket_;
  const ExecStreamRequest& request_;
  bool reads_input_;
  bool has_started_ = false;
  unsigned interrupts_ = 0;
  DetachKeys keys_;
  wire::NetworkErrorDetector network_errors_;
  ExecStreamResult result_;
};

UniqueFd block_signals_for_poll() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH}) ::sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  return UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

Result<ExecStreamResult> ExecStream::run() {
  const UniqueFd signals = block_signals_for_poll();
  if (!signals) return fail(Error::from_errno("signalfd"));
  const RawTerminal raw(request_.terminal);
  TRY_OK(socket_->send_text(request_.first_message));
  while (true) {
    pollfd events[] = {{socket_->descriptor(), POLLIN, 0},
                       {signals.get(), POLLIN, 0},
                       {reads_input_ ? STDIN_FILENO : -1, POLLIN, 0}};
    const int ready = ::poll(events, 3, socket_->has_pending() ? 0 : -1);
    if (ready < 0 && errno != EINTR) return fail(Error::from_errno("poll"));
    if (events[0].revents != 0 || socket_->has_pending()) {
      TRY(const bool has_ended, on_messages());
      if (has_ended) return result_;
    }
    signalfd_siginfo signal{};
    while (::read(signals.get(), &signal, sizeof signal) == sizeof signal) {
      TRY(const bool has_ended, on_signal(static_cast<int>(signal.ssi_signo)));
      if (has_ended) return result_;
    }
    if (events[2].revents != 0) TRY_OK(on_input());
    if (keys_.found()) {
      TRY_OK(send({{"type", "detach"}}));
      result_.detached = true;
      return result_;
    }
  }
}

// Handles all messages that have arrived. True: the program has ended.
Result<bool> ExecStream::on_messages() {
  while (true) {
    TRY(const auto received, socket_->receive(std::chrono::milliseconds(0)));
    if (received.is_closed) {
      return fail(
          Errc::kUnavailable,
          "the server closed the connection; the program may still run" +
              (socket_->close_reason().empty() ? std::string() : ": " + socket_->close_reason()));
    }
    if (!received.message) return false;
    TRY(const json::object object, parse_response(received.message->data));
    TRY(const bool has_ended, on_message(object));
    if (has_ended) return true;
  }
}

Result<bool> ExecStream::on_message(const json::object& message) {
  const std::string type = field_text(message, "type");
  if (type == "stdout" || type == "stderr") {
    std::string bytes;
    if (const json::value* text = message.if_contains("data");
        text != nullptr && text->is_string()) {
      bytes = std::string(text->get_string());
    } else {
      const auto decoded = base64_decode(field_text(message, "data_base64"));
      if (!decoded) return fail(Errc::kProtocol, "malformed output message from the server");
      bytes = *decoded;
    }
    if (type == "stderr" || request_.terminal) network_errors_.add(bytes);
    const auto written = write_all(type == "stdout" ? STDOUT_FILENO : STDERR_FILENO, bytes);
    if (!written && written.error().sys_errno() == EPIPE) {
      result_.is_output_closed = true;
      return true;
    }
    TRY_OK(written);
  } else if (type == "started") {
    has_started_ = true;
    const json::value* number = message.if_contains("process");
    if (number != nullptr && number->is_int64()) {
      result_.process = static_cast<std::uint64_t>(number->get_int64());
    }
    if (request_.terminal) TRY_OK(sresult_terminal_size());
    if (!request_.input) TRY_OK(send({{"type", "close_stdin"}}));
  } else if (type == "lost") {
    const std::string note =
        "glovebox: " + printable(field_text(message, "bytes")) + " bytes of output were lost\n";
    TRY_OK(write_all(STDERR_FILENO, note));
  } else if (type == "exit") {
    const json::value* code = message.if_contains("exit_code");
    if (code != nullptr && code->is_int64())
      result_.exit_code = static_cast<int>(code->get_int64());
    result_.timed_out = field_text(message, "timed_out") == "true";
    result_.has_network_errors = network_errors_.found();
    if (field_text(message, "oom_killed") == "true") {
      TRY_OK(write_all(STDERR_FILENO, "glovebox: killed: out of memory\n"));
    }
    return true;
  } else if (type == "error" && !has_started_) {
    result_.refused = ApiError{.status = 0,
                               .code = string_field(message, "code"),
                               .message = field_text(message, "message")};
    return true;
  } else if (type == "error") {
    return fail(Errc::kUnavailable, field_text(message, "message"));
  }
  return false;
}

Result<> ExecStream::on_input() {
  char piece[kPiece];
  const ssize_t got = ::read(STDIN_FILENO, piece, sizeof piece);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return {};
  if (got <= 0) {
    reads_input_ = false;
    return send({{"type", "close_stdin"}});
  }
  std::string typed(piece, static_cast<std::size_t>(got));
  if (request_.terminal) typed = keys_.filter(typed);
  if (typed.empty()) return {};
  return send({{"type", "stdin"}, {"data_base64", base64_encode(typed)}});
}

Result<> ExecStream::sresult_terminal_size() {
  winsize window{};
  if (::ioctl(STDIN_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_row == 0) return {};
  return send({{"type", "resize"}, {"rows", window.ws_row}, {"columns", window.ws_col}});
}

Result<bool> ExecStream::on_signal(int signal) {
  if (signal == SIGWINCH) {
    if (request_.terminal) TRY_OK(sresult_terminal_size());
    return false;
  }
  if (signal == SIGHUP || ++interrupts_ > 1) {  // the terminal is gone, or the second Ctrl-C
    result_.exit_code = 128 + signal;
    if (signal != SIGHUP) TRY_OK(send({{"type", "detach"}}));
    return true;
  }
  const char* name = signal == SIGINT ? "INT" : signal == SIGQUIT ? "QUIT" : "TERM";
  TRY_OK(send({{"type", "signal"}, {"signal", name}}));
  return false;
}

}  // namespace

Result<ExecStreamResult> run_exec_stream(const ServerLocation& location,
                                         const ExecStreamRequest& request) {
  TRY(const http::Url url, http::parse_url(location.url));
  http::Headers headers;
  if (!location.key.empty()) headers.set("X-API-Key", location.key);
  const std::string target = "/v1/sandboxes/" + percent_encode(request.sandbox) + "/exec/stream";
  http::ClientResponse response;
  auto socket = http::WebSocketClient::connect(url, target, std::move(headers),
                                               http::ClientOptions{}, &response);
  if (!socket) {
    if (response.status == 0) return fail(std::move(socket.error()));
    TRY(const ApiClient api, ApiClient::open(location));
    auto error = api.error_in(response);
    if (!error) return fail(Errc::kUnavailable, socket.error().message());
    return ExecStreamResult{.refused = std::move(error)};
  }
  ExecStream stream(std::move(*socket), request);
  return stream.run();
}

}  // namespace glovebox::client
