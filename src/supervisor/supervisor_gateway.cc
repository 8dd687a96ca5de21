// What the supervisor does with the gateway: as with the launcher, but nothing waits for it.
// Without one sandboxes have no network, and everything else works.
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <set>

#include "base/log.h"
#include "engine/launcher_client.h"
#include "supervisor/program_arguments.h"
#include "supervisor/supervisor.h"

namespace glovebox::supervisor {
namespace {

using namespace std::chrono_literals;

constexpr auto kBetweenTries = 20ms;  // one that was just started does not listen yet
constexpr auto kBetweenReconnects = 500ms;
constexpr auto kMayTake = 30s;  // until it listens
// A server says that it has lost one only some seconds later.
constexpr auto kTooSoonToPart = 6s;
constexpr int kMostQuickPartings = 3;

// The words of a command line that say what the network may be.
std::set<std::string> network_words(const std::vector<std::string>& arguments) {
  std::set<std::string> words;
  bool is_index = false;
  for (const std::string& word : arguments) {
    if (is_index || word.starts_with("net.")) words.insert((is_index ? "index " : "") + word);
    is_index = word == kIndexWord;
  }
  return words;
}

std::vector<std::string> command_line_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

}  // namespace

// One that was told other bounds than ours would go on enforcing those. Its end costs relays only.
void Supervisor::adopt_gateway(Process found, Clock::time_point now) {
  const auto told = network_words(command_line_of(found.pid));
  std::vector<std::string> ours = config::as_arguments(config_.table);
  for (std::string& word : words_of_indexes(config_.settings)) ours.push_back(std::move(word));
  const bool is_as_told = told == network_words(ours);
  gateway_.run(std::move(found), now);
  gateway_since_ = now;
  // To look for it is to be its newest client: the server is given a new connection.
  gateway_is_introduced_ = false;
  if (is_as_told) return;
  log::info("the settings of the network have changed; the gateway is replaced");
  gateway_.signal(SIGTERM);
}

void Supervisor::start_gateway(Clock::time_point now) {
  StartPlan plan{.program = engine::program_path("glovebox-gateway"),
                 .arguments = {"serve", "--listen", data_.gateway_socket()},
                 .environment = environment_of_programs(config_.settings)};
  for (std::string& word : words_of_indexes(config_.settings)) {
    plan.arguments.push_back(std::move(word));
  }
  if (const std::string port = port_of(url_); !port.empty()) {
    plan.arguments.insert(plan.arguments.end(), {"--server-port", port});
  }
  if (lifeline_) {
    plan.arguments.insert(plan.arguments.end(), {"--end-with", std::to_string(::getpid())});
  }
  for (std::string& word : config::as_arguments(config_.table)) {
    plan.arguments.push_back(std::move(word));
  }
  auto process = start(plan);
  if (!process) {
    gateway_.failed(now);
    return log::warn("cannot start the gateway", {{"error", process.error().message()}});
  }
  gateway_.run(std::move(*process), now);
  gateway_since_ = now;
  gateway_is_introduced_ = false;
  next_gateway_try_ = now;
}

void Supervisor::introduce_the_gateway(Clock::time_point now) {
  if (gateway_is_introduced_ || !channel_ || !server_.is_running() || !gateway_.is_running()) {
    return;
  }
  if (now < next_gateway_try_) return;
  next_gateway_try_ = now + kBetweenTries;
  const auto introduced = introduce_gateway(data_.gateway_socket(), channel_.get());
  if (introduced) {
    gateway_is_introduced_ = true;
    gateway_introduced_at_ = now;
  } else if (introduced.error().code() != Errc::kUnavailable) {
    next_gateway_try_ = now + kBetweenReconnects;
    log::warn("cannot hand the gateway to the server", {{"error", introduced.error().message()}});
  } else if (now - gateway_since_ > kMayTake) {
    log::warn("the gateway does not listen", {{"error", introduced.error().message()}});
    gateway_since_ = now;
    gateway_.signal(SIGKILL);
  }
}

// One that a server loses again and again at once is of another version than it.
void Supervisor::note_need_of_gateway(Clock::time_point now) {
  if (!gateway_is_introduced_) return;
  gateway_is_introduced_ = false;
  next_gateway_try_ = now + Backoff::kLeast;  // not faster, however often it asks
  gateway_partings_ = now - gateway_introduced_at_ < kTooSoonToPart ? gateway_partings_ + 1 : 0;
  if (gateway_partings_ < kMostQuickPartings) return;
  log::warn("gateway and server do not understand each other; the gateway is replaced",
            {{"gateway", std::to_string(gateway_.pid())}});
  gateway_partings_ = 0;
  gateway_.signal(SIGTERM);
}

void Supervisor::handle_end_of_gateway(Clock::time_point now) {
  (void)gateway_.end(now, why_ended());
  gateway_is_introduced_ = false;
}

}  // namespace glovebox::supervisor
