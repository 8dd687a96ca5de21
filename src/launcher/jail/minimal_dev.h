// The /dev of a sandbox: the harmless devices, as nodes of its own, and links; read-only.
//
// A file system for each sandbox: of a shared one, guests could see each other's use of the devices
// with inotify, and talk by means of file locks, past every other wall. Rootless, where no nodes
// can be made, all sandboxes have the host's, bind-mounted, and are the same user's.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::launcher {

class MinimalDev {
 public:
  // `place`: an empty directory, which is mounted upon if the host's nodes must be used.
  static Result<MinimalDev> open(std::string place);

  Result<UniqueFd> build() const;

 private:
  struct Device {
    const char* name;
    dev_t number;
  };
  explicit MinimalDev(std::string place) : place_(std::move(place)) {}
  static Result<UniqueFd> make_directory();
  static Result<> make_node(int dev, const Device& device);
  Result<> bind_nodes_of_host();

  std::string place_;
  std::vector<Device> devices_;
  bool is_bound_ = false;  // to the host's nodes, at place_
};

}  // namespace glovebox::launcher
