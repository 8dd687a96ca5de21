// The images that this host's launcher keeps: their layers and records. Loaded from the launcher,
// which is asked again from time to time: other servers of the host may have changed them.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/task.h"
#include "images/image_record.h"
#include "model/layer.h"
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

  explicit ImageCatalog(node::LayerService& layers) : layers_(layers) {}

  Task<> load();
  Task<> load_if_due();
  // By its id, at least eight characters of it, or one of its names: of the project's own images
  // first, then of public ones. Null: there is none, or several ids begin so. Valid until the
  // caller awaits something.
  const KeptImage* find(const std::string& project, const std::string& said) const;
  const KeptImage* find_id(const std::string& id) const;
  // The images that a project may use, the last used first.
  std::vector<KeptImage> list(const std::string& project) const;
  // Those that may give way when room is needed come first: the least recently used.
  std::vector<std::string> oldest_first() const;

  // Writes its record and keeps it here.
  Task<> write(std::string id, ImageRecord record);
  Task<> drop(std::string id);
  void add(KeptImage image);

  std::uint64_t bytes() const;
  std::uint64_t bytes_of(const std::string& project) const;

 private:
  node::LayerService& layers_;
  std::map<std::string, KeptImage> all_;  // by id
  std::optional<std::chrono::steady_clock::time_point> loaded_at_;
};

}  // namespace glovebox::images
