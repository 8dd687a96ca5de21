// The targets of attacks on the host, created for the attacks: a file with random bytes, listening
// sockets, a process, a directory to be mounted with a setuid program in it. All of it is harmless
// and removed with this object.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "attack/attack_table.h"
#include "attack/child_process.h"
#include "attack/test_internet.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::attack {

enum class Side { kInside, kOutside };

class AttackTargets {
 public:
  static Result<std::unique_ptr<AttackTargets>> make(const std::string& attacks_program);
  ~AttackTargets();
  AttackTargets(const AttackTargets&) = delete;
  AttackTargets& operator=(const AttackTargets&) = delete;

  // Why a row cannot be run here at all; empty if it can.
  std::string missing_for(const AttackRow& row) const;
  // Why there is no internet for a row that needs one, made when first asked for; empty if there
  // is.
  std::string no_internet_for(const AttackRow& row) const;
  // The key=value words that tell an attack where its aims are, seen from that side.
  std::vector<std::string> arguments(const AttackRow& row, Side side) const;
  // How the caller of a row behaves.
  Inheritance inheritance(const AttackRow& row) const;
  // Flags that hand the row's mounts and files in and out.
  std::vector<std::string> flags(const AttackRow& row) const;

  // Whether `text` holds bytes that must never be visible inside.
  bool has_secret(const std::string& text) const;
  // What --out brought back; empty if nothing.
  std::string taken() const;
  // What is wrong with the files a guest left in the read-write mount; empty if nothing is.
  std::string planted_trouble(const AttackRow& row) const;

 private:
  AttackTargets() = default;
  std::string rw_dir(const AttackRow& row) const;
  Result<> make_files(const std::string& attacks_program);
  Result<> make_listeners();
  Result<> start_victim(const std::string& attacks_program);

  std::string program_;
  mutable std::unique_ptr<TestInternet> internet_;
  mutable std::string no_internet_;
  std::string dir_;     // world-readable, so that only the sandbox's walls stand before the canary
  std::string canary_;  // what is in it
  std::string env_canary_;
  std::string abstract_name_;
  std::string program_inode_;
  int port_ = 0;
  int port6_ = 0;
  UniqueFd listeners_[4];
  UniqueFd victim_input_;
  pid_t victim_ = -1;
};

// So many random bytes in hexadecimal.
std::string random_hex(size_t bytes);

}  // namespace glovebox::attack
