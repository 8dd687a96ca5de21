#include "bench/image_subjects.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "bench/load.h"
#include "bench/network_fixture.h"
#include "bench/network_peer.h"
#include "bench/process.h"
#include "bench/process_memory.h"
#include "bench/session_calls.h"
#include "client/connection/private_server.h"

namespace glovebox::bench {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr const char* kPathVariable = "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
constexpr milliseconds kImagePause{20};
constexpr milliseconds kImageWarmWithin{60'000};
constexpr milliseconds kRegistryWithin{10'000};
constexpr const char* kImage = "glovebox-bench:1";
constexpr const char* kTemplate = "glovebox-bench-image";

const std::string kImageAnswer = R"(2\n)";
const Job kHostCold{R"j({"language":"python","cold":true,"code":"print(1+1)"})j", kImageAnswer};
const Job kHostWarm{R"j({"language":"python","code":"print(1+1)"})j", kImageAnswer};
const Job kImageCold{R"j({"template":"glovebox-bench-image","cold":true,"code":"print(1+1)"})j",
                     kImageAnswer};
const Job kImageWarm{R"j({"template":"glovebox-bench-image","code":"print(1+1)"})j", kImageAnswer};
constexpr const char* kHostSandbox = R"({"ttl_s":600,"template":"base"})";
constexpr const char* kImageSandbox = R"({"ttl_s":600,"profile":{"image":"glovebox-bench:1"}})";

Command shell_command(const std::string& line) {
  return {{"/bin/sh", "-ec", line}, {kPathVariable}};
}

// `glovebox WORDS` at the measured server.
Command glovebox_command(const std::string& program, const client::ServerLocation& location,
                         std::vector<std::string> words) {
  words.insert(words.begin(), program);
  return {std::move(words),
          {kPathVariable, "GLOVEBOX_URL=" + location.url, "GLOVEBOX_API_KEY=" + location.key}};
}

Result<> run_or_say(const Command& command) {
  const Trial trial = try_once(command);
  if (trial.worked) return {};
  return fail(Errc::kUnavailable, trial.message);
}

// The interpreter of the host, what it is linked to, and its library: nothing else, so that what
// both kinds of sandboxes run is the same.
std::string python_tree(const std::string& archive) {
  return "python=$(readlink -f /usr/bin/python3); library=/usr/lib/$(basename $python); "
         "needed=$( (ldd $python; ldd $library/lib-dynload/*.so) | grep -o '/[^ ]*' | grep -v ':$' "
         "| sort -u); "
         "tar --create --dereference --hard-dereference --absolute-names "
         "--transform 's,^/,,' --exclude '*/test' --exclude '__pycache__' --exclude '*/config-*' "
         "--file " +
         archive + " /usr/bin/python3 $library $needed";
}

// The image with its template, for as long as this object exists.
class BenchImage {
 public:
  BenchImage(const client::ServerLocation& location) : location_(location) {}
  BenchImage(const BenchImage&) = delete;
  BenchImage& operator=(const BenchImage&) = delete;
  ~BenchImage() {
    if (program_.empty()) return;
    (void)try_once(glovebox_command(program_, location_, {"template", "delete", kTemplate}));
    (void)try_once(glovebox_command(program_, location_, {"image", "remove", kImage}));
  }

  Result<> make() {
    TRY(std::string program, client::glovebox_path());
    std::string path = "/tmp/gbx-bench-image-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) return fail(Error::from_errno("create a directory"));
    const std::string archive = path + "/tree.tar";
    Result<> made = run_or_say(shell_command(python_tree(archive)));
    if (made) {
      made = run_or_say(
          glovebox_command(program, location_, {"image", "import", archive, "--name", kImage}));
    }
    std::error_code ignored;
    fs::remove_all(path, ignored);
    TRY_OK(made);
    program_ = std::move(program);
    TRY_OK(run_or_say(glovebox_command(program_, location_,
                                       {"template", "create", kTemplate, "--image", kImage})));
    return wait_until_warm(location_, kImageWarm, kImageWarmWithin);
  }

 private:
  client::ServerLocation location_;
  std::string program_;
};

// A hundred sandboxes that do nothing: the time of their creation, and their memory in the note.
class ManyAlike {
 public:
  ManyAlike(const client::ServerLocation& location, std::function<pid_t()> launcher_pid)
      : calls_(location), location_(location), launcher_pid_(std::move(launcher_pid)) {}

  Round create(unsigned count, const char* body, double* kib_each) {
    wait_until_settled(location_);
    const MemoryUse before = memory_of_process_tree(launcher_pid_());
    Round round = calls_.create_and_keep(count, body);
    const MemoryUse after = memory_of_process_tree(launcher_pid_());
    calls_.end_all();
    *kib_each = (static_cast<double>(after.all_kib) - static_cast<double>(before.all_kib)) /
                std::max(count, 1u);
    char text[100];
    std::snprintf(text, sizeof text, "%.0f KB of memory each (PSS of all processes)", *kib_each);
    if (round.errors == 0) round.note = text;
    return round;
  }

  Round of_host(unsigned count) { return create(count, kHostSandbox, &host_kib_); }
  // More than a tenth above the host's counts as an error.
  Round of_image(unsigned count) {
    double kib = 0;
    Round round = create(count, kImageSandbox, &kib);
    if (host_kib_ > 0 && kib > host_kib_ * 1.1) ++round.errors;
    return round;
  }

 private:
  SessionCalls calls_;
  client::ServerLocation location_;
  std::function<pid_t()> launcher_pid_;
  double host_kib_ = 0;
};

// Each pull is of an image that is not there.
Round timed_pulls(unsigned count, const Command& pull, const Command& forget) {
  Round round;
  for (unsigned i = 0; i < count && !interrupted; ++i) {
    (void)try_once(forget);
    const auto done = run_timed(pull);
    if (done && done->status == 0) {
      round.ms.push_back(done->took.count());
    } else {
      ++round.errors;
    }
  }
  (void)try_once(forget);
  round.runs = round.ms.size();
  return round;
}

}  // namespace

std::unique_ptr<ImageFixture> ImageFixture::make() {
  auto fixture = std::make_unique<ImageFixture>();
  if (const auto started = fixture->start(); !started) {
    fixture->unavailable_reason = started.error().message();
  }
  return fixture;
}

Result<> ImageFixture::start() {
  TRY_OK(run_or_say(
      shell_command("for one in docker-registry skopeo umoci; do command -v $one > /dev/null "
                    "|| { echo $one is not installed >&2; exit 1; }; done")));
  const std::vector<net::IpAddress> all = addresses_of_this_host();
  TRY(const net::IpAddress address, pick_address(all));
  std::string path = "/tmp/gbx-bench-registry-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return fail(Error::from_errno("create a directory"));
  directory_ = path;
  {
    TRY(const UniqueFd free_port, listen_on(address));
    registry_ = address.text() + ":" + std::to_string(port_of(free_port.get()));
  }
  std::ofstream config(directory_ + "/config.yml");
  config << "version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: "
         << directory_ << "/store}}\nhttp: {addr: \"" << registry_ << "\"}\n";
  if (!config.flush()) return fail(Errc::kInternal, "write the registry's configuration");
  config.close();
  TRY(process_,
      bench::start(shell_command("exec docker-registry serve " + directory_ + "/config.yml")));
  // Files of the host, up to 200 MB, as one layer.
  TRY_OK(run_or_say(shell_command(
      "cd " + directory_ +
      "; umoci init --layout made; umoci new --image made:1; umoci unpack --image made:1 bundle; "
      "cd /usr/lib; find . -xdev -type f -readable -size -4M -print0 | "
      "LC_ALL=C sort -z | xargs -0 stat --printf '%s %n\\0' | "
      "awk 'BEGIN { RS = ORS = \"\\0\" } { total += $1 } total > 200000000 { exit } "
      "{ sub(/^[0-9]+ /, \"\"); print }' | "
      "cpio --null --pass-through --make-directories " +
      directory_ + "/bundle/rootfs/files; cd " + directory_ +
      "; umoci repack --image made:1 bundle; rm -r bundle")));
  const auto deadline = Clock::now() + kRegistryWithin;
  Result<> pushed;
  do {
    pushed =
        run_or_say(shell_command("skopeo copy --quiet --dest-tls-verify=false oci:" + directory_ +
                                 "/made:1 docker://" + name()));
  } while (!pushed && Clock::now() < deadline && !interrupted);
  return pushed;
}

ImageFixture::~ImageFixture() {
  if (process_ > 0) {
    ::kill(process_, SIGTERM);
    (void)wait_for(process_);
  }
  std::error_code ignored;
  if (!directory_.empty()) fs::remove_all(directory_, ignored);
}

std::vector<std::string> ImageFixture::settings() const {
  if (!unavailable_reason.empty()) return {};
  return {"images.registries=http://" + registry_};
}

std::vector<Subject> make_image_subjects(const client::ServerLocation& location,
                                         const ImageFixture* fixture,
                                         const std::function<pid_t()>& launcher_pid,
                                         const Effort& effort) {
  std::vector<Subject> all;
  const auto add = [&](Row made, const std::string& unavailable_reason,
                       std::function<Round()> measure) {
    made.skipped = unavailable_reason;
    all.push_back({std::move(made), std::move(measure)});
  };
  const auto image = std::make_shared<BenchImage>(location);
  std::string why_none;
  if (const auto made = image->make(); !made) why_none = made.error().message();
  const auto paced = [&](Row made, const Job& job, unsigned calls) {
    add(std::move(made), why_none, [&location, &job, calls, image] {
      return call_in_turn(location, job, calls, kImagePause);
    });
  };
  paced(make_row("image-host-cold"), kHostCold, effort.cold);
  paced(make_row("image-cold", "image-host-cold", ratio_at_most(1.3, "p50 <= 1.3")), kImageCold,
        effort.cold);
  paced(make_row("image-host-warm"), kHostWarm, effort.paced);
  paced(make_row("image-warm", "image-host-warm", ratio_at_most(1.2, "p50 <= 1.2")), kImageWarm,
        effort.paced);

  const bool is_own = fixture != nullptr;
  const std::string only_own = "only with a server that this command starts";
  const auto alike = std::make_shared<ManyAlike>(location, launcher_pid);
  const std::string count = std::to_string(effort.alike);
  const std::string why_not_alike = is_own ? why_none : only_own;
  add(make_row("image-host-" + count + "-alive"), why_not_alike,
      [alike, image, n = effort.alike] { return alike->of_host(n); });
  add(make_row("image-" + count + "-alive", "image-host-" + count + "-alive",
               ratio_at_most(2, "memory <= 1.1, p50 <= 2")),
      why_not_alike, [alike, image, n = effort.alike] { return alike->of_image(n); });

  const std::string why_no_pull = is_own ? fixture->unavailable_reason : only_own;
  const auto program = client::glovebox_path();
  const std::string why_no_program = program ? why_no_pull : program.error().message();
  if (why_no_program.empty()) {
    const std::string there = fixture->directory() + "/unpacked";
    const std::string fetch = "mkdir " + there + "; cd " + there +
                              "; skopeo copy --quiet --src-tls-verify=false docker://" +
                              fixture->name() + " oci:made:1; umoci unpack --image made:1 bundle";
    add(make_row("image-skopeo-umoci"), "", [there, fetch, n = effort.pulls] {
      return timed_pulls(n, shell_command(fetch), shell_command("rm -rf " + there));
    });
    const Command pull = glovebox_command(*program, location, {"image", "pull", fixture->name()});
    const Command forget =
        glovebox_command(*program, location, {"image", "remove", fixture->name()});
    add(make_row("image-pull", "image-skopeo-umoci", ratio_at_most(1.2, "time <= 1.2")), "",
        [pull, forget, n = effort.pulls] { return timed_pulls(n, pull, forget); });
  } else {
    add(make_row("image-skopeo-umoci"), why_no_program, nullptr);
    add(make_row("image-pull", "image-skopeo-umoci"), why_no_program, nullptr);
  }
  return all;
}

}  // namespace glovebox::bench
