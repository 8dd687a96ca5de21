// glovebox-gateway: decides about the connections of sandboxes and relays them. It has its own
// process and user, no store, no keys, and no files but resolv.conf and hosts. The supervisor
// starts it, or a command that runs without a server; it is not meant to be run by hand.
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
#include "options/help_text.h"

namespace {

using namespace glovebox;

constexpr std::chrono::seconds kFirstClientTimeout{30};

struct GatewayArguments {
  std::string listen;
  UniqueFd channel;
  std::optional<std::uint16_t> server_port;
  pid_t end_with = 0;
  std::vector<net::NetRule> index;
  config::SettingFlags settings;
};

Result<int> parse_number(const std::string& option, const std::string& text, int least, int most) {
  int value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc{} || end != text.data() + text.size() || value < least || value > most) {
    return fail(Errc::kInvalidArgument, option + " must be a number from " + std::to_string(least) +
                                            " to " + std::to_string(most));
  }
  return value;
}

// `arguments` must outlive the parsing.
options::CommandLine gateway_command_line(GatewayArguments& arguments) {
  const options::TakeValue channel = [&arguments](const std::string& text) -> Result<> {
    TRY(const int fd, parse_number("--channel-fd", text, 3, 1 << 20));
    arguments.channel.reset(fd);
    return {};
  };
  const options::TakeValue server_port = [&arguments](const std::string& text) -> Result<> {
    TRY(const int port, parse_number("--server-port", text, 1, 65535));
    arguments.server_port = static_cast<std::uint16_t>(port);
    return {};
  };
  const options::TakeValue end_with = [&arguments](const std::string& text) -> Result<> {
    TRY(arguments.end_with, parse_number("--end-with", text, 1, 1 << 30));
    return {};
  };
  const options::TakeValue index = [&arguments](const std::string& text) -> Result<> {
    TRY(net::NetRule rule, net::NetRule::parse(text));
    arguments.index.push_back(std::move(rule));
    return {};
  };
  std::vector<options::Option> settings = arguments.settings.options();
  // --listen names the control socket here; as a setting it is the server's address.
  std::erase_if(settings, [](const options::Option& option) { return option.names == "--listen"; });
  return {
      .name = "glovebox-gateway",
      .usage = {"serve (--listen SOCKET | --channel-fd N) [OPTION...]"},
      .description =
          "Relay the connections that sandboxes may open. `glovebox serve` starts it, or "
          "`glovebox run --net` if there is no server; it is not meant to be run by hand.",
      .groups = {{"Options",
                  {{"--listen", "SOCKET", "accept clients here; the newest one counts",
                    &arguments.listen},
                   {"--channel-fd", "N",
                    "serve the one client behind this descriptor, and end with it", channel},
                   {"--server-port", "N", "never connect to this port of this host", server_port},
                   {"--end-with", "PID", "end with this process, which is the only client",
                    end_with},
                   {"--index", "RULE",
                    "what builds of packages and pulls of images may reach, like pypi.org:443 "
                    "(repeatable)",
                    index}}},
                 {"Settings", std::move(settings)}},
      .subcommands = {{"serve"}}};
}

// Not the user of the server, so that neither can attack the other if it is compromised.
Result<confine::ServerIds> find_gateway_user(const config::Settings& settings) {
  return confine::find_server_user("", settings.uid + 1);
}

// "127.0.0.1:7070": 7070. For port 0 the supervisor passes the real one with --server-port.
std::optional<std::uint16_t> port_of(const std::string& listen) {
  const std::size_t colon = listen.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  const auto port = parse_number("port", listen.substr(colon + 1), 1, 65535);
  if (!port) return std::nullopt;
  return static_cast<std::uint16_t>(*port);
}

Result<gateway::GatewayOptions> gateway_options(const config::Settings& settings,
                                                const GatewayArguments& arguments) {
  gateway::GatewayOptions options;
  TRY(options.ceiling, config::net_ceiling(settings));
  TRY(const auto servers, config::parse_name_servers(settings.net_resolvers));
  for (const config::NameServer& server : servers) {
    options.resolver.servers.push_back({.address = server.address, .port = server.port});
  }
  options.max_open = settings.net_max_open;
  if (!arguments.index.empty()) options.build_ceiling = config::build_ceiling(arguments.index);
  options.server_port = arguments.server_port ? arguments.server_port : port_of(settings.listen);
  return options;
}

Result<> serve(const config::Settings& settings, GatewayArguments arguments) {
  TRY(const confine::ServerIds ids, find_gateway_user(settings));
  TRY(gateway::GatewayOptions options, gateway_options(settings, arguments));
  const gateway::AllowedClients clients{.uid = ::getuid(), .only = arguments.end_with};
  UniqueFd listening;
  if (!arguments.listen.empty()) {
    TRY(listening, gateway::listen_at(arguments.listen));
  }
  asio::io_context io{1};
  asio::signal_set signals(io, SIGTERM, SIGINT);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGHUP, SIG_IGN);

  TRY_OK(confine::become_server_user(ids));
  if (arguments.end_with != 0) TRY_OK(end_with_parent(arguments.end_with));
  TRY_OK(gateway::restrict_to_resolver_files());
  TRY_OK(confine::install_gateway_filter());
  // From here on the process has no privileges, and the filter is installed.

  TRY(const auto served, gateway::Gateway::make(io, std::move(options)));
  gateway::ControlSocket control(io, *served);
  if (listening) {
    control.serve(std::move(listening), clients);
  } else {
    control.serve_only(std::move(arguments.channel), [&io] { io.stop(); });
  }
  // Without a client its parent was killed before it could connect; the next one starts its own
  // gateway.
  asio::steady_timer first_client(io, kFirstClientTimeout);
  first_client.async_wait([&](const boost::system::error_code& error) {
    if (!error && !control.has_had_client()) io.stop();
  });
  signals.async_wait([&io](const boost::system::error_code& error, int) {
    if (!error) io.stop();
  });
  log::info("gateway serving");
  io.run();
  log::info("gateway stopped");
  return {};
}

int run(const std::vector<std::string>& words) {
  const auto report = [](const Error& error) {
    std::fprintf(stderr, "glovebox-gateway: %s\n", error.message().c_str());
    return 1;
  };
  GatewayArguments arguments;
  const options::CommandLine command = gateway_command_line(arguments);
  if (words.empty()) {
    std::fputs(options::help_text(command).c_str(), stderr);
    return 2;
  }
  const auto parsed = options::parse(command, words);
  if (!parsed) return report(parsed.error());
  if (!parsed->help.empty()) {
    std::fputs(parsed->help.c_str(), stdout);
    return 0;
  }
  if (arguments.listen.empty() == !arguments.channel) {
    return report(Error(Errc::kInvalidArgument, "use either --listen SOCKET or --channel-fd N"));
  }
  auto loaded = config::load(std::move(arguments.settings), config::ProcessEnvironment::current());
  if (!loaded) return report(loaded.error());
  if (auto served = serve(loaded->settings, std::move(arguments)); !served) {
    return report(served.error());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (!ensure_standard_streams()) return 125;
  try {
    return run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "glovebox-gateway: %s\n", error.what());
    return 125;
  }
}
