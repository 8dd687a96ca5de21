#include "bench/process_tree.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

namespace glovebox::bench {
namespace {

std::multimap<pid_t, pid_t> children_of_all() {
  std::multimap<pid_t, pid_t> children;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0) continue;
    const std::string stat = proc_text(entry.path().string() + "/stat");
    const std::size_t name_end = stat.rfind(')');
    if (name_end == std::string::npos || name_end + 4 > stat.size()) continue;
    children.emplace(std::atoi(stat.c_str() + name_end + 4), pid);
  }
  return children;
}

}  // namespace

std::string proc_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<pid_t> process_tree(pid_t root) {
  const std::multimap<pid_t, pid_t> children = children_of_all();
  std::vector<pid_t> tree = {root};
  for (std::size_t next = 0; next < tree.size(); ++next) {
    const auto [from, to] = children.equal_range(tree[next]);
    for (auto one = from; one != to; ++one) tree.push_back(one->second);
  }
  return tree;
}

}  // namespace glovebox::bench
