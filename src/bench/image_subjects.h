// Image measurements: runs and sandboxes of an image beside those of the host's files, with the
// same interpreter in both; and a pull beside skopeo and umoci, which fetch and unpack the same
// image from the same registry.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/bench_options.h"
#include "bench/subjects.h"

namespace glovebox::bench {

// Debian's docker-registry on an address of this host, with one image of 200 MB in it.
class ImageFixture {
 public:
  // If it cannot be started, `unavailable_reason` says why.
  static std::unique_ptr<ImageFixture> make();
  ImageFixture() = default;
  ImageFixture(const ImageFixture&) = delete;
  ImageFixture& operator=(const ImageFixture&) = delete;
  ~ImageFixture();

  // Settings of the measured server: it may pull from here.
  std::vector<std::string> settings() const;
  const std::string& directory() const { return directory_; }
  // Of the image, as a registry's clients call it.
  std::string name() const { return registry_ + "/bench:1"; }

  std::string unavailable_reason;

 private:
  Result<> start();

  std::string directory_;
  std::string registry_;  // HOST:PORT
  pid_t process_ = 0;
};

// `fixture` and `launcher_pid` are of a server that this command has started; else null and empty.
std::vector<Subject> make_image_subjects(const client::ServerLocation& location,
                                         const ImageFixture* fixture,
                                         const std::function<pid_t()>& launcher_pid,
                                         const Effort& effort);

}  // namespace glovebox::bench
