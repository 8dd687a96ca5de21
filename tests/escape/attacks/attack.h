// What an attack is: one row of the table, its verdict, and the arguments it gets.
// The attacks themselves are in one file per group; how they are run and judged from outside is the
// runner's business (src/attack/attack_runner.h).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace glovebox::attacks {

// Exit statuses, chosen so that neither a shell nor a crash gives them by accident.
inline constexpr int kSucceeded = 42;    // the attack got what it aims at
inline constexpr int kDenied = 43;       // something stopped it
inline constexpr int kKernelLacks = 44;  // only a control says this: inside it looks like a denial
inline constexpr int kNotTried = 45;     // the attack itself is broken or was called wrongly

struct Verdict {
  int code = kNotTried;
  std::string text;  // one line: the harmless proof, or what stopped it
  int err = 0;       // the errno of a denial, 0 if there was none
};

// The `key=value` words after an attack's name.
class Args {
 public:
  Args() = default;
  explicit Args(std::vector<std::string> words) : words_(std::move(words)) {}
  std::string get(std::string_view key, std::string_view fallback = "") const;
  long number(std::string_view key, long fallback) const;
  Args with(std::string_view key, std::string_view value) const;

 private:
  std::vector<std::string> words_;
};

using Step = Verdict (*)(const Args&);

struct Attack {
  const char* name;
  const char* aims_at;  // the prize, in a few words
  const char* held_by;  // the wall we expect to hold
  Step run;
  // The same attack where nothing stops it. Left out: `run` itself, outside of any sandbox.
  Step control = nullptr;
  // In a control a denial with this errno means that the kernel has no such thing (ENOSYS always).
  int absent = 0;
  // probe: verdict from the exit status. bomb: from the run's outcome. neighbour: two sandboxes,
  // step=exhaust in one, step=check in the other. survivor: what is left when the run is over.
  // out: what `--out` brought back. plant: what lies in a host directory mounted read-write.
  const char* kind = "probe";
  const char* needs = "";    // what the runner provides, separated by spaces
  const char* outcome = "";  // bombs: the outcomes that mean "held", separated by |
  const char* limits = "";   // more flags for `glovebox run`, separated by spaces
};

struct Group {
  const char* name;
  std::span<const Attack> attacks;
};

Group file_attacks();
Group device_attacks();
Group given_attacks();
Group mount_attacks();
Group process_attacks();
Group survivor_attacks();
Group privilege_attacks();
Group namespace_attacks();
Group kernel_attacks();
Group kernel_file_attacks();
Group network_attacks();
Group egress_address_attacks();
Group egress_policy_attacks();
Group egress_limit_attacks();
Group leak_attacks();
Group quota_attacks();
Group memory_attacks();
Group resource_attacks();

}  // namespace glovebox::attacks
