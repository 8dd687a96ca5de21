// Unpacks an archive's image in a sandbox of its own, in which only our agent runs, into a layer
// that the launcher keeps. The server passes the bytes on and parses none of them.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/task.h"
#include "images/archive_file.h"
#include "images/image_archive.h"
#include "images/image_source.h"
#include "model/layer.h"
#include "node/layers/layer_service.h"
#include "node/sessions/session_service.h"

namespace glovebox::images {

struct UnpackedImage {
  LayerRecord layer;  // without a note
  std::uint64_t devices = 0;
  std::uint64_t capabilities = 0;
};

class ImageUnpacking {
 public:
  struct Services {
    asio::io_context& io;
    asio::thread_pool& disk;
    node::SessionService& sessions;
    node::LayerService& layers;
  };
  struct Wanted {
    std::string id;  // of the layer
    std::string project;
    std::uint64_t most_bytes = 0;                // uncompressed
    std::chrono::milliseconds patience{60'000};  // without a byte
    // All layers together: other projects' images wait for their turn meanwhile.
    std::chrono::minutes longest{30};
  };
  explicit ImageUnpacking(Services services) : services_(services) {}

  // `note` makes the layer's note of what was found. kInvalidArgument: the image is malformed or
  // not what its digests say; kResourceExhausted: it is too large; kConflict: the layer exists.
  // After an error nothing of it is left.
  using MakeNote = std::function<Result<std::string>(const UnpackedImage&)>;
  Task<UnpackedImage> unpack(Wanted wanted, ArchivedImage image,
                             std::shared_ptr<const ArchiveFile> file, MakeNote note,
                             ImageProgress& progress, std::shared_ptr<node::CancelFlag> cancel);

 private:
  Task<UnpackedImage> fill(const Wanted& wanted, const ArchivedImage& image,
                           std::shared_ptr<const ArchiveFile> file,
                           std::shared_ptr<node::Session> session, ImageProgress& progress,
                           std::shared_ptr<node::CancelFlag> cancel);
  Task<wire::FileDone> send_layer(const Wanted& wanted, ArchivedLayer layer, std::uint64_t left,
                                  std::chrono::steady_clock::time_point deadline,
                                  std::shared_ptr<const ArchiveFile> file,
                                  std::shared_ptr<node::Session> session,
                                  std::shared_ptr<node::CancelFlag> cancel);

  Services services_;
};

}  // namespace glovebox::images
