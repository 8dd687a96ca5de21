#include "cli/commands/run.h"
#include "model/outcome.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>

#include "base/unique_fd.h"
#include "base/write_all.h"
#include "cli/local_gateway.h"
#include "cli/print.h"
#include "cli/remote_run.h"
#include "cli/run_options.h"
#include "cli/terminal.h"
#include "engine/catalog.h"
#include "engine/one_shot.h"
#include "model/program_refusal.h"
#include "wire/network/net_refusals.h"
#include "wire/runs/missing_module.h"
#include "wire/runs/outcome_json.h"

namespace glovebox::cli {
namespace {

constexpr std::size_t kMaxCodeFromStdin = 16u << 20;

Result<std::string> code_from_stdin() {
  std::string code;
  char part[65536];
  while (true) {
    const ssize_t got = ::read(STDIN_FILENO, part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(Error::from_errno("read standard input"));
    if (got == 0) return code;
    code.append(part, static_cast<std::size_t>(got));
    if (code.size() > kMaxCodeFromStdin)
      return fail(Errc::kInvalidArgument, "the code is larger than 16M");
  }
}

UniqueFd block_signals(std::initializer_list<int> wanted) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : wanted) ::sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  return UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

// `lacks_network`: the program seems to have failed because it has no network. `missing_module`:
// the module that it seems to have failed for, or empty.
int report_run(const RunOptions& options, const engine::RunResult& result,
               const std::optional<wire::NetworkFigures>& network, bool lacks_network,
               const std::string& missing_module) {
  const Outcome& outcome = result.outcome;
  if (options.json) {
    if (!write_all(STDOUT_FILENO, wire::outcome_json(outcome, network))) return kExitGloveboxFailed;
  } else if (outcome.timed_out) {
    std::fprintf(stderr, "glovebox: the %s limit was reached\n",
                 outcome.cpu_exceeded ? "CPU time" : "time");
  } else if (outcome.oom_killed) {
    std::fprintf(stderr, "glovebox: the memory limit was reached\n");
  }
  if (!options.json && outcome.truncated) {
    std::fprintf(stderr, "glovebox: output past the limit was dropped\n");
  }
  if (network) {
    std::vector<std::string> messages;
    for (const wire::NetRefusal& one : wire::refusals_of(network->decisions)) {
      messages.push_back(one.message);
    }
    const std::string line = wire::refusals_line(messages);
    if (!line.empty()) std::fprintf(stderr, "glovebox: %s\n", line.c_str());
  } else if (lacks_network && outcome.exit_code != 0) {
    std::fprintf(stderr, "glovebox: %.*s\n", static_cast<int>(wire::kNoNetworkHint.size()),
                 wire::kNoNetworkHint.data());
  }
  if (network && network->totals.spent != 0) {
    std::fprintf(stderr, "glovebox: a network budget was exhausted\n");
  }
  if (network && network->incomplete) {
    std::fprintf(
        stderr,
        "glovebox: the network gateway ended before the run; its statistics are incomplete\n");
  }
  if (!options.json && outcome.exit_code != 0 && !missing_module.empty()) {
    const std::string hint =
        wire::missing_module_hint(missing_module, wire::HostPackages::kVisible);
    std::fprintf(stderr, "glovebox: %s\n", hint.c_str());
  }
  if (result.stopped) return kExitInterrupted;
  if (!result.out_failure) return outcome.exit_code;
  // Always reported; but the program's own exit status, if it failed, is the better explanation.
  const int failed = failure(*result.out_failure);
  return outcome.exit_code == 0 ? failed : outcome.exit_code;
}

int report_failed_run(const RunOptions& options, const Error& error) {
  if (options.json) (void)write_all(STDOUT_FILENO, wire::failure_json(error));
  const int status = failure(error);
  const auto refusal = program_refusal_in(error);
  return refusal ? exit_status_of_refusal(refusal_code(*refusal)).value_or(status) : status;
}

}  // namespace

int run_command(std::span<const std::string> args) {
  auto parsed = parse_run_options(args, code_from_stdin);
  if (!parsed) return usage_error(parsed.error().message());
  if (!parsed->options) {
    std::fputs(parsed->help.c_str(), stdout);
    return 0;
  }
  RunOptions& options = *parsed->options;
  if (options.is_remote) return run_remotely(options);
  auto engine = engine::make_engine(options.engine);
  if (!engine) return usage_error(engine.error().message());

  ::signal(SIGPIPE, SIG_IGN);
  const UniqueFd stop = block_signals({SIGINT, SIGTERM, SIGHUP, SIGQUIT});
  const UniqueFd resized = block_signals({SIGWINCH});
  engine::RunHooks hooks;
  hooks.stop_fd = stop.get();
  hooks.stdin_fd = options.stdin_is_code ? -1 : STDIN_FILENO;
  std::string out;
  std::string err;
  wire::NetworkErrorDetector network_errors;
  wire::MissingModule missing_module;
  // Packages are for Python code, and not for the process engine.
  const bool may_have_packages =
      options.language == "python" && options.engine == engine::kDefaultEngine;
  hooks.on_output = [&](engine::Stream stream, std::string_view bytes) {
    if (stream == engine::Stream::kErr) {
      network_errors.add(bytes);
      if (may_have_packages) missing_module.add(bytes);
    }
    if (options.json) {
      (stream == engine::Stream::kOut ? out : err).append(bytes);
      return true;
    }
    return write_all(stream == engine::Stream::kOut ? STDOUT_FILENO : STDERR_FILENO, bytes)
        .has_value();
  };
  std::optional<RawTerminal> raw;
  if (options.terminal) {
    if (::isatty(STDIN_FILENO) != 1) return usage_error("--tty: standard input is not a terminal");
    options.request.exec.terminal = terminal_size(STDIN_FILENO);
    hooks.resize_fd = resized.get();
    hooks.on_resize = [&] {
      signalfd_siginfo ignored;
      while (::read(resized.get(), &ignored, sizeof ignored) > 0) {
      }
      return terminal_size(STDIN_FILENO);
    };
    constexpr char kEscape = 0x1d;  // Ctrl-]
    hooks.on_input = [](std::string_view typed) {
      return typed.find(kEscape) == std::string_view::npos;
    };
    raw.emplace(STDIN_FILENO);
  }
  std::unique_ptr<LocalGateway> gateway;
  if (!options.net.is_none()) {
    auto started = LocalGateway::start(options.net);
    if (!started) return report_failed_run(options, started.error());
    gateway = std::move(*started);
    options.request.has_network = true;
    hooks.on_network = [&](engine::Instance::Lent lent) {
      return gateway->open(lent.id, std::move(lent.sockets));
    };
  }
  auto result = engine::run_once(**engine, options.request, hooks);
  raw.reset();
  if (!result) {
    if (result.error().sys_errno() == EINTR) return kExitInterrupted;
    return report_failed_run(options, result.error());
  }
  std::optional<wire::NetworkFigures> network;
  if (gateway) network = gateway->close();
  result->outcome.out = std::move(out);
  result->outcome.err = std::move(err);
  const int status =
      report_run(options, *result, network, network_errors.found(), missing_module.name());
  // Wait for the private launcher's cleanup only now: the output was printed already. When this
  // command has exited, nothing of the run is left, not even a zombie where PID 1 reaps none.
  result->ended_instance.reset();
  return status;
}

}  // namespace glovebox::cli
