#include "launcher/nursery/zygote.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/fd_message.h"
#include "base/log.h"
#include "model/environment.h"
#include "sys/clone.h"
#include "wire/guest/sandbox_plan.h"

namespace glovebox::launcher {
namespace {

constexpr std::size_t kMaxMessage = 8192;
constexpr std::uint64_t kDiskBytes = 64u << 20;  // for what modules write while they are imported
constexpr int kStartTimeoutMs = 5000;

// Text from the zygote that people will read: printable ASCII and line feeds only.
std::string printable_ascii(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    const char c = static_cast<char>(byte);
    text += (c >= ' ' && c < 0x7f) || c == '\n' ? c : '?';
  }
  return text;
}

// The uid's lease and the layers, released together.
std::shared_ptr<const void> both_leases(ZygoteUids::Lease uid, std::vector<LayerRef> layers) {
  if (layers.empty()) return uid;
  using Both = std::pair<ZygoteUids::Lease, std::vector<LayerRef>>;
  return std::make_shared<const Both>(std::move(uid), std::move(layers));
}

wire::MakeZygote make_request(const Template& description, std::uint32_t uid) {
  const bool is_image = !description.root.empty();
  wire::MakeZygote make;
  make.uid = uid;
  // An image's own is searched on the image's PATH, which its template has.
  make.argv = {is_image ? "python3" : "/usr/bin/python3", "-I", "/opt/glovebox/python/zygote.py"};
  make.argv.insert(make.argv.end(), description.preload.begin(), description.preload.end());
  make.env = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp", "LANG=C.UTF-8",
              "MPLCONFIGDIR=/tmp/matplotlib"};
  if (is_image) {
    make.env = joined_environment(std::move(make.env), description.env);
  } else {
    make.env.insert(make.env.end(), description.env.begin(), description.env.end());
  }
  // A zygote with threads cannot fork safely, and some modules start threads when they are
  // imported. The first variable of a name counts, so the template's own value wins.
  for (const char* one : {"OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1", "MKL_NUM_THREADS=1",
                          "NUMEXPR_NUM_THREADS=1"}) {
    make.env.emplace_back(one);
  }
  return make;
}

}  // namespace

Result<Zygote> Zygote::start(const Template& description, StartOptions options) {
  wire::MakeZygote make = make_request(description, options.uid);
  Limits limits = description.limits;
  limits.disk_bytes = kDiskBytes;
  TRY(UniqueFd upper, options.files.build_upper(limits, options.owner));
  TRY(const SandboxMounts mounts,
      options.files.build(std::move(upper), options.owner, description.layers, description.root));
  TRY(const UniqueFd dev, options.files.build_dev());
  TRY(const std::vector<UniqueFd> cgroups,
      options.cgroup.open_join_files(sys::Cgroup::JoinV2::kYes));
  make.cgroups = static_cast<std::uint8_t>(cgroups.size());
  TRY(SocketPair pair, seqpacket_pair());
  std::vector<int> fds = {pair.theirs.get(), mounts.root.get(), mounts.usr.get(), dev.get(),
                          mounts.boot_id.get()};
  for (const UniqueFd& file : cgroups) fds.push_back(file.get());
  TRY(const Nursery::Request request, options.nursery.request_zygote(make, fds));
  auto process = options.nursery.await_answer(request, kStartTimeoutMs);
  if (!process) {
    // The broker may still start it a moment later.
    options.cleanup.add_group({}, std::move(options.cgroup),
                              both_leases(std::move(options.uid_lease), std::move(options.layers)));
    return fail(std::move(process.error()));
  }
  // The broker has the descriptors of the mounts, which keep them until they are attached.
  return Zygote(std::move(pair.ours), std::move(*process), std::move(options));
}

Zygote::~Zygote() {
  if (!pidfd_) return;
  sys::send_signal(pidfd_.get(), SIGKILL);
  cleanup_.add_group(std::move(pidfd_), std::move(cgroup_),
                     both_leases(std::move(uid_lease_), std::move(layers_)));
}

bool Zygote::has_other_processes() const { return cgroup_.members().value_or(1) > 1; }

std::chrono::microseconds Zygote::cpu_used() const {
  return std::chrono::microseconds(cgroup_.cpu_us());
}

// A process that its modules started would live outside of every sandbox.
void Zygote::on_ready() {
  if (has_other_processes()) {
    return fail_with("its modules started processes that have not ended");
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
  auto received = receive_message(socket_.get(), kMaxMessage, 0);
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
    // The modules may send these on purpose, so they are bounded.
    constexpr unsigned kMaxFailedJoins = 64;
    // A few are normal: the sandbox was ended meanwhile.
    constexpr unsigned kWarnAt = 4;
    if (++failed_joins_ == kWarnAt) {
      log::warn("a zygote could not join sandboxes", {{"why", printable_ascii(bytes.subspan(1))}});
    } else if (failed_joins_ == 1) {
      log::info("a zygote could not join a sandbox", {{"why", printable_ascii(bytes.subspan(1))}});
    }
    if (failed_joins_ > kMaxFailedJoins) fail_with("the zygote fails to join sandboxes too often");
  } else if (kind == 'S' && state_ == State::kReady) {
    // The session may be at its own process limit: no reason to end the zygote.
    if (failed_session_joins_++ == 0) {
      log::warn("a zygote could not join a session", {{"why", printable_ascii(bytes.subspan(1))}});
    }
  } else if (kind == 'F') {
    fail_with(printable_ascii(bytes.subspan(1)));
  } else if (auto message = wire::decode_plan_message(bytes)) {
    const auto* failed = std::get_if<wire::SandboxFailed>(&*message);
    fail_with(failed != nullptr ? "start the zygote: " + failed->step
                                : "the zygote sent an unexpected message");
  } else {
    fail_with("the zygote sent an unexpected message");
  }
}

Result<> Zygote::join(std::span<const int> fds, const JoinOptions& options) {
  const std::byte message[] = {std::byte{'J'},
                               static_cast<std::byte>(options.cgroups),
                               static_cast<std::byte>(options.change_user),
                               static_cast<std::byte>(options.landlock),
                               static_cast<std::byte>(options.hurry),
                               static_cast<std::byte>(options.session),
                               static_cast<std::byte>(options.throttling_cgroups)};
  if (state_ != State::kReady) return fail(Errc::kUnavailable, "the zygote is not ready");
  pollfd room{socket_.get(), POLLOUT, 0};
  if (::poll(&room, 1, 0) != 1 || !send_message(socket_.get(), message, fds)) {
    return fail(Errc::kUnavailable, "the zygote's queue is full");
  }
  ++forks_;
  return {};
}

}  // namespace glovebox::launcher
