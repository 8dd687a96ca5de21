#include "images/image_service.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "base/log.h"
#include "base/wall_clock.h"
#include "images/image_archive.h"
#include "images/image_fetch.h"
#include "images/image_name.h"
#include "store/sha256.h"

namespace glovebox::images {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kReceived = 1u << 20;          // at once
constexpr std::uint64_t kReportEvery = 64ull << 20;  // of an archive that arrives
constexpr std::uint64_t kLeastRoom = 1ull << 20;     // required to begin
constexpr std::chrono::milliseconds kDropStep{50};
constexpr std::chrono::seconds kChangeWindow{60};
constexpr ImageCatalog::TooMuch kBounds[] = {ImageCatalog::TooMuch::kBytes,
                                             ImageCatalog::TooMuch::kImages};

// One tree per project and content: a project's images are its own.
std::string layer_of(const std::string& project, const std::string& digest) {
  return store::sha256_hex("glovebox image\n" + std::to_string(project.size()) + ":" + project +
                           digest)
      .substr(0, kLayerIdSize);
}

// Its names are what all projects call it, so its owner alone must not choose more of them.
Result<> check_may_be_named(const ImageRecord& record, const std::vector<std::string>& added) {
  if (!record.is_public || added.empty()) return {};
  return fail(Errc::kPermissionDenied,
              "the image is published; it gets no other names before an administrator has "
              "withdrawn it (`glovebox image unpublish`)");
}

// What the archive of a tree of `room` bytes may take: it has headers and padding, too.
std::uint64_t archive_room(std::uint64_t room) {
  constexpr std::uint64_t kMore = 64ull << 20;
  return room + room / 4 + kMore;
}

std::string megabytes(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MB"; }

}  // namespace

// One image of a project at a time, and few of all: each takes disk, and a sandbox.
struct ImageService::Claim {
  Claim(std::set<std::string>& set, std::string who) : loading(set), project(std::move(who)) {
    loading.insert(project);
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  ~Claim() { loading.erase(project); }
  std::set<std::string>& loading;
  std::string project;
};

ImageService::ImageService(Services services, ImageServiceOptions options)
    : services_(services),
      options_(std::move(options)),
      catalog_(services.io, services.layers),
      unpacking_({services.io, disk_, services.sessions, services.layers}),
      arriving_(std::make_shared<ArrivingBytes>(options_.disk_ceiling / 2)) {
  for (Lane& lane : lanes_) lane = std::make_shared<node::AsyncFifoLock>(services.io);
}

Task<ImageUse> ImageService::use(std::string project, std::string said) {
  CO_TRY_OK(co_await catalog_.load_if_due());
  CO_TRY(const KeptImage* const found, catalog_.find(project, said));
  ImageUse use{.layer = found->id(), .name = std::move(said), .config = found->image.config};
  co_return use;
}

Task<KeptImage> ImageService::find(std::string project, std::string said) {
  CO_TRY_OK(co_await catalog_.load());
  CO_TRY(const KeptImage* const found, catalog_.find(project, said));
  co_return *found;
}

Task<std::vector<KeptImage>> ImageService::list(std::string project) {
  CO_TRY_OK(co_await catalog_.load());
  co_return catalog_.list(project);
}

// ---- loading -----------------------------------------------------------------------------------

Result<std::uint64_t> ImageService::room_of(const std::string& project) const {
  const std::size_t count = catalog_.count_of(project);
  if (count >= options_.most_images / ImageServiceOptions::kShare) {
    return fail(Error(
        Errc::kResourceExhausted,
        "the project has " + std::to_string(count) + " images, which is the limit: remove one",
        ENOSPC));
  }
  if (options_.disk_ceiling == 0) return options_.max_bytes;
  const std::uint64_t share = options_.disk_ceiling / ImageServiceOptions::kShare;
  const std::uint64_t used = catalog_.bytes_of(project);
  if (used + kLeastRoom > share) {
    return fail(Error(Errc::kResourceExhausted,
                      "the project's images take " + megabytes(used) + " of the " +
                          megabytes(share) + " that it may use: remove one",
                      ENOSPC));
  }
  return std::min(options_.max_bytes, share - used);
}

Task<LoadedImage> ImageService::load(LoadRequest wanted, ImageSource& source,
                                     ImageProgress& progress,
                                     std::shared_ptr<node::CancelFlag> cancel) {
  CO_TRY_OK(check_free(wanted.project));
  CO_TRY_OK(check_may_change(wanted.project));
  const Claim claim(loading_, wanted.project);
  CO_TRY_OK(co_await catalog_.load());
  CO_TRY(const std::uint64_t room, room_of(wanted.project));
  CO_TRY(std::shared_ptr<const ArchiveFile> file, co_await receive(source, room, progress, cancel));
  co_return co_await keep_in_turn(std::move(wanted), std::move(file), room, progress, cancel);
}

Result<> ImageService::check_free(const std::string& project) const {
  if (loading_.contains(project)) {
    return fail(Errc::kResourceExhausted,
                "the project is loading another image; try again when it is done");
  }
  if (loading_.size() >= ImageServiceOptions::kMostAtOnce) {
    return fail(Errc::kResourceExhausted,
                "other projects are loading images; try again when they are done");
  }
  return {};
}

Result<config::ImageRegistry> ImageService::registry_of(const ImageReference& reference) const {
  std::string known;
  for (const config::ImageRegistry& one : options_.registries) {
    if (one.name == reference.registry) return one;
    known += " " + one.name;
  }
  return fail(Errc::kPolicy, "images cannot be pulled from " + reference.registry +
                                 ": the administrator allows only the registries of "
                                 "images.registries (" +
                                 (known.empty() ? "none" : known.substr(1)) + ")");
}

Task<LoadedImage> ImageService::pull(PullRequest wanted, ImageProgress& progress,
                                     std::shared_ptr<node::CancelFlag> cancel) {
  CO_TRY_OK(registry_of(wanted.reference));
  CO_TRY_OK(check_free(wanted.project));
  CO_TRY_OK(check_may_change(wanted.project));
  const Claim claim(loading_, wanted.project);
  CO_TRY_OK(co_await catalog_.load());
  CO_TRY(const std::uint64_t room, room_of(wanted.project));
  LoadedImage loaded;
  CO_TRY(std::shared_ptr<const ArchiveFile> file,
         co_await fetch(wanted, room, loaded, progress, cancel));
  if (!file) co_return loaded;
  LoadRequest as_archive{
      .project = wanted.project, .name = wanted.reference.name, .sha256 = wanted.reference.sha256};
  co_return co_await keep_in_turn(std::move(as_archive), std::move(file), room, progress, cancel);
}

Task<std::shared_ptr<const ArchiveFile>> ImageService::fetch(
    PullRequest& wanted, std::uint64_t room, LoadedImage& loaded, ImageProgress& progress,
    std::shared_ptr<node::CancelFlag> cancel) {
  FetchWanted fetch_wanted{.project = wanted.project,
                           .reference = wanted.reference,
                           .registry = {},
                           .credentials = std::move(wanted.credentials),
                           .most_bytes = std::min(room, options_.max_bytes),
                           .timeout = options_.pull_timeout};
  CO_TRY(fetch_wanted.registry, registry_of(wanted.reference));
  packages::BuildSandbox::Host host{services_.io, services_.sessions, life_};
  CO_TRY(const std::unique_ptr<ImageFetch> fetch,
         co_await ImageFetch::begin(std::move(host), std::move(fetch_wanted), progress, cancel));
  const std::string& name = wanted.reference.name;
  std::string id = layer_of(wanted.project, fetch->found().config);
  if (const KeptImage* known = catalog_.find_id(id)) {
    const auto& names = known->image.names;
    const bool has_name = std::find(names.begin(), names.end(), name) != names.end();
    // The name of a digest is proven by the bytes that have it, not by what the fetch program says.
    if (has_name || wanted.reference.sha256.empty()) {
      (void)co_await fetch->end();
      std::vector<std::string> its = {name};
      CO_TRY(loaded, co_await add_names(std::move(id), wanted.project, std::move(its)));
      co_return std::shared_ptr<const ArchiveFile>();
    }
  }
  CO_TRY(std::shared_ptr<const ArchiveFile> file, co_await receive(*fetch, room, progress, cancel));
  (void)co_await fetch->end();
  co_return file;
}

Task<LoadedImage> ImageService::add_names(std::string id, std::string project,
                                          std::vector<std::string> names) {
  const KeptImage* known = catalog_.find_id(id);
  if (known == nullptr) co_return fail(Errc::kUnavailable, "the image was removed meanwhile");
  ImageRecord record = known->image;
  std::vector<std::string> added;
  for (const std::string& name : names) {
    auto& its = record.names;
    if (std::find(its.begin(), its.end(), name) == its.end()) added.push_back(name);
  }
  CO_TRY_OK(check_may_be_named(record, added));
  record.names.insert(record.names.end(), added.begin(), added.end());
  if (record.names.size() > ImageRecord::kMostNames) {
    co_return fail(Errc::kInvalidArgument, "the image has too many names");
  }
  if (!added.empty()) CO_TRY_OK(co_await write_record(id, std::move(record)));
  CO_TRY_OK(co_await move_names(id, std::move(project), std::move(names)));
  known = catalog_.find_id(id);
  if (known == nullptr) co_return fail(Errc::kUnavailable, "the image was removed meanwhile");
  LoadedImage loaded{.image = *known, .is_new = false};
  co_return loaded;
}

Task<LoadedImage> ImageService::keep_in_turn(LoadRequest wanted,
                                             std::shared_ptr<const ArchiveFile> file,
                                             std::uint64_t room, ImageProgress& progress,
                                             std::shared_ptr<node::CancelFlag> cancel) {
  const auto before_me = [](const Lane& lane) {
    return lane->waiting() + (lane->is_locked() ? 1 : 0);
  };
  const Lane lane = *std::min_element(
      lanes_.begin(), lanes_.end(),
      [&](const Lane& one, const Lane& other) { return before_me(one) < before_me(other); });
  CO_TRY_OK(co_await lane->lock(cancel));
  struct Unlock {
    std::shared_ptr<node::AsyncFifoLock> lock;
    explicit Unlock(std::shared_ptr<node::AsyncFifoLock> held) : lock(std::move(held)) {}
    Unlock(const Unlock&) = delete;
    Unlock& operator=(const Unlock&) = delete;
    ~Unlock() { lock->unlock(); }
  };
  const Unlock unlock(lane);
  co_return co_await keep(std::move(wanted), std::move(file), room, progress, cancel);
}

Task<LoadedImage> ImageService::keep(LoadRequest wanted, std::shared_ptr<const ArchiveFile> file,
                                     std::uint64_t room, ImageProgress& progress,
                                     std::shared_ptr<node::CancelFlag> cancel) {
  bool is_watched = co_await progress.on_progress("checking", "");
  if (!is_watched) co_return fail(Errc::kUnavailable, "the request was cancelled");
  auto look = [file, wanted]() -> Task<ArchivedImage> {
    co_return wanted.is_tree ? read_root_archive(file->fd())
                             : read_image_archive(file->fd(), wanted.name);
  };
  CO_TRY(ArchivedImage found, co_await asio::co_spawn(disk_, look, asio::use_awaitable));
  std::vector<std::string> names =
      wanted.name.empty() ? std::move(found.names) : std::vector<std::string>{wanted.name};
  if (names.size() > ImageRecord::kMostNames) names.resize(ImageRecord::kMostNames);
  if (names.empty()) {
    co_return fail(Errc::kInvalidArgument,
                   "the archive has no name for the image; give it one (name)");
  }
  const std::string id = layer_of(wanted.project, found.digest);
  if (!wanted.sha256.empty() && found.manifest != wanted.sha256) {
    co_return fail(Errc::kInvalidArgument,
                   "the image is not sha256:" + wanted.sha256 + ", but sha256:" + found.manifest);
  }
  if (catalog_.find_id(id) != nullptr) {
    std::string known = id;
    co_return co_await add_names(std::move(known), wanted.project, std::move(names));
  }
  LoadedImage loaded;
  ImageRecord record;
  record.project = wanted.project;
  record.names = names;
  record.digest = found.digest;
  record.config = found.config;
  record.layers = found.layers.size();
  // Before anything is unpacked: a record that does not fit is refused at once.
  CO_TRY_OK(image_note(record));
  auto kept_record = std::make_shared<ImageRecord>(std::move(record));
  ImageUnpacking::MakeNote note = [kept_record](const UnpackedImage& unpacked) {
    kept_record->devices = unpacked.devices;
    kept_record->capabilities = unpacked.capabilities;
    return image_note(*kept_record);
  };
  ImageUnpacking::Wanted unpacking{
      .id = id, .project = wanted.project, .most_bytes = room, .patience = options_.patience};
  const auto began = Clock::now();
  CO_TRY(UnpackedImage unpacked,
         co_await unpacking_.unpack(std::move(unpacking), std::move(found), std::move(file),
                                    std::move(note), progress, cancel));
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began);
  log::info("image loaded", {{"image", id},
                             {"project", wanted.project},
                             {"bytes", std::to_string(unpacked.layer.bytes)},
                             {"ms", std::to_string(took.count())}});
  catalog_.add({std::move(unpacked.layer), *kept_record});
  CO_TRY_OK(co_await move_names(id, wanted.project, names));
  CO_TRY_OK(co_await make_room(id));
  const KeptImage* kept = catalog_.find_id(id);
  if (kept == nullptr) co_return fail(Errc::kUnavailable, "the image was removed meanwhile");
  loaded.image = *kept;
  co_return loaded;
}

Task<std::shared_ptr<const ArchiveFile>> ImageService::receive(
    ImageSource& source, std::uint64_t room, ImageProgress& progress,
    std::shared_ptr<node::CancelFlag> cancel) {
  struct Arrival {
    Arrival(ArchiveFile made, std::shared_ptr<ArrivingBytes> all)
        : file(std::move(made)), part(std::move(all)) {}
    ArchiveFile file;
    ArrivingBytes::Part part;  // as long as the file is there
  };
  CO_TRY(ArchiveFile made, ArchiveFile::create(options_.directory));
  const auto arrival = std::make_shared<Arrival>(std::move(made), arriving_);
  const std::shared_ptr<ArchiveFile> file(arrival, &arrival->file);
  const std::uint64_t most = std::min(options_.max_bytes, archive_room(room));
  auto buffer = std::make_shared<std::string>(kReceived, '\0');
  std::uint64_t reported = 0;
  bool is_watched = co_await progress.on_progress("receiving", "");
  while (is_watched) {
    CO_TRY(const std::size_t got, co_await source.read_some(buffer->data(), buffer->size()));
    if (cancel->cancelled()) break;
    if (got == 0) co_return file;
    if (file->size() + got > most) {
      const bool is_of_all = most == options_.max_bytes;
      co_return fail(Error(Errc::kResourceExhausted,
                           "the archive exceeds " + megabytes(most) +
                               (is_of_all ? " (images.max_size)"
                                          : ", which is what the project's images may still take"),
                           EFBIG));
    }
    if (!arrival->part.grow_to(file->size() + got)) {
      co_return fail(Error(Errc::kResourceExhausted,
                           "images that arrive have no more room on the server's disk; try again "
                           "when those of other projects are done",
                           ENOSPC));
    }
    auto work = [file, buffer, got]() -> Task<> {
      co_return file->append(std::string_view(*buffer).substr(0, got));
    };
    CO_TRY_OK(co_await asio::co_spawn(disk_, work, asio::use_awaitable));
    if (file->size() - reported < kReportEvery) continue;
    reported = file->size();
    std::string text = megabytes(reported);
    is_watched = co_await progress.on_progress("receiving", std::move(text));
  }
  co_return fail(Errc::kUnavailable, "the request was cancelled");
}

Task<> ImageService::move_names(std::string id, std::string project,
                                std::vector<std::string> names) {
  std::vector<KeptImage> others = catalog_.list(project);
  for (const KeptImage& other : others) {
    if (other.id() == id || other.image.project != project) continue;
    ImageRecord record = other.image;
    std::erase_if(record.names, [&names](const std::string& name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    });
    if (record.names == other.image.names) continue;
    std::string which = other.id();
    Result<> written = co_await write_record(std::move(which), std::move(record));
    if (!written && written.error().code() != Errc::kNotFound) co_return written;
  }
  co_return Result<>();
}

// ---- room --------------------------------------------------------------------------------------

Task<> ImageService::drop(std::string id) {
  const KeptImage* known = catalog_.find_id(id);
  const std::string user = known != nullptr ? options_.kept_for(id, known->image.project) : "";
  if (!user.empty()) {
    co_return fail(Errc::kConflict, "the image is in use: " + user + " is made of it");
  }
  // Idle templates of it are kept for the next request.
  const bool is_released = services_.packages.release_templates(id) > 0;
  const Clock::time_point deadline = Clock::now() + options_.drop_within;
  asio::steady_timer timer(services_.io);
  while (true) {
    Result<> dropped = co_await catalog_.drop(id);
    if (dropped) break;
    const bool is_in_use = dropped.error().code() == Errc::kConflict;
    if (!is_in_use) co_return dropped;
    if (!is_released || Clock::now() >= deadline) {
      co_return fail(Errc::kConflict, "the image is in use: " + dropped.error().message());
    }
    // Sandboxes that waited are ending.
    timer.expires_after(kDropStep);
    co_await timer.async_wait(kAwaitTuple);
  }
  log::info("image removed", {{"image", id}});
  co_return Result<>();
}

bool ImageService::is_too_much(ImageCatalog::TooMuch what) const {
  if (what == ImageCatalog::TooMuch::kImages) return catalog_.count() > options_.most_images;
  return options_.disk_ceiling != 0 && catalog_.bytes() > options_.disk_ceiling;
}

// Until all images fit below the ceiling. What is in use stays, and so does `but`.
Task<> ImageService::make_room(std::string but) {
  for (const ImageCatalog::TooMuch what : kBounds) {
    if (!is_too_much(what)) continue;
    CO_TRY_OK(co_await catalog_.load());
    for (const std::string& id : catalog_.eviction_order(what, but)) {
      if (!is_too_much(what)) break;
      Result<> dropped = co_await drop(id);
      if (!dropped && dropped.error().code() == Errc::kUnavailable) co_return dropped;
    }
  }
  co_return Result<>();
}

// ---- changes -----------------------------------------------------------------------------------

Result<> ImageService::check_may_change(const std::string& project) {
  const Clock::time_point now = options_.now();
  for (auto& [name, times] : changed_at_) {
    while (!times.empty() && times.front() + kChangeWindow <= now) times.pop_front();
  }
  std::erase_if(changed_at_, [](const auto& one) { return one.second.empty(); });
  const auto found = changed_at_.find(project);
  if (found == changed_at_.end() || found->second.size() < options_.most_changes_in_a_minute) {
    return {};
  }
  const auto wait =
      std::chrono::ceil<std::chrono::seconds>(found->second.front() + kChangeWindow - now);
  return fail(Errc::kResourceExhausted, "the names and pins of the project's images changed " +
                                            std::to_string(found->second.size()) +
                                            " times in the last minute; try again in " +
                                            std::to_string(wait.count()) + " s");
}

Task<> ImageService::write_record(std::string id, ImageRecord record) {
  changed_at_[record.project].push_back(options_.now());
  co_return co_await catalog_.write(std::move(id), std::move(record));
}

Result<const KeptImage*> ImageService::find_own(const std::string& project,
                                                const std::string& said) const {
  TRY(const KeptImage* const found, catalog_.find(project, said));
  if (project != "*" && found->image.project != project) {
    return fail(Errc::kPermissionDenied, "the image belongs to another project");
  }
  return found;
}

Task<> ImageService::remove(std::string project, std::string said) {
  CO_TRY_OK(co_await catalog_.load());
  CO_TRY(const KeptImage* const found, find_own(project, said));
  std::string id = found->id();
  co_return co_await drop(std::move(id));
}

Task<KeptImage> ImageService::change(std::string project, std::string said, Change change) {
  CO_TRY_OK(co_await catalog_.load());
  CO_TRY(const KeptImage* const found, find_own(project, said));
  const std::string id = found->id();
  ImageRecord record = found->image;
  if (change.is_public.value_or(false) && catalog_.find_published(id, record.names) != nullptr) {
    co_return fail(Errc::kInvalidArgument,
                   "another published image has one of its names: withdraw that one first");
  }
  record.is_public = change.is_public.value_or(record.is_public);
  record.is_pinned = change.is_pinned.value_or(record.is_pinned);
  if (record != found->image) {
    CO_TRY_OK(check_may_change(record.project));
    CO_TRY_OK(co_await write_record(id, std::move(record)));
  }
  const KeptImage* kept = catalog_.find_id(id);
  if (kept == nullptr) co_return fail(Errc::kNotFound, "the image was removed meanwhile");
  co_return *kept;
}

Task<ImagePruneReport> ImageService::prune(ImagePrune prune) {
  CO_TRY_OK(co_await catalog_.load());
  ImagePruneReport report;
  const std::int64_t now = wall_clock_ms();
  for (const std::string& id : catalog_.oldest_first()) {
    const KeptImage* one = catalog_.find_id(id);
    if (one == nullptr) continue;
    if (prune.project != "*" && one->image.project != prune.project) continue;
    const std::int64_t since = now - std::max(one->layer.used_ms, one->layer.made_ms);
    if (prune.unused_for.count() > 0 && since < prune.unused_for.count()) continue;
    if (!options_.kept_for(id, one->image.project).empty()) continue;
    const std::uint64_t bytes = one->layer.bytes;
    if (!prune.dry_run) {
      Result<> dropped = co_await drop(id);
      if (!dropped && dropped.error().code() == Errc::kUnavailable) {
        co_return fail(std::move(dropped.error()));
      }
      if (!dropped) continue;
    }
    report.removed.push_back(id);
    report.bytes += bytes;
  }
  co_return report;
}

}  // namespace glovebox::images
