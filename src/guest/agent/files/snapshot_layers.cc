#include "guest/agent/files/snapshot_layers.h"

#include <fcntl.h>

#include "guest/agent/files/resolved_path.h"

namespace glovebox::agent {

Result<std::vector<SnapshotLayer>> open_snapshot_layers(int upper) {
  if (upper < 0) return fail_with(EINVAL, "the agent's descriptors");
  TRY(UniqueFd seen, open_path(AT_FDCWD, "/", O_RDONLY | O_DIRECTORY));
  std::vector<SnapshotLayer> layers;
  auto usr_layer = open_child(upper, "usr-upper");
  if (!usr_layer && usr_layer.error().sys_errno() != ENOENT) {
    return fail(std::move(usr_layer.error()));
  }
  if (usr_layer) {
    TRY(UniqueFd usr, open_child(seen.get(), "usr"));
    layers.push_back({std::move(*usr_layer), std::move(usr), "usr/"});
  }
  TRY(UniqueFd layer, open_child(upper, "upper"));
  layers.push_back({std::move(layer), std::move(seen), ""});
  return layers;
}

}  // namespace glovebox::agent
