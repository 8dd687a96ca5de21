#include "launcher/zygote.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/fd_message.h"
#include "base/log.h"
#include "sys/clone.h"
#include "wire/guest/sandbox_plan.h"

namespace glovebox::launcher {
namespace {

constexpr std::size_t kMostSaid = 8192;
constexpr std::uint64_t kDiskBytes = 64u << 20;  // for what modules write while they are imported
constexpr int kBornWithinMs = 5000;

// A text from inside, shown to people: nothing but printable characters and line ends.
std::string printable_ascii(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    const char c = static_cast<char>(byte);
    text += (c >= ' ' && c < 0x7f) || c == '\n' ? c : '?';
  }
  return text;
}

// Both of a zygote's, to be let go of together.
std::shared_ptr<const void> held_by(ZygoteUids::Held uid, std::vector<LayerHeld> layers) {
  if (layers.empty()) return uid;
  using Both = std::pair<ZygoteUids::Held, std::vector<LayerHeld>>;
  return std::make_shared<const Both>(std::move(uid), std::move(layers));
}

wire::MakeZygote order(const Template& description, std::uint32_t uid) {
  wire::MakeZygote make;
  make.uid = uid;
  make.argv = {"/usr/bin/python3", "-I", "/opt/glovebox/python/zygote.py"};
  make.argv.insert(make.argv.end(), description.preload.begin(), description.preload.end());
  make.env = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp", "LANG=C.UTF-8",
              "MPLCONFIGDIR=/tmp/matplotlib"};
  make.env.insert(make.env.end(), description.env.begin(), description.env.end());
  // A zygote with threads cannot be forked, and some modules start them when they are imported. The
  // first of a name counts.
  for (const char* one : {"OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1", "MKL_NUM_THREADS=1",
                          "NUMEXPR_NUM_THREADS=1"}) {
    make.env.emplace_back(one);
  }
  return make;
}

}  // namespace

Result<Zygote> Zygote::start(const Template& description, Place place) {
  wire::MakeZygote make = order(description, place.uid);
  Limits limits = description.limits;
  limits.disk_bytes = kDiskBytes;
  TRY(const SandboxMounts mounts, place.files.build(limits, place.owner, description.layers));
  TRY(const UniqueFd dev, place.files.build_dev());
  TRY(const std::vector<UniqueFd> cgroups, place.cgroup.open_join_files(sys::Cgroup::JoinV2::kYes));
  make.cgroups = static_cast<std::uint8_t>(cgroups.size());
  TRY(SocketPair pair, seqpacket_pair());
  std::vector<int> fds = {pair.theirs.get(), mounts.root.get(), mounts.usr.get(), dev.get()};
  for (const UniqueFd& file : cgroups) fds.push_back(file.get());
  TRY(const Nursery::Question question, place.nursery.ask_for_zygote(make, fds));
  auto process = place.nursery.await(question, kBornWithinMs);
  if (!process) {
    // It may be there all the same, a moment later.
    place.remains.add_group({}, std::move(place.cgroup),
                            held_by(std::move(place.held), std::move(place.layers)));
    return fail(std::move(process.error()));
  }
  // Its mounts are attached by now or will be: the descriptors it was given keep them.
  return Zygote(std::move(pair.ours), std::move(*process), std::move(place));
}

Zygote::~Zygote() {
  if (!pidfd_) return;
  sys::send_signal(pidfd_.get(), SIGKILL);
  remains_.add_group(std::move(pidfd_), std::move(cgroup_),
                     held_by(std::move(held_), std::move(layers_)));
}

bool Zygote::has_company() const { return cgroup_.members().value_or(1) > 1; }

std::chrono::microseconds Zygote::cpu_used() const {
  return std::chrono::microseconds(cgroup_.cpu_us());
}

// Whatever its modules started besides would be outside of every sandbox for as long as it lives.
void Zygote::on_ready() {
  if (has_company()) {
    return fail_with("refused: its modules started processes that have not ended");
  }
  state_ = State::kReady;
}

void Zygote::fail_with(std::string why) {
  state_ = State::kFailed;
  error_ = std::move(why);
  socket_.reset();
  sys::send_signal(pidfd_.get(), SIGKILL);
}

void Zygote::on_event() {
  auto received = receive_message(socket_.get(), kMostSaid, 0);
  if (!received || received->bytes.empty()) {
    if (cgroup_.usage().oom_kills > 0) {
      return fail_with(
          "the zygote ran out of memory: its modules need more than the template's memory limit "
          "leaves it");
    }
    return fail_with(state_ == State::kReady ? "the zygote has died"
                                             : "the zygote died before it was ready");
  }
  const std::span<const std::byte> bytes = received->bytes;
  const char kind = static_cast<char>(bytes[0]);
  if (kind == 'R' && state_ == State::kStarting) {
    on_ready();
  } else if (kind == 'E' && state_ == State::kReady) {
    // It may well be talkative on purpose.
    constexpr unsigned kMostComplaints = 64;
    // A few are of sandboxes that were ended meanwhile.
    constexpr unsigned kMany = 4;
    if (++complaints_ == kMany) {
      log::warn("a zygote could not join sandboxes", {{"why", printable_ascii(bytes.subspan(1))}});
    } else if (complaints_ == 1) {
      log::info("a zygote could not join a sandbox", {{"why", printable_ascii(bytes.subspan(1))}});
    }
    if (complaints_ > kMostComplaints) fail_with("the zygote fails too often");
  } else if (kind == 'S' && state_ == State::kReady) {
    // A session's own fault, perhaps: it has no room for another process. No reason to end.
    if (session_complaints_++ == 0) {
      log::warn("a zygote could not join a session", {{"why", printable_ascii(bytes.subspan(1))}});
    }
  } else if (kind == 'F') {
    fail_with(printable_ascii(bytes.subspan(1)));
  } else if (auto message = wire::decode_plan_message(bytes)) {
    const auto* failed = std::get_if<wire::SandboxFailed>(&*message);
    fail_with(failed != nullptr ? "start the zygote: " + failed->step : "it says what it must not");
  } else {
    fail_with("it says what it must not");
  }
}

Result<> Zygote::join(std::span<const int> fds, const JoinWords& words) {
  const std::byte message[] = {std::byte{'J'},
                               static_cast<std::byte>(words.cgroups),
                               static_cast<std::byte>(words.change_user),
                               static_cast<std::byte>(words.landlock),
                               static_cast<std::byte>(words.hurry),
                               static_cast<std::byte>(words.session),
                               static_cast<std::byte>(words.slowing)};
  if (state_ != State::kReady) return fail(Errc::kUnavailable, "the zygote is not ready");
  pollfd room{socket_.get(), POLLOUT, 0};
  if (::poll(&room, 1, 0) != 1 || !send_message(socket_.get(), message, fds)) {
    return fail(Errc::kUnavailable, "the zygote does not take any more");
  }
  ++forks_;
  return {};
}

}  // namespace glovebox::launcher
