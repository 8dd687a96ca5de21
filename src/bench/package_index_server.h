// A package index of the benchmark's own, on an address of this host: fifty sets of packages are
// built, and nobody else's index is to serve that. Others than this host are not served.
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
  // With so many packages: "gbx-bench-0", ... whose modules are gbx_bench_0, ... with the number of
  // each as `number`.
  static Result<std::unique_ptr<PackageIndexServer>> serve(const net::IpAddress& address,
                                                           unsigned packages);
  ~PackageIndexServer();
  PackageIndexServer(const PackageIndexServer&) = delete;
  PackageIndexServer& operator=(const PackageIndexServer&) = delete;

  std::string url() const;   // of the index, as pip is told
  std::string host() const;  // "address:port": to be trusted, since it has no certificate

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
