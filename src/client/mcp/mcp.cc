// `glovebox mcp`: the Model Context Protocol on standard input and output, for assistants that
// start their servers themselves. All of it is done by a server's /mcp.
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <optional>

#include "base/unique_fd.h"
#include "client/api.h"
#include "client/commands.h"
#include "client/mcp/config_words.h"
#include "client/mcp/relay.h"
#include "client/place.h"
#include "client/print.h"
#include "client/private_server.h"
#include "http/client.h"

namespace glovebox::client {
namespace {

constexpr const char* kMcpUsage =
    "usage: glovebox mcp [OPTIONS]\n"
    "       glovebox mcp --print-config [NAME]\n"
    "\n"
    "Serves the Model Context Protocol on standard input and output: tools with which an "
    "assistant\n"
    "runs code and commands and handles files in a sandbox of its conversation's own. Assistants\n"
    "start it themselves; --print-config says what to tell them. Without a server that runs, it\n"
    "starts a private one that ends with it. The sandbox ends with the conversation.\n"
    "\n"
    "  --print-config         print what to tell an assistant: claude-desktop, claude-code, "
    "cursor,\n"
    "                         vscode or generic; without a name, all of them\n"
    "  --json                 with --print-config: as one JSON object\n"
    "  --set NAME=VALUE       a setting of the private server, like mcp.timeout=60s; may be "
    "repeated\n";
constexpr const char* kMcpHelp =
    "  --help                 this text\n"
    "\n"
    "What sandboxes are made of, their limits and times are the server's settings (mcp.* in\n"
    "`glovebox config`). An assistant cannot change them.\n"
    "\n"
    "Exit status: 0 the conversation ended, 2 bad usage, 125 there is no server and none could be\n"
    "started.\n";

constexpr std::size_t kMaxMessageLine = std::size_t{24} << 20;
constexpr std::chrono::milliseconds kHealthTime{3'000};
// After the end of standard input: for answers that are nearly there.
constexpr std::chrono::milliseconds kLastAnswers{1'000};
constexpr int kErrorCode = -32000;

struct McpWords {
  PlaceWords place;
  std::vector<std::string> settings;
  bool print_config = false;
  bool json = false;
  bool help = false;
};

bool answers(const Place& place) {
  const auto url = http::parse_url(place.url);
  if (!url) return false;
  http::ClientOptions options;
  options.connect_time = options.io_time = kHealthTime;
  http::Client client(*url, std::move(options));
  http::ClientRequest request;
  request.target = "/health";
  const auto response = client.send(request);
  return response && response->status == 200;
}

// Who named the server? Somebody: then it is that one or none.
bool is_named(const PlaceWords& words, const PlaceSurroundings& here) {
  return !words.url.empty() || !words.data_dir.empty() || !here.url.empty();
}

class Servers {
 public:
  explicit Servers(McpWords words) : words_(std::move(words)) {}

  // A server that was named or runs here; else a private one, started anew when it has died.
  Result<Place> find() {
    if (private_ && private_->has_ended()) private_.reset();
    if (private_) return private_->place();
    if (!is_private_) {
      const PlaceSurroundings here = PlaceSurroundings::here();
      auto place = find_place(words_.place, here);
      if (is_named(words_.place, here)) return place;
      // It is told apart once: a conversation does not move from a server to a private one.
      if (place && (is_known_ || (!place->key.empty() && answers(*place)))) {
        is_known_ = true;
        return place;
      }
    }
    is_private_ = true;
    TRY(private_, PrivateServer::start(words_.settings));
    return private_->place();
  }
  // When the conversation is over, nothing is started any more.
  Result<Place> known() {
    if (private_ && private_->has_ended()) private_.reset();
    if (is_private_ && !private_) return fail(Errc::kUnavailable, "the private server has ended");
    return find();
  }

 private:
  McpWords words_;
  std::unique_ptr<PrivateServer> private_;
  bool is_private_ = false;
  bool is_known_ = false;
};

UniqueFd catch_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&set, signal);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  return UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

// To standard output, in pieces that a pipe takes whole when it takes anything: whoever does not
// read must not keep us from ending when we are told to. False: nobody reads it.
bool report_once(const std::string& message, int signals) {
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

enum class Event : std::uint8_t { kInput, kSignal, kNothing };

Event wait_for(int input, int signals, int timeout_ms) {
  pollfd waits[2] = {{.fd = signals, .events = POLLIN, .revents = 0},
                     {.fd = input, .events = POLLIN, .revents = 0}};
  const int ready = ::poll(waits, input < 0 ? 1 : 2, timeout_ms);
  if (ready <= 0) return Event::kNothing;
  return waits[0].revents != 0 ? Event::kSignal : Event::kInput;
}

// Until standard input ends or a signal comes; false: a signal.
bool relay_input(Relay& relay, int signals) {
  InputLines lines(kMaxMessageLine);
  std::string buffer(64 * 1024, '\0');
  while (true) {
    const Event event = wait_for(0, signals, -1);
    if (event == Event::kSignal) return false;
    if (event == Event::kNothing) continue;
    const ssize_t got = ::read(0, buffer.data(), buffer.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return true;
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
    for (auto& line : lines.add(bytes)) relay.take(std::move(line));
  }
}

// A client that waits for its first answer is told why there is none.
void refuse_first(const std::string& why, int signals) {
  InputLines lines(kMaxMessageLine);
  std::string buffer(64 * 1024, '\0');
  while (wait_for(0, signals, 5'000) == Event::kInput) {
    const ssize_t got = ::read(0, buffer.data(), buffer.size());
    if (got <= 0) return;
    for (const auto& line : lines.add({buffer.data(), static_cast<std::size_t>(got)})) {
      const auto message = line ? read_rpc(*line) : std::nullopt;
      if (!message || message->id.is_null()) continue;
      (void)report_once(rpc_error(message->id, kErrorCode, why), signals);
      return;
    }
  }
}

int serve_input(McpWords words) {
  const UniqueFd signals = catch_signals();
  Servers servers(std::move(words));
  if (const auto first = servers.find(); !first) {
    const int status = failure(first.error());
    refuse_first(first.error().message(), signals.get());
    return status;
  }
  std::atomic<bool> is_over = false;
  const auto find_place = [&] { return is_over ? servers.known() : servers.find(); };
  const auto tell = [&](const std::string& message) { return report_once(message, signals.get()); };
  Relay relay(find_place, tell);
  const bool has_ended = relay_input(relay, signals.get());
  const auto patience = std::chrono::steady_clock::now() + kLastAnswers;
  while (has_ended && !relay.is_idle() && std::chrono::steady_clock::now() < patience) {
    if (wait_for(-1, signals.get(), 5) == Event::kSignal) break;
  }
  is_over = true;
  relay.end_conversation();
  return 0;
}

int print_config(const McpWords& words, std::span<const std::string> rest) {
  auto program = front_path();
  if (!program) return failure(program.error());
  ConfigFacts facts;
  facts.program = *program;
  facts.args = {"mcp"};
  for (const auto& [option, value] :
       {std::pair("--url", words.place.url), std::pair("--data-dir", words.place.data_dir)}) {
    if (!value.empty()) facts.args.insert(facts.args.end(), {option, value});
  }
  for (const std::string& setting : words.settings) {
    facts.args.insert(facts.args.end(), {"--set", setting});
  }
  facts.needs_key = !words.place.url.empty();
  const auto place = find_place(words.place, PlaceSurroundings::here());
  facts.url = (place ? place->url : "http://127.0.0.1:7070") + "/mcp";
  if (words.json) {
    std::fputs(config_json(facts).c_str(), stdout);
    return 0;
  }
  const auto text = config_text(facts, rest.empty() ? "" : rest[0]);
  if (!text) return usage_error("mcp --print-config: " + text.error().message());
  std::fputs(text->c_str(), stdout);
  return 0;
}

}  // namespace

int mcp_command(const std::vector<std::string>& args) {
  McpWords words;
  std::vector<Option> options = place_options(words.place);
  options.insert(options.end(), {{"--print-config", &words.print_config},
                                 {"--json", &words.json},
                                 {"--set", &words.settings},
                                 {"--help", &words.help},
                                 {"-h", &words.help}});
  const auto rest = take_options(args, options, "mcp");
  if (!rest) return usage_error(rest.error().message());
  if (words.help) {
    std::printf("%s%s%s", kMcpUsage, kPlaceHelp, kMcpHelp);
    return 0;
  }
  if (rest->size() > (words.print_config ? 1u : 0u)) {
    return usage_error("mcp: '" + rest->back() +
                       "' is not expected here; see `glovebox mcp --help`");
  }
  if (words.json && !words.print_config) return usage_error("mcp: --json goes with --print-config");
  return words.print_config ? print_config(words, *rest) : serve_input(std::move(words));
}

}  // namespace glovebox::client
