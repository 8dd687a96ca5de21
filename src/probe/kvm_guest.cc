#include "probe/kvm_guest.h"

#if defined(__x86_64__)

#include <fcntl.h>
#include <linux/kvm.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace glovebox::probe {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMemory = 5 * 4096;
constexpr std::uint64_t kCodeAt = 0x1000;
constexpr std::uint64_t kTopTable = 0x2000;  // three levels of page tables follow each other
constexpr std::uint16_t kPort = 0x10;

// add ecx to eax, count ecx down to 0, tell through a port that the end is reached, halt.
constexpr std::uint8_t kProgram[] = {
    0x01, 0xc8,  // loop: add eax, ecx
    0xff, 0xc9,  //       dec ecx
    0x75, 0xfa,  //       jnz loop
    0xe6, 0x10,  //       out 0x10, al
    0xf4,        //       hlt
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// 64-bit mode is what a kernel runs in; real mode would be emulated on some hosts whose KVM is
// otherwise fine. One 2 MiB page maps the little memory there is.
void fill_memory(std::uint8_t* memory) {
  std::memcpy(memory + kCodeAt, kProgram, sizeof kProgram);
  constexpr std::uint64_t kPresentWritable = 3;
  constexpr std::uint64_t kLargePage = 0x80;
  const std::uint64_t entries[] = {kTopTable + 0x1000, kTopTable + 0x2000, kLargePage};
  for (std::size_t level = 0; level < 3; ++level) {
    const std::uint64_t entry = entries[level] | kPresentWritable;
    std::memcpy(memory + kTopTable + level * 0x1000, &entry, sizeof entry);
  }
}

void enter_long_mode(kvm_sregs& registers) {
  registers.cr3 = kTopTable;
  registers.cr4 = 1u << 5;                                 // PAE
  registers.cr0 = (1u << 31) | (1u << 5) | (1u << 4) | 1;  // paging, NE, ET, protected mode
  registers.efer = (1u << 10) | (1u << 8);                 // long mode active and enabled
  kvm_segment segment{};
  segment.limit = 0xffffffff;
  segment.present = 1;
  segment.s = 1;
  segment.g = 1;
  segment.selector = 8;
  segment.type = 11;  // code, readable, accessed
  segment.l = 1;
  registers.cs = segment;
  segment.selector = 16;
  segment.type = 3;  // data, writable, accessed
  segment.l = 0;
  segment.db = 1;
  registers.ds = registers.es = registers.fs = registers.gs = registers.ss = segment;
}

struct Machine {
  UniqueFd kvm;
  UniqueFd vm;
  UniqueFd cpu;
  kvm_run* shared = nullptr;  // unmapped when the helper ends
};

Attempt make_machine(Machine& machine) {
  machine.kvm.reset(::open("/dev/kvm", O_RDWR | O_CLOEXEC));
  if (!machine.kvm) return Attempt::failed("open /dev/kvm");
  if (::ioctl(machine.kvm.get(), KVM_GET_API_VERSION, 0) != KVM_API_VERSION) {
    return Attempt::failed("another KVM API", -1);
  }
  machine.vm.reset(::ioctl(machine.kvm.get(), KVM_CREATE_VM, 0));
  if (!machine.vm) return Attempt::failed("create a virtual machine");

  void* memory =
      ::mmap(nullptr, kMemory, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return Attempt::failed("mmap");
  fill_memory(static_cast<std::uint8_t*>(memory));
  kvm_userspace_memory_region region{};
  region.memory_size = kMemory;
  region.userspace_addr = reinterpret_cast<std::uintptr_t>(memory);
  if (::ioctl(machine.vm.get(), KVM_SET_USER_MEMORY_REGION, &region) != 0) {
    return Attempt::failed("give the machine memory");
  }

  machine.cpu.reset(::ioctl(machine.vm.get(), KVM_CREATE_VCPU, 0));
  if (!machine.cpu) return Attempt::failed("create a virtual CPU");
  const int shared_bytes = ::ioctl(machine.kvm.get(), KVM_GET_VCPU_MMAP_SIZE, 0);
  if (shared_bytes < static_cast<int>(sizeof(kvm_run))) {
    return Attempt::failed("size of the virtual CPU's page");
  }
  void* shared = ::mmap(nullptr, static_cast<std::size_t>(shared_bytes), PROT_READ | PROT_WRITE,
                        MAP_SHARED, machine.cpu.get(), 0);
  if (shared == MAP_FAILED) return Attempt::failed("map the virtual CPU's page");
  machine.shared = static_cast<kvm_run*>(shared);
  return Attempt::worked();
}

Attempt set_registers(const Machine& machine, std::uint32_t rounds) {
  kvm_sregs special{};
  if (::ioctl(machine.cpu.get(), KVM_GET_SREGS, &special) != 0) {
    return Attempt::failed("read the virtual CPU's registers");
  }
  enter_long_mode(special);
  if (::ioctl(machine.cpu.get(), KVM_SET_SREGS, &special) != 0) {
    return Attempt::failed("put the virtual CPU into 64-bit mode");
  }
  kvm_regs general{};
  general.rip = kCodeAt;
  general.rflags = 2;
  general.rcx = rounds;
  if (::ioctl(machine.cpu.get(), KVM_SET_REGS, &general) != 0) {
    return Attempt::failed("set the virtual CPU's registers");
  }
  return Attempt::worked();
}

void on_alarm(int) {}

// A signal without SA_RESTART makes KVM_RUN come back with EINTR. It repeats, in case the first
// one comes between two calls.
void arm_timer(std::chrono::milliseconds time) {
  struct sigaction action {};
  action.sa_handler = on_alarm;
  ::sigaction(SIGALRM, &action, nullptr);
  itimerval timer{};
  timer.it_value.tv_usec = std::chrono::microseconds(time).count() % 1'000'000;
  timer.it_value.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(time).count();
  timer.it_interval.tv_usec = 10'000;
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace

Attempt run_counting_guest(std::uint32_t rounds, std::chrono::milliseconds time, GuestRun& run) {
  Machine machine;
  if (Attempt made = make_machine(machine); !made.ok()) return made;
  if (Attempt ready = set_registers(machine, rounds); !ready.ok()) return ready;

  arm_timer(time);
  const Clock::time_point start = Clock::now();
  const auto limit = std::chrono::duration<double>(time).count();
  bool reported = false;
  while (true) {
    const int ran = ::ioctl(machine.cpu.get(), KVM_RUN, 0);
    run.seconds = seconds_since(start);
    if (ran != 0) {
      if (errno != EINTR && errno != EAGAIN) return Attempt::failed("run the guest");
      if (run.seconds >= limit) break;
      continue;
    }
    const kvm_run& exit = *machine.shared;
    if (exit.exit_reason == KVM_EXIT_IO && exit.io.port == kPort) {
      reported = true;
      continue;
    }
    if (exit.exit_reason == KVM_EXIT_HLT) {
      run.finished = reported;
      break;
    }
    return Attempt::failed("the guest stopped for reason " + std::to_string(exit.exit_reason), -1);
  }

  kvm_regs end{};
  if (::ioctl(machine.cpu.get(), KVM_GET_REGS, &end) != 0) {
    return Attempt::failed("read the guest's result");
  }
  const auto left = static_cast<std::uint32_t>(end.rcx);
  run.rounds = rounds - std::min(left, rounds);
  run.right =
      run.finished && left == 0 && static_cast<std::uint32_t>(end.rax) == expected_sum(rounds);
  return Attempt::worked();
}

double native_seconds_per_round(std::uint32_t rounds) {
  std::uint32_t sum = 0;
  std::uint32_t left = rounds;
  const Clock::time_point start = Clock::now();
  asm volatile(
      "1: add %1, %0\n"
      "dec %1\n"
      "jnz 1b\n"
      : "+r"(sum), "+r"(left)
      :
      : "cc");
  return seconds_since(start) / rounds;
}

}  // namespace glovebox::probe

#else

namespace glovebox::probe {

Attempt run_counting_guest(std::uint32_t, std::chrono::milliseconds, GuestRun&) {
  return Attempt::failed("run a guest", ENOSYS);
}

double native_seconds_per_round(std::uint32_t) { return 0; }

}  // namespace glovebox::probe

#endif
