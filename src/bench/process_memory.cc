#include "bench/process_memory.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace glovebox::bench {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// "Pss:      123 kB"
std::uint64_t kib_behind(const std::string& text, const std::string& word) {
  const std::size_t at = text.find(word);
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + word.size(), nullptr, 10);
}

// The number of pid namespaces that a process is in.
std::size_t depth_of(const std::string& location) {
  const std::string status = text_of(location + "/status");
  const std::size_t at = status.find("\nNSpid:");
  if (at == std::string::npos) return 0;
  const std::size_t end = status.find('\n', at + 1);
  return static_cast<std::size_t>(std::count(status.begin() + static_cast<std::ptrdiff_t>(at),
                                             status.begin() + static_cast<std::ptrdiff_t>(end),
                                             '\t'));
}

std::multimap<pid_t, pid_t> children_of_all() {
  std::multimap<pid_t, pid_t> children;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0) continue;
    const std::string stat = text_of(entry.path().string() + "/stat");
    const std::size_t name_end = stat.rfind(')');
    if (name_end == std::string::npos || name_end + 4 > stat.size()) continue;
    children.emplace(std::atoi(stat.c_str() + name_end + 4), pid);
  }
  return children;
}

}  // namespace

MemoryUse memory_of_process_tree(pid_t root) {
  MemoryUse held;
  held.available_kib = kib_behind(text_of("/proc/meminfo"), "MemAvailable:");
  const std::multimap<pid_t, pid_t> children = children_of_all();
  const std::size_t depth = depth_of("/proc/" + std::to_string(root));
  std::vector<pid_t> left = {root};
  while (!left.empty()) {
    const pid_t pid = left.back();
    left.pop_back();
    const std::string location = "/proc/" + std::to_string(pid);
    const std::uint64_t kib = kib_behind(text_of(location + "/smaps_rollup"), "\nPss:");
    held.all_kib += kib;
    // The interpreter of a sandbox is one namespace deeper.
    const bool is_zygote =
        depth_of(location) == depth + 1 && text_of(location + "/comm").starts_with("python");
    if (is_zygote) {
      ++held.zygotes;
      held.zygotes_kib += kib;
    }
    const auto [from, to] = children.equal_range(pid);
    for (auto one = from; one != to; ++one) left.push_back(one->second);
  }
  return held;
}

}  // namespace glovebox::bench
