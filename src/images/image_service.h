// The images of this host: loads them from what clients send or registries have, finds them for
// requests, and makes room. An image belongs to the project that loaded it; an administrator may
// make it public.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/task.h"
#include "config/image_registries.h"
#include "images/archive_file.h"
#include "images/arriving_bytes.h"
#include "images/image_catalog.h"
#include "images/image_name.h"
#include "images/image_source.h"
#include "images/image_unpacking.h"
#include "images/registry_credentials.h"
#include "node/async/async_fifo_lock.h"
#include "node/layers/layer_service.h"
#include "node/sessions/session_service.h"
#include "packages/package_service.h"

namespace glovebox::images {

struct ImageServiceOptions {
  std::string directory;                      // for archives that arrive; made if missing
  std::uint64_t max_bytes = 10ull << 30;      // of one image, and of an archive
  std::uint64_t disk_ceiling = 40ull << 30;   // of all images; zero: no limit
  static constexpr std::uint64_t kShare = 4;  // a project may use a fourth of that
  // Of all projects; the launcher keeps 4,096 layers, those of packages included. A project may
  // have a fourth of these, too.
  std::size_t most_images = 1'024;
  // Images that arrive at the same time, one of a project. Two of them are unpacked at a time: one
  // that takes long does not hold up all others.
  static constexpr std::size_t kMostAtOnce = 8;
  static constexpr std::size_t kUnpackedAtOnce = 2;
  // Records of a project's images that are written in any 60 seconds: names, pins. The launcher
  // waits for the disk for each.
  std::size_t most_changes_in_a_minute = 120;
  std::function<std::chrono::steady_clock::time_point()> now = [] {
    return std::chrono::steady_clock::now();
  };
  std::chrono::milliseconds patience{60'000};
  std::chrono::milliseconds drop_within{5'000};
  std::vector<config::ImageRegistry> registries{};  // that images may be pulled from
  std::chrono::milliseconds pull_timeout{1'800'000};
  // The template or snapshot that is made of an image and keeps it, as "template NAME"; empty:
  // none. Names of other projects than the image's own are not said.
  std::function<std::string(const std::string& id, const std::string& project)> kept_for =
      [](const auto&, const auto&) { return ""; };
};

struct LoadRequest {
  std::string project;
  std::string name{};    // in its one spelling; empty: as the archive says
  bool is_tree = false;  // a plain tree (`image import`), not an archive of an image
  std::string sha256{};  // of the manifest or index that the archive must have; empty: any
};

struct PullRequest {
  std::string project;
  ImageReference reference;
  RegistryCredentials credentials{};
};

struct LoadedImage {
  KeptImage image;
  bool is_new = true;  // false: the project had it already
};

struct ImagePrune {
  std::chrono::milliseconds unused_for{0};
  bool dry_run = false;
  std::string project;  // "*": of all projects
};
struct ImagePruneReport {
  std::vector<std::string> removed;
  std::uint64_t bytes = 0;
};

class ImageService {
 public:
  struct Services {
    asio::io_context& io;
    node::SessionService& sessions;
    node::LayerService& layers;
    packages::PackageService& packages;  // holds templates that are made of images
  };
  ImageService(Services services, ImageServiceOptions options);

  // kResourceExhausted: no room, or too many at once; else as ImageUnpacking::unpack. `source` and
  // `progress` outlive the call.
  Task<LoadedImage> load(LoadRequest wanted, ImageSource& source, ImageProgress& progress,
                         std::shared_ptr<node::CancelFlag> cancel);
  // From its registry; what the project has already is not fetched again, once the registry has
  // shown with the caller's own credentials what the name is. kPolicy: the registry is none of the
  // administrator's list; else as load() and ImageFetch::begin.
  Task<LoadedImage> pull(PullRequest wanted, ImageProgress& progress,
                         std::shared_ptr<node::CancelFlag> cancel);
  // For a request that names an image. kNotFound.
  Task<ImageUse> use(std::string project, std::string said);
  Task<KeptImage> find(std::string project, std::string said);
  Task<std::vector<KeptImage>> list(std::string project);
  // Null: it is no image, or not known here yet.
  const KeptImage* find_layer(const std::string& id) const { return catalog_.find_id(id); }

  // `project`: whose image it must be; "*": of any project. kConflict: it is in use; kNotFound.
  Task<> remove(std::string project, std::string said);
  struct Change {
    std::optional<bool> is_public{};
    std::optional<bool> is_pinned{};
  };
  // kResourceExhausted: too many in the last minute.
  Task<KeptImage> change(std::string project, std::string said, Change change);
  Task<ImagePruneReport> prune(ImagePrune prune);

 private:
  struct Claim;
  Result<> check_free(const std::string& project) const;
  Result<config::ImageRegistry> registry_of(const ImageReference& reference) const;
  // What is fetched for it; null: the project has the image already, which is `loaded` then.
  Task<std::shared_ptr<const ArchiveFile>> fetch(PullRequest& wanted, std::uint64_t room,
                                                 LoadedImage& loaded, ImageProgress& progress,
                                                 std::shared_ptr<node::CancelFlag> cancel);
  Task<LoadedImage> keep_in_turn(LoadRequest wanted, std::shared_ptr<const ArchiveFile> file,
                                 std::uint64_t room, ImageProgress& progress,
                                 std::shared_ptr<node::CancelFlag> cancel);
  // Of an image that the project has.
  Task<LoadedImage> add_names(std::string id, std::string project, std::vector<std::string> names);
  Task<LoadedImage> keep(LoadRequest wanted, std::shared_ptr<const ArchiveFile> file,
                         std::uint64_t room, ImageProgress& progress,
                         std::shared_ptr<node::CancelFlag> cancel);
  // `room`: what the image's tree may take.
  Task<std::shared_ptr<const ArchiveFile>> receive(ImageSource& source, std::uint64_t room,
                                                   ImageProgress& progress,
                                                   std::shared_ptr<node::CancelFlag> cancel);
  Result<std::uint64_t> room_of(const std::string& project) const;
  Result<> check_may_change(const std::string& project);
  Task<> write_record(std::string id, ImageRecord record);
  bool is_too_much(ImageCatalog::TooMuch what) const;
  Task<> make_room(std::string but);
  Task<> drop(std::string id);
  // Takes the names from the project's other images.
  Task<> move_names(std::string id, std::string project, std::vector<std::string> names);
  Result<const KeptImage*> find_own(const std::string& project, const std::string& said) const;

  Services services_;
  const ImageServiceOptions options_;
  asio::thread_pool disk_{2};  // reading, writing and hashing may block
  ImageCatalog catalog_;
  ImageUnpacking unpacking_;
  std::set<std::string> loading_;  // projects that are loading one
  std::shared_ptr<ArrivingBytes> arriving_;
  std::map<std::string, std::deque<std::chrono::steady_clock::time_point>> changed_at_;
  using Lane = std::shared_ptr<node::AsyncFifoLock>;
  std::array<Lane, ImageServiceOptions::kUnpackedAtOnce> lanes_;
  std::shared_ptr<char> life_ = std::make_shared<char>();  // expires with this object
};

}  // namespace glovebox::images
