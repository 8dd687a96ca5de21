#include "supervisor/supervised_program.h"

#include "base/log.h"

namespace glovebox::supervisor {

void SupervisedProgram::run(Process process, Clock::time_point now) {
  process_ = std::move(process);
  backoff_.started(now);
  log::info(process_.is_child ? "started" : "adopted",
            {{"program", name_}, {"pid", std::to_string(process_.pid)}});
}

ProcessEnding SupervisedProgram::end(Clock::time_point now, Cause cause) {
  const ProcessEnding ending = reap(process_);
  const auto wait = backoff_.ended(now);
  if (cause == Cause::kStopped) {
    log::info("stopped", {{"program", name_}, {"how", ending.text}});
  } else {
    log::warn("a program ended", {{"program", name_},
                                  {"pid", std::to_string(process_.pid)},
                                  {"how", ending.text},
                                  {"next_start_ms", std::to_string(wait.count())}});
  }
  process_ = Process{};
  return ending;
}

void SupervisedProgram::signal(int number) const {
  if (is_running()) (void)send_signal(process_, number);
}

}  // namespace glovebox::supervisor
