// Layers that the launcher keeps for its servers (model/layer.h), as the server sees them. One is
// made in a session that has it mounted (SessionSpec::layer), and kept when that has ended.
#pragma once

#include <string>
#include <vector>

#include "base/task.h"
#include "model/layer.h"

namespace glovebox::node {

class LayerService {
 public:
  virtual ~LayerService() = default;
  // Each kUnavailable when there is no launcher.
  virtual Task<> keep_layer(LayerRecord record) = 0;
  virtual Task<> note_layer(std::string id, std::string note) = 0;
  // kConflict: it is in use; kNotFound.
  virtual Task<> drop_layer(std::string id) = 0;
  virtual Task<std::vector<LayerRecord>> list_layers() = 0;
};

}  // namespace glovebox::node
