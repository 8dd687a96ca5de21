// Random system calls with random arguments, for a time: what a hostile program might try that
// is in no table. Runs inside a sandbox only. Children make the calls, because most of them die of
// it soon; the parent starts the next one and prints how many calls were made.
//
//   syscall_fuzz SECONDS SEED
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace {

constexpr long kHighestCall = 470;  // a few above the last of Linux 6.18
constexpr int kCallsPerChild = 5'000;
constexpr unsigned kSecondsPerChild = 1;
constexpr std::size_t kScratchBytes = 1 << 16;

// Those that end the fuzzer or wait for ever, and try no wall.
constexpr std::array kLeftOut = {SYS_exit,
                                 SYS_exit_group,
                                 SYS_kill,
                                 SYS_tkill,
                                 SYS_tgkill,
                                 SYS_rt_sigqueueinfo,
                                 SYS_rt_tgsigqueueinfo,
                                 SYS_pidfd_send_signal,
                                 SYS_pause,
                                 SYS_rt_sigsuspend,
                                 SYS_rt_sigreturn,
                                 SYS_vfork};

class Arguments {
 public:
  Arguments(std::uint64_t seed, char* scratch) : random_(seed), scratch_(scratch) {}

  long call() {
    for (;;) {
      const long number = static_cast<long>(random_() % kHighestCall);
      if (std::find(kLeftOut.begin(), kLeftOut.end(), number) == kLeftOut.end()) return number;
    }
  }

  long next() {
    switch (random_() % 10) {
      case 0:
        return 0;
      case 1:
        return -1;
      case 2:
        return static_cast<long>(random_() % 32);  // a descriptor, a small number
      case 3:
        return 1L << (random_() % 63);  // a flag
      case 4:
        return static_cast<long>(random_());
      case 5:
        return -100;  // AT_FDCWD
      case 6:
        return static_cast<long>(random_() & 0xffff);
      default:
        return reinterpret_cast<long>(scratch_ + random_() % (kScratchBytes - 4096));
    }
  }

  // Structures, paths, lists of pointers: whatever the bytes happen to be.
  void fill() {
    static constexpr const char* kPaths[] = {"/",         "/proc/self/mem", "/proc/1/root",
                                             "/dev/null", "/sys/kernel",    "/etc/passwd",
                                             "..",        "/tmp/f"};
    char* at = scratch_ + random_() % (kScratchBytes - 4096);
    if (random_() % 2 == 0) {
      std::snprintf(at, 64, "%s", kPaths[random_() % std::size(kPaths)]);
    } else {
      for (int i = 0; i < 16; ++i) reinterpret_cast<long*>(scratch_)[random_() % 512] = next();
    }
  }

 private:
  std::mt19937_64 random_;
  char* scratch_;
};

[[noreturn]] void fuzz(std::uint64_t seed, std::atomic<std::uint64_t>& calls) {
  ::alarm(kSecondsPerChild);
  void* scratch =
      ::mmap(nullptr, kScratchBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (scratch == MAP_FAILED) ::_exit(1);
  Arguments arguments(seed, static_cast<char*>(scratch));
  for (int i = 0; i < kCallsPerChild; ++i) {
    arguments.fill();
    const long number = arguments.call();
    calls.fetch_add(1, std::memory_order_relaxed);
    ::syscall(number, arguments.next(), arguments.next(), arguments.next(), arguments.next(),
              arguments.next(), arguments.next());
  }
  ::_exit(0);
}

// Waits for it, and ends it when its time is up: it may have blocked the alarm.
void end_of(pid_t child) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(kSecondsPerChild);
  while (::waitpid(child, nullptr, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > until) ::kill(child, SIGKILL);
    ::usleep(500);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: syscall_fuzz SECONDS SEED\n");
    return 2;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(argv[1]));
  std::uint64_t seed = std::strtoull(argv[2], nullptr, 10);
  // Among pages that cannot be written: a call that writes past the scratch memory does not count.
  constexpr std::size_t kGuardBytes = 1 << 20;
  char* guarded = static_cast<char*>(
      ::mmap(nullptr, 2 * kGuardBytes, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (guarded == MAP_FAILED ||
      ::mprotect(guarded + kGuardBytes, 4096, PROT_READ | PROT_WRITE) != 0) {
    return 1;
  }
  auto& calls = *new (guarded + kGuardBytes) std::atomic<std::uint64_t>(0);
  std::uint64_t children = 0;
  while (std::chrono::steady_clock::now() < end) {
    const pid_t child = ::fork();
    if (child < 0) {
      // Children of children hold the places; most end with their alarm.
      ::usleep(50'000);
    } else if (child == 0) {
      // Not our own output: a child writes to any descriptor it finds.
      const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
      for (int fd = 0; fd < 3; ++fd) ::dup2(null, fd);
      fuzz(seed, calls);
    } else {
      ++children;
      ++seed;
      end_of(child);
    }
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
  std::printf("%llu calls in %llu processes\n", static_cast<unsigned long long>(calls.load()),
              static_cast<unsigned long long>(children));
  return 0;
}
