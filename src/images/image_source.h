// Where an image comes from while it is loaded, and who is told how far it is.
#pragma once

#include <cstddef>
#include <string>

#include "base/task.h"

namespace glovebox::images {

// An archive, as a client sends it or as the fetching sandbox makes it.
class ImageSource {
 public:
  virtual ~ImageSource() = default;
  // Some bytes; none at the end.
  virtual Task<std::size_t> read_some(char* into, std::size_t size) = 0;
};

// Shown to the client that waits. Returns false when it is gone.
class ImageProgress {
 public:
  virtual ~ImageProgress() = default;
  virtual asio::awaitable<bool> on_progress(std::string phase, std::string text) = 0;
};

}  // namespace glovebox::images
