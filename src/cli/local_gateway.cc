#include "cli/local_gateway.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <utility>

#include "base/fd_message.h"
#include "config/load.h"
#include "config/network.h"
#include "engine/launcher_client.h"

namespace glovebox::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kReplyTimeout{10};
constexpr std::chrono::seconds kEndTimeout{2};

int ms_left(Clock::time_point until) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

bool wait_readable(int fd, Clock::time_point until) {
  pollfd event{fd, POLLIN, 0};
  while (true) {
    const int polled = ::poll(&event, 1, ms_left(until));
    if (polled >= 0 || errno != EINTR) return polled > 0;
  }
}

Error gateway_ended() {
  return Error(Errc::kInternal,
               "the network gateway ended unexpectedly; its message, if any, is above");
}

}  // namespace

Result<std::unique_ptr<LocalGateway>> LocalGateway::start(net::NetPolicy policy) {
  config::ProcessEnvironment environment = config::ProcessEnvironment::current();
  if (environment.data_dir.empty()) environment.data_dir = "/";  // required, but not used here
  TRY(const config::LoadedSettings loaded, config::load(config::SettingFlags{}, environment));
  TRY(const net::NetCeiling ceiling, config::net_ceiling(loaded.settings));
  if (auto within = net::check_within(policy, ceiling); !within) {
    return fail(Errc::kPolicy, "--net: " + within.error().message() +
                                   " (net.ceiling, net.allow, net.opened; see `glovebox config`)");
  }
  TRY(SocketPair pair, seqpacket_pair());
  supervisor::StartPlan plan;
  plan.program = engine::program_path("glovebox-gateway");
  plan.arguments = {"serve", "--channel-fd", "3", "--end-with", std::to_string(::getpid())};
  for (std::string& word : config::as_arguments(loaded.table)) {
    plan.arguments.push_back(std::move(word));
  }
  for (const char* name : {"GLOVEBOX_LOG", "GLOVEBOX_LOG_FORMAT"}) {
    if (const char* value = std::getenv(name)) {
      plan.environment.push_back(std::string(name) + "=" + value);
    }
  }
  plan.fd3 = pair.theirs.get();
  TRY(supervisor::Process process, supervisor::start(plan));
  return std::unique_ptr<LocalGateway>(
      new LocalGateway(std::move(policy), std::move(process), std::move(pair.ours)));
}

LocalGateway::~LocalGateway() {
  socket_.reset();  // the gateway ends when its control socket closes
  if (!wait_readable(process_.pidfd.get(), Clock::now() + kEndTimeout)) {
    (void)supervisor::send_signal(process_, SIGKILL);
    (void)wait_readable(process_.pidfd.get(), Clock::now() + kEndTimeout);
  }
  (void)supervisor::reap(process_);
}

Result<wire::GatewayReply> LocalGateway::ask(const wire::GatewayRequest& request,
                                             const std::vector<UniqueFd>& fds) {
  std::vector<int> borrowed;
  for (const UniqueFd& fd : fds) borrowed.push_back(fd.get());
  if (!send_message(socket_.get(), wire::encode(request), borrowed)) return fail(gateway_ended());
  const Clock::time_point until = Clock::now() + kReplyTimeout;
  while (wait_readable(socket_.get(), until)) {
    auto received = receive_message(socket_.get(), wire::kMaxGatewayMessage, 0);
    if (!received || received->bytes.empty()) return fail(gateway_ended());
    TRY(wire::GatewayReply reply, wire::decode_gateway_reply(received->bytes));
    // Decisions that it reports in between are also in its final report.
    if (!std::holds_alternative<wire::NetworkDecided>(reply)) return reply;
  }
  return fail(Errc::kInternal, "the network gateway does not respond");
}

Result<> LocalGateway::open(const SandboxId& id, std::vector<UniqueFd> sockets) {
  const wire::OpenNetwork request{.seq = 1, .id = id, .tenant = "local", .policy = policy_};
  TRY(const wire::GatewayReply reply, ask(request, sockets));
  if (const auto* refused = std::get_if<wire::NetworkRefused>(&reply)) {
    return fail(refused->code, "the network gateway: " + refused->message);
  }
  if (!std::holds_alternative<wire::GatewayDone>(reply)) {
    return fail(Errc::kProtocol, "unexpected reply from the network gateway");
  }
  opened_.push_back(id);
  return {};
}

wire::NetworkFigures LocalGateway::close() {
  wire::NetworkFigures figures;
  if (opened_.empty()) return figures;
  figures.incomplete = true;
  const wire::ReadNetwork request{.seq = 2, .id = opened_.back(), .close = true};
  auto reply = ask(request, {});
  if (!reply) return figures;
  if (auto* report = std::get_if<wire::NetworkReport>(&*reply)) {
    figures = {.totals = report->totals,
               .decisions = std::move(report->decisions),
               .left_out = report->left_out,
               .incomplete = false};
  }
  return figures;
}

}  // namespace glovebox::cli
