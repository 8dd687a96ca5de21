#include "client/bench/deps_memory.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace glovebox::bench {
namespace {

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// "Pss:      123 kB"
std::uint64_t kib_behind(const std::string& text, const std::string& word) {
  const std::size_t at = text.find(word);
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + word.size(), nullptr, 10);
}

// In how many pid namespaces a process has a number.
std::size_t depth_of(const std::string& place) {
  const std::string status = file_text(place + "/status");
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
    const std::string stat = file_text(entry.path().string() + "/stat");
    const std::size_t name_end = stat.rfind(')');
    if (name_end == std::string::npos || name_end + 4 > stat.size()) continue;
    children.emplace(std::atoi(stat.c_str() + name_end + 4), pid);
  }
  return children;
}

}  // namespace

HeldMemory held_below(pid_t root) {
  HeldMemory held;
  held.available_kib = kib_behind(file_text("/proc/meminfo"), "MemAvailable:");
  const std::multimap<pid_t, pid_t> children = children_of_all();
  const std::size_t depth = depth_of("/proc/" + std::to_string(root));
  std::vector<pid_t> left = {root};
  while (!left.empty()) {
    const pid_t pid = left.back();
    left.pop_back();
    const std::string place = "/proc/" + std::to_string(pid);
    const std::uint64_t kib = kib_behind(file_text(place + "/smaps_rollup"), "\nPss:");
    held.all_kib += kib;
    // A sandbox's interpreter is one namespace further down.
    const bool is_zygote =
        depth_of(place) == depth + 1 && file_text(place + "/comm").starts_with("python");
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
