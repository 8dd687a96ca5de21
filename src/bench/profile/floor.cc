#include "bench/profile/floor.h"

#include <chrono>
#include <cstdlib>
#include <thread>

#include "bench/load.h"
#include "bench/process.h"
#include "bench/profile/kernel_threads.h"
#include "bench/profile/process_clock.h"

namespace glovebox::bench {
namespace {

using std::chrono::nanoseconds;

constexpr std::chrono::milliseconds kCleanupTime{300};

// A plain fork of a bare interpreter that does the work of the measured run. Its first children
// find code that the interpreter still specialises, and are not counted.
constexpr const char* kForkingPython = R"py(
import gc, os, resource, sys
count, null = int(sys.argv[1]), os.open("/dev/null", os.O_WRONLY)
def run():
    child = os.fork()
    if child == 0:
        os.dup2(null, 1)
        exec(compile("print(1+1)", "main.py", "exec"), {"__name__": "__main__"})
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)
def used():
    of = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in of)
gc.freeze()
for _ in range(20): run()
begin = used()
for _ in range(count): run()
print(1000 * (used() - begin) / count)
)py";

double ms_of(nanoseconds time, unsigned calls) {
  return Milliseconds(time).count() / (calls > 0 ? calls : 1);
}

FloorPart made_namespaces(unsigned calls) {
  FloorPart part{"namespaces", 0, ""};
  if (const auto tried = empty_namespaces_timed(); !tried) {
    part.missing = tried.error().message();
    return part;
  }
  const nanoseconds begin = own_cpu_time();
  unsigned made = 0;
  for (; made < calls && !interrupted; ++made) (void)empty_namespaces_timed();
  part.cpu_ms = ms_of(own_cpu_time() - begin, made);
  return part;
}

// With the kernel's threads, which remove the namespaces later.
std::vector<FloorPart> namespaces(unsigned calls) {
  const auto idle_begin = kernel_threads();
  std::this_thread::sleep_for(kCleanupTime);
  const auto begin = kernel_threads();
  const auto began = Clock::now();
  std::vector<FloorPart> parts = {made_namespaces(calls)};
  std::this_thread::sleep_for(kCleanupTime);
  const auto end = kernel_threads();
  FloorPart& removed = parts.emplace_back(FloorPart{"namespaces, kernel threads", 0, ""});
  if (!idle_begin || !begin || !end) {
    removed.missing = end ? "they could not be read" : end.error().message();
    return parts;
  }
  const GroupTimes added = without_idle(added_times(*begin, *end), added_times(*idle_begin, *begin),
                                        ms_since(began) / Milliseconds(kCleanupTime).count());
  removed.cpu_ms = ms_of(sum_of(added), calls);
  return parts;
}

FloorPart forked_interpreter(unsigned calls) {
  FloorPart part{"interpreter", 0, ""};
  const Command python{
      {"/usr/bin/python3", "-I", "-S", "-c", kForkingPython, std::to_string(calls)},
      {"LANG=C.UTF-8"}};
  if (const auto printed = output_of(python); printed) {
    part.cpu_ms = std::strtod(printed->c_str(), nullptr);
  } else {
    part.missing = printed.error().message();
  }
  return part;
}

FloorPart http_request(const client::ServerLocation& location, pid_t server, unsigned calls) {
  FloorPart part{"HTTP request", 0, ""};
  Caller caller(location);
  (void)caller.get("/health");  // connects
  const auto begin = process_cpu_time(server);
  for (unsigned i = 0; i < calls && !interrupted; ++i) (void)caller.get("/health");
  const auto end = process_cpu_time(server);
  if (begin && end) {
    part.cpu_ms = ms_of(*end - *begin, calls);
  } else {
    part.missing = "the server has ended";
  }
  return part;
}

}  // namespace

std::vector<FloorPart> measure_floor(const client::ServerLocation& location, pid_t server,
                                     unsigned calls) {
  std::vector<FloorPart> parts = namespaces(calls);
  parts.push_back(forked_interpreter(calls));
  parts.push_back(http_request(location, server, calls));
  return parts;
}

}  // namespace glovebox::bench
