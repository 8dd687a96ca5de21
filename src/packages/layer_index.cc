#include "packages/layer_index.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "model/image.h"
#include "node/links/launcher_error.h"
#include "packages/eviction_order.h"

namespace glovebox::packages {
namespace {

constexpr std::size_t kMostFailures = 1000;
constexpr std::chrono::seconds kListWithin{30};

LayerIndex::Known known_of(LayerRecord record) {
  LayerIndex::Known known;
  if (auto manifest = parse_manifest(record.note)) {
    known.manifest = std::move(*manifest);
  } else {
    log::debug("cannot parse the manifest of a layer",
               {{"layer", record.id}, {"error", manifest.error().message()}});
  }
  known.record = std::move(record);
  return known;
}

std::int64_t last_use(const LayerIndex::Known& known) {
  return std::max(known.record.used_ms, known.record.made_ms);
}

// Empty: several projects use it, or nothing says who.
std::string only_project(const LayerIndex::Known& known) {
  if (!known.manifest || known.manifest->projects.size() != 1) return {};
  return known.manifest->projects.front();
}

}  // namespace

Task<> LayerIndex::load() {
  if (const std::shared_ptr<Loading> other = loading_) {
    const auto deadline = std::chrono::steady_clock::now() + kListWithin;
    while (!other->done && std::chrono::steady_clock::now() < deadline) {
      co_await other->notifier.wait(deadline);
    }
    if (!other->done)
      co_return fail(node::launcher_error("the launcher did not list its layers in time"));
    co_return *other->done;
  }
  const auto loading = std::make_shared<Loading>(io_);
  loading_ = loading;
  Result<std::vector<LayerRecord>> listed = co_await service_.list_layers();
  loading_.reset();
  if (listed) {
    std::map<std::string, Known> all;
    for (LayerRecord& record : *listed) {
      if (is_image_note(record.note)) continue;
      std::string id = record.id;
      all.insert_or_assign(std::move(id), known_of(std::move(record)));
    }
    all_ = std::move(all);
    is_indexed_ = false;
    loaded_ms_ = options_.now_ms();
    loading->done = Result<>();
  } else {
    loading->done = fail(listed.error());
  }
  loading->notifier.notify_all();
  co_return *loading->done;
}

Task<> LayerIndex::load_if_due() {
  const std::int64_t now = options_.now_ms();
  // If the clock was set back, load again.
  const bool is_new =
      loaded_ms_ && now >= *loaded_ms_ && now - *loaded_ms_ < options_.refresh_every.count();
  if (is_new) co_return Result<>();
  co_return co_await load();
}

const LayerIndex::Known* LayerIndex::find(const std::string& id) const {
  const auto at = all_.find(id);
  return at == all_.end() ? nullptr : &at->second;
}

void LayerIndex::erase(const std::string& id) {
  // `id` may refer into the erased entry.
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
  const std::string gone = id;
  all_.erase(gone);
  is_indexed_ = false;
}

void LayerIndex::index() const {
  resolved_.clear();
  for (const auto& [id, known] : all_) {
    if (!known.usable()) continue;
    for (const LayerManifest::Asked& asked : known.manifest->asked) {
      Resolved& best = resolved_[asked.spec];
      if (best.layer.empty() || best.at_ms < asked.at_ms) best = {id, asked.at_ms};
    }
  }
  is_indexed_ = true;
}

std::optional<LayerIndex::Remembered> LayerIndex::recall(const std::string& spec) const {
  if (!is_indexed_) index();
  const auto at = resolved_.find(spec);
  if (at == resolved_.end()) return std::nullopt;
  const std::int64_t now = options_.now_ms();
  const std::int64_t when = at->second.at_ms;
  // A time in the future comes from a wrong clock, then or now.
  const bool fresh = when <= now && now - when < options_.resolve_ttl.count();
  return Remembered{at->second.layer, when, fresh};
}

void LayerIndex::add(LayerRecord record) {
  std::string id = record.id;
  all_.insert_or_assign(std::move(id), known_of(std::move(record)));
  is_indexed_ = false;
}

Task<> LayerIndex::write_manifest(std::string id, LayerManifest manifest) {
  std::string text = manifest_json(manifest);
  const auto put = [this, &id, &manifest, &text] {
    const auto at = all_.find(id);
    if (at == all_.end()) return;
    at->second.manifest = manifest;
    at->second.record.note = text;
    is_indexed_ = false;
  };
  // First here, so that a concurrent call does not write the same again; and once more afterwards,
  // because a list that was requested earlier may have arrived meanwhile.
  put();
  Result<> written = co_await service_.note_layer(id, text);
  if (written) put();
  if (!written && written.error().code() == Errc::kNotFound) erase(id);
  co_return written;
}

Task<> LayerIndex::drop(std::string id) {
  Result<> dropped = co_await service_.drop_layer(id);
  if (dropped || dropped.error().code() == Errc::kNotFound) {
    erase(id);
    co_return Result<>();
  }
  co_return dropped;
}

void LayerIndex::remember_failure(const std::string& spec, const Error& error) {
  const std::int64_t now = options_.now_ms();
  std::erase_if(failures_, [now](const auto& one) { return one.second.until_ms <= now; });
  if (failures_.size() >= kMostFailures) failures_.clear();
  failures_.insert_or_assign(spec, Failure{error, now + options_.failure_ttl.count()});
}

std::optional<Error> LayerIndex::failure_of(const std::string& spec) const {
  const auto at = failures_.find(spec);
  if (at == failures_.end() || at->second.until_ms <= options_.now_ms()) return std::nullopt;
  return at->second.error;
}

std::vector<std::string> LayerIndex::oldest_first(const std::string& but) const {
  std::vector<const Known*> others;
  for (const auto& [id, known] : all_) {
    if (id != but) others.push_back(&known);
  }
  const auto rank = [](const Known& one) {
    const bool is_corrupt = one.manifest && one.manifest->corrupt;
    return std::pair(is_corrupt ? 0 : 1, last_use(one));
  };
  std::stable_sort(others.begin(), others.end(),
                   [&](const Known* a, const Known* b) { return rank(*a) < rank(*b); });
  std::vector<std::string> ids;
  for (const Known* one : others) ids.push_back(one->record.id);
  return ids;
}

std::vector<std::string> LayerIndex::eviction_order(TooMuch what, const Stays& stays) const {
  std::vector<Evictable> those;
  for (const auto& [id, known] : all_) {
    those.push_back({.id = id,
                     .owner = only_project(known),
                     .weight = what == TooMuch::kBytes ? known.record.bytes : 1,
                     .used_ms = last_use(known),
                     .stays = stays(known)});
  }
  return packages::eviction_order(std::move(those));
}

std::uint64_t LayerIndex::bytes() const {
  std::uint64_t total = 0;
  for (const auto& [id, known] : all_) total += known.record.bytes;
  return total;
}

std::uint64_t LayerIndex::bytes_of(const std::string& project) const {
  std::uint64_t total = 0;
  for (const auto& [id, known] : all_) {
    if (only_project(known) == project) total += known.record.bytes;
  }
  return total;
}

std::vector<std::string> LayerIndex::layers_of(const std::string& project) const {
  std::vector<std::string> ids = oldest_first("");
  std::erase_if(ids, [&](const std::string& id) { return only_project(all_.at(id)) != project; });
  return ids;
}

}  // namespace glovebox::packages
