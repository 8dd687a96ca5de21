#include "supervisor/supervised_gateway.h"

#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <set>

#include "base/log.h"
#include "engine/launcher_client.h"
#include "supervisor/control_channel.h"
#include "supervisor/program_arguments.h"

namespace glovebox::supervisor {
namespace {

using namespace std::chrono_literals;

constexpr auto kGatewayRetryInterval = 20ms;  // a gateway that was just started does not listen yet
constexpr auto kGatewayErrorInterval = 500ms;
constexpr auto kGatewayListenTimeout = 30s;

// The arguments of a command line that configure the network.
std::set<std::string> network_arguments(const std::vector<std::string>& arguments) {
  std::set<std::string> found;
  bool is_index = false;
  for (const std::string& argument : arguments) {
    if (is_index || argument.starts_with("net.")) {
      found.insert((is_index ? "index " : "") + argument);
    }
    is_index = argument == kIndexOption;
  }
  return found;
}

std::vector<std::string> command_line_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string one; std::getline(file, one, '\0');) arguments.push_back(one);
  return arguments;
}

}  // namespace

void SupervisedGateway::adopt(Process found, Clock::time_point now) {
  const auto theirs = network_arguments(command_line_of(found.pid));
  std::vector<std::string> ours = config::as_arguments(config_.table);
  for (std::string& argument : index_arguments(config_.settings)) {
    ours.push_back(std::move(argument));
  }
  const bool is_same = theirs == network_arguments(ours);
  program_.run(std::move(found), now);
  running_since_ = now;
  // Finding it meant connecting to it, which replaced the server's connection.
  is_connected_ = false;
  if (is_same) return;
  log::info("the network settings have changed; the gateway is replaced");
  program_.signal(SIGTERM);
}

void SupervisedGateway::start(const std::string& server_url, std::optional<pid_t> owner,
                              Clock::time_point now) {
  StartPlan plan{.program = engine::program_path("glovebox-gateway"),
                 .arguments = {"serve", "--listen", data_.gateway_socket()},
                 .environment = environment_of_programs(config_.settings)};
  for (std::string& argument : index_arguments(config_.settings)) {
    plan.arguments.push_back(std::move(argument));
  }
  if (const std::string port = port_of(server_url); !port.empty()) {
    plan.arguments.insert(plan.arguments.end(), {"--server-port", port});
  }
  if (owner) plan.arguments.insert(plan.arguments.end(), {"--end-with", std::to_string(*owner)});
  for (std::string& argument : config::as_arguments(config_.table)) {
    plan.arguments.push_back(std::move(argument));
  }
  auto process = supervisor::start(plan);
  if (!process) {
    program_.start_failed(now);
    return log::warn("the gateway could not be started", {{"error", process.error().message()}});
  }
  program_.run(std::move(*process), now);
  running_since_ = now;
  is_connected_ = false;
  next_attempt_ = now;
}

void SupervisedGateway::connect_to_server(int channel, Clock::time_point now) {
  if (is_connected_ || !program_.is_running() || now < next_attempt_) return;
  next_attempt_ = now + kGatewayRetryInterval;
  const auto passed = pass_gateway_connection(data_.gateway_socket(), channel);
  if (passed) {
    is_connected_ = true;
    connected_at_ = now;
  } else if (passed.error().code() != Errc::kUnavailable) {
    next_attempt_ = now + kGatewayErrorInterval;
    log::warn("the server could not be given a connection to the gateway",
              {{"error", passed.error().message()}});
  } else if (now - running_since_ > kGatewayListenTimeout) {
    log::warn("the gateway does not listen and is killed", {{"error", passed.error().message()}});
    running_since_ = now;
    program_.signal(SIGKILL);
  }
}

void SupervisedGateway::server_started(Clock::time_point now) {
  is_connected_ = false;
  next_attempt_ = now;
}

void SupervisedGateway::connection_lost(Clock::time_point now) {
  if (!is_connected_) return;
  is_connected_ = false;
  next_attempt_ = now + Backoff::kMin;  // not faster, however often the server asks
  quick_losses_ = now - connected_at_ < kQuickLoss ? quick_losses_ + 1 : 0;
  if (quick_losses_ < kMaxQuickLosses) return;
  log::warn(
      "the server keeps losing the gateway, which is probably of another version and is replaced",
      {{"gateway", std::to_string(program_.pid())}});
  quick_losses_ = 0;
  program_.signal(SIGTERM);
}

void SupervisedGateway::ended(Clock::time_point now, SupervisedProgram::Cause cause) {
  (void)program_.end(now, cause);
  is_connected_ = false;
}

std::optional<Clock::time_point> SupervisedGateway::next_attempt() const {
  if (!program_.is_running() || is_connected_) return std::nullopt;
  return next_attempt_;
}

}  // namespace glovebox::supervisor
