#include "guest/agent/run/find_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"

namespace glovebox::agent {
namespace {

constexpr std::size_t kMaxEntries = 50'000;  // looked at
constexpr std::size_t kDeepest = 32;
constexpr std::size_t kMaxNameBytes = 96 * 1024;  // all names together: they go in one frame

std::vector<std::string> split_pattern(std::string_view pattern) {
  std::vector<std::string> parts;
  while (!pattern.empty()) {
    const std::string_view part = pattern.substr(0, pattern.find('/'));
    if (!part.empty()) parts.emplace_back(part);
    pattern.remove_prefix(std::min(pattern.size(), part.size() + 1));
  }
  return parts;
}

bool matches(const std::string& part, const char* name) {
  // Brackets are themselves, and so is a backslash: escaped for fnmatch. As in a shell, a hidden
  // file matches only if the pattern says so.
  std::string plain;
  for (const char c : part) {
    if (c == '[' || c == ']' || c == '\\') plain += '\\';
    plain += c;
  }
  return ::fnmatch(plain.c_str(), name, FNM_PERIOD) == 0;
}

class Search {
 public:
  void search(int dir, const std::string& path, std::span<const std::string> parts,
              std::size_t depth);
  wire::FoundFiles take();

 private:
  void take_file(const std::string& path, std::uint64_t size);

  wire::FoundFiles found_;
  std::size_t entries_ = 0;
  std::size_t name_bytes_ = 0;
};

void Search::take_file(const std::string& path, std::uint64_t size) {
  auto name = GuestPath::parse(path);
  if (!name || name->str() != path) return;
  name_bytes_ += path.size() + 16;
  if (found_.files.size() >= wire::kMaxFoundFiles || name_bytes_ > kMaxNameBytes) {
    found_.complete = false;
    return;
  }
  found_.files.push_back({std::move(*name), size});
}

void Search::search(int dir, const std::string& path, std::span<const std::string> parts,
                    std::size_t depth) {
  if (depth > kDeepest) {
    found_.complete = false;
    return;
  }
  const bool any_depth = parts.front() == "**";
  const std::span<const std::string> after = any_depth ? parts.subspan(1) : parts;
  const int copy = ::fcntl(dir, F_DUPFD_CLOEXEC, 3);
  DIR* listing = copy < 0 ? nullptr : ::fdopendir(copy);
  if (listing == nullptr) return;
  std::vector<std::string> directories;
  while (const dirent* entry = ::readdir(listing)) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (++entries_ > kMaxEntries) {
      found_.complete = false;
      break;
    }
    struct stat info {};
    if (::fstatat(dir, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISREG(info.st_mode)) {
      const bool here = after.empty() || (after.size() == 1 && matches(after[0], name.c_str()));
      if (here) take_file(path + "/" + name, static_cast<std::uint64_t>(info.st_size));
    } else if (S_ISDIR(info.st_mode)) {
      directories.push_back(name);
    }
  }
  ::closedir(listing);
  for (const std::string& name : directories) {
    const bool kernels = path.empty() && (name == "proc" || name == "dev" || name == "sys");
    if (kernels) continue;
    const bool deeper = any_depth && name[0] != '.';
    const bool next = !after.empty() && after.size() > 1 && matches(after[0], name.c_str());
    if (!deeper && !next) continue;
    const UniqueFd below(
        ::openat(dir, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    if (!below) continue;
    if (deeper) search(below.get(), path + "/" + name, parts, depth + 1);
    if (next) search(below.get(), path + "/" + name, after.subspan(1), depth + 1);
  }
}

wire::FoundFiles Search::take() {
  auto& files = found_.files;
  const auto by_name = [](const wire::FoundFile& a, const wire::FoundFile& b) {
    return a.path.str() < b.path.str();
  };
  std::sort(files.begin(), files.end(), by_name);
  const auto same = [](const wire::FoundFile& a, const wire::FoundFile& b) {
    return a.path == b.path;
  };
  files.erase(std::unique(files.begin(), files.end(), same), files.end());
  return std::move(found_);
}

}  // namespace

wire::FoundFiles find_files(const std::string& pattern) {
  Search search;
  const std::vector<std::string> parts = split_pattern(pattern);
  const UniqueFd root(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parts.empty() && root) search.search(root.get(), "", parts, 0);
  return search.take();
}

}  // namespace glovebox::agent
