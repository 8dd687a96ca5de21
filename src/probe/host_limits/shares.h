// The kernel's tables that all sandboxes of a host share: how large they are, which share of them a
// sandbox gets, and how many sandboxes they carry if each takes all of its share.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/sandbox_shares.h"
#include "probe/finding.h"

namespace glovebox::probe {

// Nothing: the kernel does not say (a masked /proc).
struct HostTables {
  std::optional<std::int64_t> terminals{};   // kernel.pty.max without `terminals_kept`
  std::int64_t terminals_kept = 0;           // kernel.pty.reserve: for the host's own /dev/pts
  std::optional<std::int64_t> open_files{};  // fs.file-max
  std::optional<std::int64_t> inotify_instances{};
  std::optional<std::int64_t> inotify_watches{};
  std::optional<std::int64_t> filter_bytes{};  // net.core.bpf_jit_limit
};

HostTables read_host_tables();

// Shares with which this many sandboxes fit, within bounds: less than the smallest share is of no
// use, and more than the largest is not needed by programs.
inline constexpr std::uint32_t kSandboxesToCarry = 200;
SandboxShares shares_of(const HostTables& tables, std::uint32_t sandboxes = kSandboxesToCarry);

// The tables that are too small for that many, with the size that would be enough.
struct TableSize {
  const char* sysctl;
  std::int64_t size;
};
std::vector<TableSize> sizes_to_carry_all(const HostTables& host);

// One finding for each table.
void explain(const HostTables& host, Findings& findings);

}  // namespace glovebox::probe
