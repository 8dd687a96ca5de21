// The images that this host's launcher keeps: their layers and records. Loaded from the launcher,
// which is asked again from time to time: other servers of the host may have changed them.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/task.h"
#include "images/image_record.h"
#include "model/layer.h"
#include "node/async/shared_call.h"
#include "node/layers/layer_service.h"

namespace glovebox::images {

struct KeptImage {
  LayerRecord layer;  // its id is the image's
  ImageRecord image;

  const std::string& id() const { return layer.id; }
  // "*": an administrator's view.
  bool may_be_used_by(const std::string& project) const {
    return project == "*" || image.project == project || image.is_public;
  }
};

class ImageCatalog {
 public:
  static constexpr std::chrono::seconds kRefreshEvery{5};

  ImageCatalog(asio::io_context& io, node::LayerService& layers) : layers_(layers), loading_(io) {}

  // Many who ask at the same time share one list of the launcher's.
  Task<> load();
  Task<> load_if_due();
  // By its id, at least eight characters of it, or one of its names: of the project's own images
  // first, then of public ones. kNotFound: there is none, or `said` may mean several; each project
  // chooses its names, so an administrator's view ("*") never chooses among them. Valid until the
  // caller awaits something.
  Result<const KeptImage*> find(const std::string& project, const std::string& said) const;
  // Another public image that has one of these names; null if there is none.
  const KeptImage* find_published(const std::string& but,
                                  const std::vector<std::string>& names) const;
  const KeptImage* find_id(const std::string& id) const;
  // The images that a project may use, the last used first.
  std::vector<KeptImage> list(const std::string& project) const;
  // Those that are not pinned, the least recently used first.
  std::vector<std::string> oldest_first() const;
  // Those that may give way when there is too much of `what`: of the project that has most of it,
  // the least recently used first. `but` stays.
  enum class TooMuch : std::uint8_t { kBytes, kImages };
  std::vector<std::string> eviction_order(TooMuch what, const std::string& but) const;

  // Writes its record and keeps it here.
  Task<> write(std::string id, ImageRecord record);
  Task<> drop(std::string id);
  void add(KeptImage image);

  std::uint64_t bytes() const;
  std::uint64_t bytes_of(const std::string& project) const;
  std::size_t count() const { return all_.size(); }
  std::size_t count_of(const std::string& project) const;

 private:
  Task<> load_now();
  Result<const KeptImage*> find_by_name(const std::string& project, const std::string& name) const;

  node::LayerService& layers_;
  std::map<std::string, KeptImage> all_;  // by id
  std::optional<std::chrono::steady_clock::time_point> loaded_at_;
  node::SharedCall loading_;
};

}  // namespace glovebox::images
