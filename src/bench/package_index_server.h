// A local package index on an address of this host, so that building fifty package sets does not
// burden a public index. Refuses connections from other hosts.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "bench/wheel_file.h"
#include "net/address.h"

namespace glovebox::bench {

class PackageIndexServer {
 public:
  // Serves the packages "gbx-bench-0", ..., each with a module gbx_bench_0, ... whose `number` is
  // its index.
  static Result<std::unique_ptr<PackageIndexServer>> serve(const net::IpAddress& address,
                                                           unsigned packages);
  ~PackageIndexServer();
  PackageIndexServer(const PackageIndexServer&) = delete;
  PackageIndexServer& operator=(const PackageIndexServer&) = delete;

  std::string url() const;   // of the index, for pip
  std::string host() const;  // "address:port", for pip's trusted hosts: it has no certificate

 private:
  PackageIndexServer(const net::IpAddress& address, UniqueFd listener, UniqueFd wake,
                     unsigned packages);
  void serve();
  void answer(int connection) const;

  net::IpAddress address_;
  std::uint16_t port_ = 0;
  UniqueFd listener_;
  UniqueFd wake_;
  std::map<std::string, std::string, std::less<>> pages_;  // by path
  std::thread thread_;
};

}  // namespace glovebox::bench
