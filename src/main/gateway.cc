// glovebox-gateway: what sandboxes reach of the network goes through here, and is decided here. Its
// own process and its own user, with no store, no keys, and no files but resolv.conf and hosts. The
// supervisor starts it, or a command that runs without a server; people type neither.
#include <netinet/in.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/parent_death.h"
#include "base/standard_streams.h"
#include "config/load.h"
#include "config/network.h"
#include "config/package_index.h"
#include "confine/gateway_filter.h"
#include "confine/server_user.h"
#include "gateway/control_socket.h"
#include "gateway/gateway.h"
#include "gateway/restrict_filesystem.h"
#include "net/net_rule.h"

namespace {

using namespace glovebox;
using Words = std::vector<std::string>;

constexpr std::chrono::seconds kMayWaitForClient{30};

constexpr const char* kHelp =
    "usage: glovebox-gateway serve (--listen SOCKET | --channel-fd N) [OPTION...]\n"
    "\n"
    "Relays what sandboxes may reach. Started by `glovebox serve`, or by `glovebox run --net`\n"
    "where there is no server; it is not meant to be typed.\n"
    "\n"
    "  --listen SOCKET    take clients here; of several the newest counts\n"
    "  --channel-fd N     serve the one client behind this descriptor, and end with it\n"
    "  --server-port N    never connect to this port of this host\n"
    "  --end-with PID     end with this process, which is the only one to be a client\n"
    "  --index RULE       builds of packages may reach this, like pypi.org:443; may be repeated\n"
    "  --set KEY=VALUE    a setting; `glovebox config` lists them\n";

struct Said {
  std::string listen;
  UniqueFd channel;
  std::optional<std::uint16_t> server_port;
  pid_t end_with = 0;
  std::vector<net::NetRule> index;
  Words settings;
};

Result<int> number(const std::string& option, const std::string& text, int least, int most) {
  int value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc{} || end != text.data() + text.size() || value < least || value > most) {
    return fail(Errc::kInvalidArgument, option + " takes a number from " + std::to_string(least) +
                                            " to " + std::to_string(most));
  }
  return value;
}

// --listen is this program's here, and the server's in its settings (server.listen).
Result<Said> read_words(const Words& words) {
  Said said;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& option = words[i];
    const bool ours = option == "--listen" || option == "--channel-fd" ||
                      option == "--server-port" || option == "--end-with" || option == "--index";
    if (!ours) {
      said.settings.push_back(option);
      // Its value is not to be taken for an option of ours.
      if ((option == "--set" || option == "--config" || option == "--data-dir") &&
          i + 1 < words.size()) {
        said.settings.push_back(words[++i]);
      }
      continue;
    }
    if (i + 1 == words.size()) return fail(Errc::kInvalidArgument, option + " takes a value");
    const std::string& text = words[++i];
    if (option == "--listen") {
      said.listen = text;
    } else if (option == "--channel-fd") {
      TRY(const int fd, number(option, text, 3, 1 << 20));
      said.channel.reset(fd);
    } else if (option == "--server-port") {
      TRY(const int port, number(option, text, 1, 65535));
      said.server_port = static_cast<std::uint16_t>(port);
    } else if (option == "--index") {
      TRY(net::NetRule rule, net::NetRule::parse(text));
      said.index.push_back(std::move(rule));
    } else {
      TRY(said.end_with, number(option, text, 1, 1 << 30));
    }
  }
  if (said.listen.empty() == !said.channel) {
    return fail(Errc::kInvalidArgument, "either --listen SOCKET or --channel-fd N");
  }
  return said;
}

// Not the server's: neither could do anything to the other if it were broken into.
Result<confine::ServerIds> find_gateway_user(const config::Settings& settings) {
  return confine::find_server_user("", settings.uid + 1);
}

// "127.0.0.1:7070": 7070. Port 0 is some other one, which --server-port tells.
std::optional<std::uint16_t> port_of(const std::string& listen) {
  const std::size_t colon = listen.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  const auto port = number("", listen.substr(colon + 1), 1, 65535);
  if (!port) return std::nullopt;
  return static_cast<std::uint16_t>(*port);
}

Result<gateway::GatewayOptions> gateway_options(const config::Settings& settings,
                                                const Said& said) {
  gateway::GatewayOptions options;
  TRY(options.ceiling, config::net_ceiling(settings));
  TRY(const auto servers, config::parse_name_servers(settings.net_resolvers));
  for (const config::NameServer& server : servers) {
    options.resolver.servers.push_back({.address = server.address, .port = server.port});
  }
  options.max_open = settings.net_max_open;
  if (!said.index.empty()) options.build_ceiling = config::build_ceiling(said.index);
  options.server_port = said.server_port ? said.server_port : port_of(settings.listen);
  return options;
}

Result<> serve(const config::Settings& settings, Said said) {
  TRY(const confine::ServerIds ids, find_gateway_user(settings));
  TRY(gateway::GatewayOptions options, gateway_options(settings, said));
  const gateway::Clients clients{.uid = ::getuid(), .only = said.end_with};
  UniqueFd listening;
  if (!said.listen.empty()) {
    TRY(listening, gateway::listen_at(said.listen));
  }
  asio::io_context io{1};
  asio::signal_set signals(io, SIGTERM, SIGINT);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGHUP, SIG_IGN);

  TRY_OK(confine::become_server_user(ids));
  if (said.end_with != 0) TRY_OK(end_with_parent(said.end_with));
  TRY_OK(gateway::restrict_to_resolver_files());
  TRY_OK(confine::install_gateway_filter());
  // From here on nothing of root is left, and the filter stands.

  TRY(const auto served, gateway::Gateway::make(io, std::move(options)));
  gateway::ControlSocket control(io, *served);
  if (listening) {
    control.serve(std::move(listening), clients);
  } else {
    control.serve_only(std::move(said.channel), [&io] { io.stop(); });
  }
  // Whoever started it was killed before it could say who its client is; another starts another.
  asio::steady_timer lonely(io, kMayWaitForClient);
  lonely.async_wait([&](const boost::system::error_code& error) {
    if (!error && !control.has_had_client()) io.stop();
  });
  signals.async_wait([&io](const boost::system::error_code& error, int) {
    if (!error) io.stop();
  });
  log::info("the gateway serves");
  io.run();
  log::info("the gateway has stopped");
  return {};
}

int run(const Words& words) {
  const auto complain = [](const Error& error) {
    std::fprintf(stderr, "glovebox-gateway: %s\n", error.message().c_str());
    return 1;
  };
  if (words.size() == 1 && (words[0] == "--help" || words[0] == "-h")) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  if (words.empty() || words[0] != "serve") {
    std::fputs(kHelp, stderr);
    return 2;
  }
  auto said = read_words(Words(words.begin() + 1, words.end()));
  if (!said) return complain(said.error());
  auto loaded = config::load(said->settings, config::Surroundings::here());
  if (!loaded) return complain(loaded.error());
  if (!loaded->rest.empty()) {
    return complain(
        Error(Errc::kInvalidArgument, "'" + loaded->rest.front() + "' is not known here"));
  }
  if (auto served = serve(loaded->settings, std::move(*said)); !served) {
    return complain(served.error());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (!ensure_standard_streams()) return 125;
  try {
    return run(Words(argv + 1, argv + argc));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "glovebox-gateway: %s\n", error.what());
    return 125;
  }
}
