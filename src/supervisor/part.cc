#include "supervisor/part.h"

#include "base/log.h"

namespace glovebox::supervisor {

void Part::run(Process process, Clock::time_point now) {
  process_ = std::move(process);
  backoff_.started(now);
  log::info(process_.is_child ? "started" : "adopted",
            {{"program", name_}, {"pid", std::to_string(process_.pid)}});
}

Ending Part::end(Clock::time_point now, Why why) {
  const Ending ending = reap(process_);
  const auto wait = backoff_.ended(now);
  if (why == Why::kWeStop) {
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

void Part::signal(int number) const {
  if (is_running()) (void)send_signal(process_, number);
}

}  // namespace glovebox::supervisor
