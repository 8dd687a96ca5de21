#include "images/image_catalog.h"

#include <algorithm>
#include <utility>

#include "base/hex.h"
#include "base/log.h"
#include "base/utf8.h"
#include "images/image_name.h"
#include "packages/eviction_order.h"

namespace glovebox::images {
namespace {

std::int64_t last_use(const KeptImage& one) {
  return std::max(one.layer.used_ms, one.layer.made_ms);
}

tl::unexpected<Error> no_such_image(const std::string& said) {
  return fail(Errc::kNotFound,
              "there is no image \"" + to_utf8(said) +
                  "\"; get it with `glovebox image pull` or `glovebox image load`");
}

tl::unexpected<Error> several_images(const std::string& said) {
  return fail(Errc::kNotFound, "several images match \"" + to_utf8(said) +
                                   "\": use the full id, or name the project (?project=)");
}

bool has_any_name(const KeptImage& one, const std::vector<std::string>& names) {
  const std::vector<std::string>& its = one.image.names;
  return std::any_of(its.begin(), its.end(), [&names](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  });
}

}  // namespace

Task<> ImageCatalog::load() {
  node::SharedCall::Work work = [this] { return load_now(); };
  co_return co_await loading_.call(std::move(work));
}

Task<> ImageCatalog::load_now() {
  CO_TRY(std::vector<LayerRecord> listed, co_await layers_.list_layers());
  std::map<std::string, KeptImage> all;
  for (LayerRecord& layer : listed) {
    if (!is_image_note(layer.note)) continue;
    auto image = parse_image_note(layer.note);
    if (!image) {
      log::warn("an image with an invalid record is ignored",
                {{"layer", layer.id}, {"error", image.error().message()}});
      continue;
    }
    layer.note.clear();
    std::string id = layer.id;
    all.insert_or_assign(std::move(id), KeptImage{std::move(layer), std::move(*image)});
  }
  all_ = std::move(all);
  loaded_at_ = std::chrono::steady_clock::now();
  co_return Result<>();
}

Task<> ImageCatalog::load_if_due() {
  const auto now = std::chrono::steady_clock::now();
  if (loaded_at_ && now < *loaded_at_ + kRefreshEvery) co_return Result<>();
  co_return co_await load();
}

const KeptImage* ImageCatalog::find_id(const std::string& id) const {
  const auto at = all_.find(id);
  return at == all_.end() ? nullptr : &at->second;
}

Result<const KeptImage*> ImageCatalog::find(const std::string& project,
                                            const std::string& said) const {
  if (auto name = parse_image_name(said)) return find_by_name(project, *name);
  if (said.size() < kLeastImageId || !is_lower_hex(said)) return no_such_image(said);
  const KeptImage* found = nullptr;
  for (const auto& [id, one] : all_) {
    if (!id.starts_with(said) || !one.may_be_used_by(project)) continue;
    if (found != nullptr) return several_images(said);
    found = &one;
  }
  if (found == nullptr) return no_such_image(said);
  return found;
}

Result<const KeptImage*> ImageCatalog::find_by_name(const std::string& project,
                                                    const std::string& name) const {
  const KeptImage* found = nullptr;
  bool is_one = true;
  for (const auto& [id, one] : all_) {
    if (!one.may_be_used_by(project) || !has_any_name(one, {name})) continue;
    // The project's own comes before one that is public.
    if (one.image.project == project) return &one;
    is_one = found == nullptr;
    found = &one;
  }
  if (found == nullptr) return no_such_image(name);
  if (!is_one) return several_images(name);
  return found;
}

const KeptImage* ImageCatalog::find_published(const std::string& but,
                                              const std::vector<std::string>& names) const {
  for (const auto& [id, one] : all_) {
    if (id != but && one.image.is_public && has_any_name(one, names)) return &one;
  }
  return nullptr;
}

std::vector<KeptImage> ImageCatalog::list(const std::string& project) const {
  std::vector<KeptImage> found;
  for (const auto& [id, one] : all_) {
    if (one.may_be_used_by(project)) found.push_back(one);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return last_use(a) > last_use(b); });
  return found;
}

std::vector<std::string> ImageCatalog::oldest_first() const {
  std::vector<const KeptImage*> those;
  for (const auto& [id, one] : all_) {
    if (!one.image.is_pinned) those.push_back(&one);
  }
  std::stable_sort(those.begin(), those.end(),
                   [](const auto* a, const auto* b) { return last_use(*a) < last_use(*b); });
  std::vector<std::string> ids;
  for (const KeptImage* one : those) ids.push_back(one->id());
  return ids;
}

std::vector<std::string> ImageCatalog::eviction_order(TooMuch what, const std::string& but) const {
  std::vector<packages::Evictable> those;
  for (const auto& [id, one] : all_) {
    those.push_back({.id = id,
                     .owner = one.image.project,
                     .weight = what == TooMuch::kBytes ? one.layer.bytes : 1,
                     .used_ms = last_use(one),
                     .stays = one.image.is_pinned || id == but});
  }
  return packages::eviction_order(std::move(those));
}

Task<> ImageCatalog::write(std::string id, ImageRecord record) {
  CO_TRY(std::string note, image_note(record));
  Result<> written = co_await layers_.note_layer(id, std::move(note));
  const auto at = all_.find(id);
  if (written && at != all_.end()) at->second.image = std::move(record);
  if (!written && written.error().code() == Errc::kNotFound) all_.erase(id);
  co_return written;
}

Task<> ImageCatalog::drop(std::string id) {
  Result<> dropped = co_await layers_.drop_layer(id);
  const bool is_gone = dropped || dropped.error().code() == Errc::kNotFound;
  if (is_gone) all_.erase(id);
  co_return is_gone ? Result<>() : std::move(dropped);
}

void ImageCatalog::add(KeptImage image) {
  std::string id = image.id();
  image.layer.note.clear();
  all_.insert_or_assign(std::move(id), std::move(image));
}

std::uint64_t ImageCatalog::bytes() const {
  std::uint64_t total = 0;
  for (const auto& [id, one] : all_) total += one.layer.bytes;
  return total;
}

std::uint64_t ImageCatalog::bytes_of(const std::string& project) const {
  std::uint64_t total = 0;
  for (const auto& [id, one] : all_) {
    if (one.image.project == project) total += one.layer.bytes;
  }
  return total;
}

std::size_t ImageCatalog::count_of(const std::string& project) const {
  return static_cast<std::size_t>(std::count_if(
      all_.begin(), all_.end(),
      [&project](const auto& entry) { return entry.second.image.project == project; }));
}

}  // namespace glovebox::images
