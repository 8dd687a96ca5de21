#include "probe/host_limits/shares.h"

#include <algorithm>
#include <string>
#include <vector>

#include "probe/host_limits/limits.h"
#include "probe/kernel_text.h"

namespace glovebox::probe {
namespace {

constexpr SandboxShares kLeast{};
constexpr SandboxShares kMost{
    .terminals = 64, .open_files = 1u << 20, .inotify_instances = 32, .inotify_watches = 16'384};
// The machine code of a program's two filters, for each of the 128 processes of a default sandbox
// that the agent may start; what they fork shares it.
constexpr std::int64_t kFilterBytes = 128 * 8 * 1024;

std::uint32_t share(std::optional<std::int64_t> table, std::int64_t parts, std::uint32_t least,
                    std::uint32_t most) {
  if (!table) return least;
  const std::int64_t part = *table / std::max<std::int64_t>(parts, 1);
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(part, least, most));
}

struct Table {
  const char* sysctl;
  std::optional<std::int64_t> size;
  std::int64_t share;
  const char* of_what;
  std::int64_t extra = 0;  // what the sysctl counts besides

  std::int64_t carries() const { return *size / share; }
  std::int64_t wanted() const { return share * kSandboxesToCarry + extra; }
};

// Those of which the kernel says the size: what cannot be read is not guessed.
std::vector<Table> tables_of(const HostTables& host) {
  const SandboxShares shares = shares_of(host);
  std::vector<Table> tables = {
      {"kernel.pty.max", host.terminals, shares.terminals, "terminals", host.terminals_kept},
      {"fs.file-max", host.open_files, shares.open_files, "open files"},
      {"fs.inotify.max_user_instances", host.inotify_instances, shares.inotify_instances,
       "inotify instances"},
      {"fs.inotify.max_user_watches", host.inotify_watches, shares.inotify_watches,
       "inotify watches"},
      {"net.core.bpf_jit_limit", host.filter_bytes, kFilterBytes, "bytes of system-call filters"}};
  std::erase_if(tables, [](const Table& table) { return !table.size; });
  return tables;
}

// Enough for a small server.
constexpr std::int64_t kEnoughSandboxes = 64;

Finding explain_table(const Table& table) {
  Finding finding{"limits", table.sysctl, State::kOk,
                  std::to_string(*table.size) + ", carries " + std::to_string(table.carries()) +
                      " sandboxes with " + std::to_string(table.share) + " " + table.of_what +
                      " each",
                  ""};
  if (table.carries() >= kEnoughSandboxes) return finding;
  finding.state = State::kWarn;
  finding.fix = std::string("sudo sysctl -w ") + table.sysctl + "=" +
                std::to_string(table.wanted()) +
                "   (to make it permanent: /etc/sysctl.d/60-glovebox.conf)";
  return finding;
}

}  // namespace

HostTables read_host_tables() {
  const auto number = [](const char* sysctl) { return read_number(sysctl_path(sysctl)); };
  HostTables tables;
  tables.terminals_kept = number("kernel.pty.reserve").value_or(0);
  if (const auto most = number("kernel.pty.max")) {
    tables.terminals = std::max<std::int64_t>(*most - tables.terminals_kept, 0);
  }
  tables.open_files = number("fs.file-max");
  tables.inotify_instances = number("fs.inotify.max_user_instances");
  tables.inotify_watches = number("fs.inotify.max_user_watches");
  tables.filter_bytes = number("net.core.bpf_jit_limit");
  return tables;
}

SandboxShares shares_of(const HostTables& tables, std::uint32_t sandboxes) {
  const std::int64_t parts = std::min(sandboxes, kSandboxesToCarry);
  return {.terminals = share(tables.terminals, parts, kLeast.terminals, kMost.terminals),
          // One half is the host's.
          .open_files = share(tables.open_files, 2 * parts, kLeast.open_files, kMost.open_files),
          .inotify_instances = share(tables.inotify_instances, parts, kLeast.inotify_instances,
                                     kMost.inotify_instances),
          .inotify_watches =
              share(tables.inotify_watches, parts, kLeast.inotify_watches, kMost.inotify_watches)};
}

std::vector<TableSize> sizes_to_carry_all(const HostTables& host) {
  std::vector<TableSize> sizes;
  for (const Table& table : tables_of(host)) {
    if (table.carries() < kSandboxesToCarry) sizes.push_back({table.sysctl, table.wanted()});
  }
  return sizes;
}

void explain(const HostTables& host, Findings& findings) {
  for (const Table& table : tables_of(host)) findings.push_back(explain_table(table));
}

}  // namespace glovebox::probe
