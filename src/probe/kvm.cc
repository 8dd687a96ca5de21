#include "probe/kvm.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string_view>
#include <vector>

#include "probe/kernel_text.h"
#include "probe/kvm_guest.h"
#include "probe/own_user.h"

namespace glovebox::probe {

namespace {

// Nested virtualisation with hardware help costs a plain loop nothing; a factor of 20 leaves room
// for a busy neighbour, and what emulates instructions is beyond 1000.
constexpr double kTooSlowFactor = 20;
constexpr std::uint32_t kRounds = 50'000'000;  // about 15 ms of one core
constexpr std::chrono::milliseconds kGuestTime{250};
constexpr std::chrono::milliseconds kGuestDeadline{900};
// Below this the guest did too little for its speed to mean anything.
constexpr std::uint64_t kFewRounds = 1000;

// A run as text for the helper's note: "rounds finished right seconds".
std::string encode(const GuestRun& run) {
  char text[96];
  std::snprintf(text, sizeof text, "%llu %d %d %.9f", static_cast<unsigned long long>(run.rounds),
                run.finished ? 1 : 0, run.right ? 1 : 0, run.seconds);
  return text;
}

std::optional<GuestRun> decode(std::string_view note) {
  const std::vector<std::string_view> fields = words(note);
  if (fields.size() != 4) return std::nullopt;
  GuestRun run;
  run.rounds = static_cast<std::uint64_t>(parse_number(fields[0]).value_or(0));
  run.finished = fields[1] == "1";
  run.right = fields[2] == "1";
  std::from_chars(fields[3].data(), fields[3].data() + fields[3].size(), run.seconds);
  return run;
}

// The module that drives /dev/kvm, for the detail line: "kvm_intel", "kvm_amd", or something else.
std::string driver_name() {
  for (const char* name : {"kvm_intel", "kvm_amd", "kvm_pvm"}) {
    if (::access((std::string("/sys/module/") + name).c_str(), F_OK) == 0) return name;
  }
  return "kvm";
}

std::string times_text(double factor) {
  // Two digits say all there is to say.
  const double unit = std::pow(10, std::max(0.0, std::floor(std::log10(factor)) - 1));
  char text[32];
  std::snprintf(text, sizeof text, "%.0f", std::round(factor / unit) * unit);
  return text;
}

}  // namespace

std::uint32_t expected_sum(std::uint32_t rounds) {
  const std::uint64_t n = rounds;
  return static_cast<std::uint32_t>(n * (n + 1) / 2);
}

KvmFacts judge_guest(const GuestRun& run, double native_seconds_per_round) {
  KvmFacts facts;
  if (run.finished && !run.right) {
    facts.verdict = KvmFacts::Verdict::kWrong;
    facts.detail = "the test guest computed a wrong sum";
    return facts;
  }
  if (run.rounds < kFewRounds || run.seconds <= 0 || native_seconds_per_round <= 0) {
    facts.verdict = KvmFacts::Verdict::kTooSlow;
    facts.detail =
        "the test guest did not get beyond " + std::to_string(run.rounds) + " rounds of its loop";
    return facts;
  }
  facts.slowdown = run.seconds / static_cast<double>(run.rounds) / native_seconds_per_round;
  if (facts.slowdown > kTooSlowFactor) {
    facts.verdict = KvmFacts::Verdict::kTooSlow;
    facts.detail = "works, but is " + times_text(facts.slowdown) + " times slower than native";
    return facts;
  }
  if (!run.finished) {
    facts.verdict = KvmFacts::Verdict::kBusy;
    facts.detail = "the test guest did not finish its loop in time";
    return facts;
  }
  facts.verdict = KvmFacts::Verdict::kWorks;
  facts.detail = "a guest ran " + std::to_string(run.rounds / 1'000'000) +
                 " million rounds of a loop at native speed";
  if (facts.slowdown > 2) {
    facts.detail = "the test guest ran correctly, but " + times_text(facts.slowdown) +
                   " times slower than native";
  }
  return facts;
}

KvmFacts probe_kvm() {
  KvmFacts facts;
  {
    const UniqueFd device(::open("/dev/kvm", O_RDWR | O_CLOEXEC));
    if (!device) {
      const bool absent = errno == ENOENT || errno == ENODEV || errno == ENXIO;
      facts.verdict = absent ? KvmFacts::Verdict::kAbsent : KvmFacts::Verdict::kRefused;
      facts.detail = Error::from_errno("open /dev/kvm").message();
      return facts;
    }
  }
  facts.opened = true;
  if (!kCanRunGuest) {
    facts.verdict = KvmFacts::Verdict::kUnproven;
    facts.detail = "/dev/kvm can be opened; there is no test guest for this architecture";
    return facts;
  }
  const Attempt attempt = attempt_in_helper(
      [] {
        GuestRun run;
        Attempt ran = run_counting_guest(kRounds, kGuestTime, run);
        ran.note = encode(run);
        return ran;
      },
      kGuestDeadline);
  if (!attempt.ok()) {
    facts.verdict = KvmFacts::Verdict::kRefused;
    facts.detail = "/dev/kvm can be opened, but: " + attempt.why();
    return facts;
  }
  facts = judge_guest(decode(attempt.note).value_or(GuestRun{}), native_seconds_per_round(kRounds));
  facts.opened = true;
  if (facts.verdict != KvmFacts::Verdict::kWorks) facts.detail += " (driver " + driver_name() + ")";
  return facts;
}

void explain(const KvmFacts& facts, Findings& findings) {
  using Verdict = KvmFacts::Verdict;
  Finding finding{"kvm", "guest", State::kWarn, facts.detail, ""};
  switch (facts.verdict) {
    case Verdict::kWorks:
      finding.state = State::kOk;
      break;
    case Verdict::kAbsent:
      finding.state = State::kMissing;
      finding.fix =
          "enable VT-x or AMD-V in the firmware, or nested virtualization on the VM's "
          "host; then sudo modprobe kvm_intel (or kvm_amd)";
      break;
    case Verdict::kRefused:
      finding.state = State::kMissing;
      finding.fix = facts.opened ? "see the messages of KVM in the kernel log (dmesg)"
                                 : "sudo usermod -aG kvm " + own_user_name_or_id() +
                                       " and log in again; in a container: --device /dev/kvm";
      break;
    case Verdict::kTooSlow:
      finding.state = State::kMissing;
      finding.fix =
          "instructions are emulated: use a host with VT-x or AMD-V; "
          "the engines jail and process do not need KVM";
      break;
    case Verdict::kBusy:
      finding.fix = "run `glovebox doctor` again when the host is less busy";
      break;
    case Verdict::kWrong:
      finding.state = State::kMissing;
      finding.fix = "do not use KVM here; the engines jail and process do not need it";
      break;
    case Verdict::kUnproven:
      break;
  }
  findings.push_back(std::move(finding));
}

}  // namespace glovebox::probe
