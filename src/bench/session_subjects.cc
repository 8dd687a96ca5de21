#include "bench/session_subjects.h"

#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <thread>

#include "bench/baselines.h"
#include "bench/load.h"
#include "bench/session_calls.h"

namespace glovebox::bench {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kFileBytes = 1ull << 30;
constexpr unsigned kAtOnce = 100;
constexpr unsigned kManySandboxes = 1000;
constexpr unsigned kFew = 10;

Bar at_most(double ms, std::string text) {
  return {.kind = Bar::Kind::kP50AtMost, .value = ms, .tail = 0, .text = std::move(text)};
}
// `cp` of the same bytes within a tmpfs, to a new file each time.
class CopiedFile {
 public:
  CopiedFile() : directory_("/dev/shm/gbx-bench-" + std::to_string(::getpid())) {
    ::mkdir(directory_.c_str(), 0700);
  }
  ~CopiedFile() {
    ::unlink((directory_ + "/from").c_str());
    ::unlink((directory_ + "/to").c_str());
    ::rmdir(directory_.c_str());
  }
  CopiedFile(const CopiedFile&) = delete;
  CopiedFile& operator=(const CopiedFile&) = delete;

  std::string make() const { return write_zeros(directory_ + "/from", kFileBytes); }
  Round copy(unsigned times) const {
    Round round;
    for (unsigned i = 0; i < times && !interrupted; ++i) {
      ::unlink((directory_ + "/to").c_str());
      const auto timed =
          run_timed({{"/bin/cp", directory_ + "/from", directory_ + "/to"}, {"PATH=/bin"}});
      if (timed && timed->status == 0) {
        round.ms.push_back(timed->took.count());
      } else {
        ++round.errors;
      }
    }
    ::unlink((directory_ + "/to").c_str());
    round.runs = round.ms.size();
    return round;
  }
  std::string from() const { return directory_ + "/from"; }

 private:
  std::string directory_;
};

Subject docker_exec(unsigned calls) {
  Docker docker = docker_container();
  Subject one{make_row("docker-exec-true"), nullptr};
  one.row.skipped = docker.skipped;
  one.measure = [container = std::make_shared<DockerContainer>(std::move(docker.command)), calls] {
    return container->exec_in_turn(calls);
  };
  return one;
}

}  // namespace

std::vector<Subject> make_session_subjects(const client::ServerLocation& location,
                                           const Effort& effort) {
  std::vector<Subject> all;
  const auto calls = std::make_shared<SessionCalls>(location);
  // If sessions cannot be created, every row is skipped with the reason.
  const std::string why_none = calls->try_one();
  const auto add = [&](Row made, std::function<Round()> measure) {
    made.skipped = why_none;
    all.push_back({std::move(made), std::move(measure)});
  };
  all.push_back(docker_exec(effort.containers));
  add(make_row("session-exec-true", "docker-exec-true", ratio_at_most(1.0 / 30, "p50 <= 1/30")),
      [calls, n = effort.back_to_back] { return calls->exec_in_turn(n, milliseconds(0)); });
  add(make_row("session-exec-paced", "docker-exec-true"),
      [calls, n = effort.paced] { return calls->exec_in_turn(n, milliseconds(10)); });
  add(make_row("session-create", "", at_most(6, "p50 <= 6 ms")),
      [calls, n = effort.sessions] { return calls->create_in_turn(n, milliseconds(0), "base"); });
  add(make_row("session-create-paced", "", at_most(15, "p50 <= 15 ms")),
      [calls, n = effort.sessions_paced] {
        return calls->create_in_turn(n, milliseconds(100), "base");
      });
  add(make_row("sessions-100-at-once"), [calls] { return calls->create_at_once(kAtOnce); });
  add(make_row("context-first-print", "", at_most(8, "p50 < 8 ms")),
      [calls, n = effort.contexts] { return calls->first_cells(n); });
  add(make_row("context-next-print"), [calls, n = effort.paced] { return calls->next_cells(n); });

  if (effort.files > 0) {
    const auto file = std::make_shared<CopiedFile>();
    const std::string why_no_file = file->make();
    Subject copy{make_row("cp-tmpfs-1g"), [file, n = effort.files] { return file->copy(n); }};
    copy.row.skipped = why_no_file;
    all.push_back(std::move(copy));
    add(make_row("file-write-1g", "cp-tmpfs-1g", ratio_at_most(2, "time <= 2")),
        [calls, file, n = effort.files] { return calls->write_files(file->from(), n); });
    add(make_row("file-read-1g", "cp-tmpfs-1g", ratio_at_most(2, "time <= 2")),
        [calls, file, n = effort.files] { return calls->read_files(file->from(), n); });
  }
  if (effort.many_sessions) {
    add(make_row("session-create-10-alive"),
        [calls, n = effort.sessions] { return calls->create_among(kFew, n); });
    add(make_row("api-get-10-alive"),
        [calls, n = effort.paced] { return calls->get_among(kFew, n); });
    add(make_row("session-create-1000-alive", "session-create-10-alive",
                 ratio_at_most(1.5, "p50 <= 1.5")),
        [calls, n = effort.sessions] { return calls->create_among(kManySandboxes, n); });
    add(make_row("api-get-1000-alive", "api-get-10-alive", ratio_at_most(1.5, "p50 <= 1.5")),
        [calls, n = effort.paced] {
          Round round = calls->get_among(kManySandboxes, n);
          calls->end_all();
          return round;
        });
  }
  return all;
}

}  // namespace glovebox::bench
