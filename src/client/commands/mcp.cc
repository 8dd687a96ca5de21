// `glovebox mcp`: the Model Context Protocol on standard input and output, for assistants that
// start their MCP servers themselves. Relays everything to /mcp of a Glovebox server.
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/json.hpp>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "base/unique_fd.h"
#include "client/commands.h"
#include "client/connection/api_client.h"
#include "client/connection/private_server.h"
#include "client/connection/server_location.h"
#include "client/mcp/assistant_config.h"
#include "client/mcp/mcp_relay.h"
#include "client/output/print.h"
#include "client/requests/network_options.h"
#include "http/client/client.h"
#include "options/package_options.h"
#include "wire/packages/package_options.h"

namespace glovebox::client {
namespace {

constexpr std::size_t kMaxMessage = std::size_t{24} << 20;
constexpr std::chrono::milliseconds kHealthTime{3'000};
// After the end of standard input, the time to wait for the last responses.
constexpr std::chrono::milliseconds kLastResponses{1'000};
constexpr int kErrorCode = -32000;

struct McpOptions {
  ServerLocationOptions server;
  std::vector<std::string> settings;
  wire::PackageOptions packages;
  NetworkOptions network;
  std::string image;
  bool print_config = false;
  bool json = false;
};

options::CommandLine mcp_command_line(McpOptions& mcp) {
  return {
      .name = "glovebox mcp",
      .usage = "[OPTIONS] [NAME]",
      .description =
          "Serve the Model Context Protocol on standard input and output: tools that let an AI "
          "assistant run code and commands and work with files in a sandbox of its own. The "
          "assistant starts this command itself; --print-config prints its configuration. If no "
          "server is running, this command starts a private one. The sandbox ends with the "
          "session.",
      .groups = {{"Options",
                  {{"--print-config", "",
                    "print the configuration for an assistant: claude-desktop, claude-code, "
                    "cursor, vscode or generic; without a name, for all of them",
                    &mcp.print_config},
                   {"--json", "", "with --print-config: print one JSON object", &mcp.json},
                   {"--set", "NAME=VALUE",
                    "start a private server with this setting, like mcp.timeout=60s (repeatable)",
                    &mcp.settings},
                   {"--image", "NAME", "make the sandbox of an image, one of `glovebox image list`",
                    &mcp.image}}},
                 options::package_options("Packages of the sandbox", mcp.packages),
                 network_options("Network of the sandbox", mcp.network),
                 server_location_options(mcp.server)},
      .notes =
          "The template, limits and timeouts of the sandboxes are settings of the server (mcp.* "
          "in\n"
          "`glovebox config`). The assistant can change neither these nor packages and network.\n\n"
          "Exit status: 0 the session ended, 2 bad usage, 125 no server responds and none could "
          "be\n"
          "started.\n",
      .most_operands = 1};
}

bool is_server_healthy(const ServerLocation& location) {
  const auto url = http::parse_url(location.url);
  if (!url) return false;
  http::ClientOptions options;
  options.connect_time = options.io_time = kHealthTime;
  http::Client client(*url, std::move(options));
  http::ClientRequest request;
  request.target = "/health";
  const auto response = client.send(request);
  return response && response->status == 200;
}

// Whether the user has named a server. Then no other one is used.
bool is_server_named(const ServerLocationOptions& options, const ServerLocationEnvironment& here) {
  return !options.url.empty() || !options.data_dir.empty() || !here.url.empty();
}

// The server that messages go to.
class ServerChoice {
 public:
  explicit ServerChoice(McpOptions options)
      : options_(std::move(options)), is_private_(!options_.settings.empty()) {}

  // A server that was named or runs on this machine; else, or with settings of its own, a private
  // one, restarted if it has ended.
  Result<ServerLocation> find() {
    if (private_ && private_->has_ended()) private_.reset();
    if (private_) return private_->location();
    if (!is_private_) {
      const ServerLocationEnvironment here = ServerLocationEnvironment::here();
      auto location = find_server_location(options_.server, here);
      if (is_server_named(options_.server, here)) return location;
      // Decided once: a session does not move from a running server to a private one.
      if (location && (is_known_ || (!location->key.empty() && is_server_healthy(*location)))) {
        is_known_ = true;
        return location;
      }
    }
    is_private_ = true;
    TRY(private_, PrivateServer::start(options_.settings));
    return private_->location();
  }
  // The same, but starts no server: for the end of the session.
  Result<ServerLocation> find_running() {
    if (private_ && private_->has_ended()) private_.reset();
    if (is_private_ && !private_) return fail(Errc::kUnavailable, "the private server has ended");
    return find();
  }

 private:
  McpOptions options_;
  std::unique_ptr<PrivateServer> private_;
  bool is_private_;
  bool is_known_ = false;
};

UniqueFd block_mcp_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&set, signal);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  return UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

// Writes to standard output in pieces of PIPE_BUF, which a pipe accepts as a whole, so that a
// client that does not read cannot prevent this process from ending at a signal. False: not
// written.
bool write_line(const std::string& message, int signals) {
  const std::string text = message + "\n";
  std::string_view left = text;
  while (!left.empty()) {
    pollfd waits[2] = {{.fd = 1, .events = POLLOUT, .revents = 0},
                       {.fd = signals, .events = POLLIN, .revents = 0}};
    const int ready = ::poll(waits, 2, -1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0 || (waits[0].revents == 0 && waits[1].revents != 0)) return false;
    const ssize_t put = ::write(1, left.data(), std::min<std::size_t>(left.size(), PIPE_BUF));
    if (put < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (put < 0) return false;
    left.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

enum class InputEvent : std::uint8_t { kInput, kSignal, kNothing };

InputEvent wait_for_input(int input, int signals, int timeout_ms) {
  pollfd waits[2] = {{.fd = signals, .events = POLLIN, .revents = 0},
                     {.fd = input, .events = POLLIN, .revents = 0}};
  const int ready = ::poll(waits, input < 0 ? 1 : 2, timeout_ms);
  if (ready <= 0) return InputEvent::kNothing;
  return waits[0].revents != 0 ? InputEvent::kSignal : InputEvent::kInput;
}

// Until standard input ends or a signal arrives. False: a signal.
bool relay_input(McpRelay& relay, int signals) {
  InputLines lines(kMaxMessage);
  std::string buffer(64 * 1024, '\0');
  while (true) {
    const InputEvent event = wait_for_input(0, signals, -1);
    if (event == InputEvent::kSignal) return false;
    if (event == InputEvent::kNothing) continue;
    const ssize_t got = ::read(0, buffer.data(), buffer.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return true;
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
    for (auto& line : lines.add(bytes)) relay.accept_line(std::move(line));
  }
}

// Responds to the first request with the reason why there is no server.
void reject_first_request(const std::string& reason, int signals) {
  InputLines lines(kMaxMessage);
  std::string buffer(64 * 1024, '\0');
  while (wait_for_input(0, signals, 5'000) == InputEvent::kInput) {
    const ssize_t got = ::read(0, buffer.data(), buffer.size());
    if (got <= 0) return;
    for (const auto& line : lines.add({buffer.data(), static_cast<std::size_t>(got)})) {
      const auto message = line ? read_rpc(*line) : std::nullopt;
      if (!message || message->id.is_null()) continue;
      (void)write_line(rpc_error(message->id, kErrorCode, reason), signals);
      return;
    }
  }
}

// What /mcp takes for a session's sandboxes; empty: nothing was said. kInvalidArgument: an option.
Result<boost::json::object> sandbox_json(const McpOptions& mcp) {
  boost::json::object sandbox;
  TRY_OK(add_packages_and_network(mcp.packages, mcp.network, sandbox));
  if (!mcp.image.empty()) sandbox["image"] = mcp.image;
  return sandbox;
}

int serve_standard_input(McpOptions options, boost::json::object sandbox) {
  const UniqueFd signals = block_mcp_signals();
  ServerChoice servers(std::move(options));
  if (const auto first = servers.find(); !first) {
    const int status = failure(first.error());
    reject_first_request(first.error().message(), signals.get());
    return status;
  }
  std::atomic<bool> has_input_ended = false;
  const auto find_server = [&] {
    return has_input_ended ? servers.find_running() : servers.find();
  };
  const auto write_message = [&](const std::string& message) {
    return write_line(message, signals.get());
  };
  McpRelay relay(find_server, write_message, std::move(sandbox));
  const bool has_ended = relay_input(relay, signals.get());
  const auto deadline = std::chrono::steady_clock::now() + kLastResponses;
  while (has_ended && !relay.is_idle() && std::chrono::steady_clock::now() < deadline) {
    if (wait_for_input(-1, signals.get(), 5) == InputEvent::kSignal) break;
  }
  has_input_ended = true;
  relay.end_session();
  return 0;
}

int print_assistant_config(const McpOptions& mcp, const std::string& assistant) {
  auto program = glovebox_path();
  if (!program) return failure(program.error());
  AssistantConnection connection;
  connection.program = *program;
  connection.args = {"mcp"};
  for (const auto& [option, value] :
       {std::pair("--url", mcp.server.url), std::pair("--data-dir", mcp.server.data_dir),
        std::pair("--image", mcp.image)}) {
    if (!value.empty()) connection.args.insert(connection.args.end(), {option, value});
  }
  const std::pair<const char*, const std::vector<std::string>&> lists[] = {
      {"--set", mcp.settings},
      {"--with", mcp.packages.with},
      {"--preload", mcp.packages.preload},
      {"--net", mcp.network.allow},
      {"--net-deny", mcp.network.deny}};
  for (const auto& [option, values] : lists) {
    for (const std::string& value : values) {
      connection.args.insert(connection.args.end(), {option, value});
    }
  }
  if (mcp.packages.host_packages) connection.args.emplace_back("--host-packages");
  // The assistant starts the command in a directory of its own.
  for (const auto& [option, file] : {std::pair("--requirements", mcp.packages.requirements),
                                     std::pair("--lock", mcp.packages.lock)}) {
    if (file.empty()) continue;
    std::error_code error;
    const std::string path = std::filesystem::absolute(file, error).string();
    connection.args.insert(connection.args.end(), {option, error ? file : path});
  }
  connection.needs_key = !mcp.server.url.empty();
  const auto location = find_server_location(mcp.server, ServerLocationEnvironment::here());
  connection.url = (location ? location->url : "http://127.0.0.1:7070") + "/mcp";
  if (mcp.json) {
    std::fputs(assistant_config_json(connection).c_str(), stdout);
    return 0;
  }
  const auto text = assistant_config_text(connection, assistant);
  if (!text) return usage_error("--print-config: " + text.error().message());
  std::fputs(text->c_str(), stdout);
  return 0;
}

}  // namespace

int mcp_command(const std::vector<std::string>& args) {
  McpOptions mcp;
  options::Arguments arguments;
  if (const auto status = parse_arguments(mcp_command_line(mcp), args, arguments)) return *status;
  if (!mcp.print_config && !arguments.operands.empty()) {
    return usage_error("unexpected argument '" + arguments.operands[0] +
                       "' (see `glovebox mcp --help`)");
  }
  if (mcp.json && !mcp.print_config) return usage_error("--json is only for --print-config");
  if (!mcp.settings.empty() && is_server_named(mcp.server, ServerLocationEnvironment::here())) {
    return usage_error(
        "--set is for a private server, which is not started: --url, --data-dir or GLOVEBOX_URL "
        "names another one");
  }
  // Mistakes are reported before anything is started or printed.
  auto sandbox = sandbox_json(mcp);
  if (!sandbox && sandbox.error().code() != Errc::kInvalidArgument) {
    return failure(sandbox.error());
  }
  if (!sandbox) return usage_error(sandbox.error().message());
  if (!mcp.print_config) return serve_standard_input(std::move(mcp), std::move(*sandbox));
  return print_assistant_config(mcp, arguments.operands.empty() ? "" : arguments.operands[0]);
}

}  // namespace glovebox::client
