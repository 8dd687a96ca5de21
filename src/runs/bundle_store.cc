#include "runs/bundle_store.h"

#include <algorithm>
#include <map>
#include <utility>

namespace glovebox::runs {
namespace {

tl::unexpected<Error> in_use(const std::string& whose) {
  return fail(Errc::kResourceExhausted, "runs still use the bundles " + whose +
                                            "that are here, and there is no room for one more; "
                                            "try again when they have ended");
}

}  // namespace

bool is_bundle_digest(std::string_view text) {
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == 64 && std::all_of(text.begin(), text.end(), is_hex);
}

Result<> BundleStore::put(const std::string& project, const std::string& digest,
                          std::string bytes) {
  if (bytes.size() > kMaxBundleBytes || bytes.size() > bounds_.project_bytes) {
    return fail(Errc::kInvalidArgument,
                "a bundle can have at most " + std::to_string(kMaxBundleBytes >> 20) + " MB");
  }
  if (find(project, digest) != nullptr) return {};
  while (bytes_of(project) + bytes.size() > bounds_.project_bytes ||
         count_of(project) >= bounds_.project_count) {
    if (!remove_oldest_of(project)) return in_use("of this project ");
  }
  // Who holds the most gives way, so that one project cannot push out the bundles of all others.
  while (held_ + bytes.size() > bounds_.total_bytes) {
    if (!remove_oldest_of(largest_project())) return in_use("");
  }
  held_ += bytes.size();
  entries_.push_front({project, digest, std::make_shared<const std::string>(std::move(bytes))});
  return {};
}

std::shared_ptr<const std::string> BundleStore::find(const std::string& project,
                                                     std::string_view digest) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& one) {
    return one.digest == digest && one.project == project;
  });
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  return found->bytes;
}

std::size_t BundleStore::bytes_of(const std::string& project) const {
  std::size_t sum = 0;
  for (const Entry& one : entries_) sum += one.project == project ? one.bytes->size() : 0;
  return sum;
}

std::size_t BundleStore::count_of(const std::string& project) const {
  return static_cast<std::size_t>(std::count_if(
      entries_.begin(), entries_.end(), [&](const Entry& one) { return one.project == project; }));
}

bool BundleStore::remove_oldest_of(const std::string& project) {
  for (auto one = entries_.end(); one != entries_.begin();) {
    --one;
    if (one->project != project || one->bytes.use_count() > 1) continue;
    held_ -= one->bytes->size();
    entries_.erase(one);
    return true;
  }
  return false;
}

std::string BundleStore::largest_project() const {
  std::map<std::string, std::size_t> sizes;
  for (const Entry& one : entries_) {
    if (one.bytes.use_count() == 1) sizes[one.project] += one.bytes->size();
  }
  const auto largest = std::max_element(
      sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return largest == sizes.end() ? "" : largest->first;
}

}  // namespace glovebox::runs
