// Fetches an image from its registry in a sandbox of its own, in which only our fetch program runs
// (src/guest/images) and whose network is the hosts of that registry. What it reads is an archive,
// for the loader, which compares every digest. The sandbox ends with this object at the latest.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/task.h"
#include "config/image_registries.h"
#include "images/image_name.h"
#include "images/image_source.h"
#include "images/registry_credentials.h"
#include "packages/builds/build_deadline.h"
#include "packages/builds/build_output.h"
#include "packages/builds/build_sandbox.h"

namespace glovebox::images {

struct FetchWanted {
  std::string project;
  ImageReference reference;
  config::ImageRegistry registry;
  RegistryCredentials credentials{};
  std::uint64_t most_bytes = 0;  // of all layers together, as the registry has them
  std::chrono::milliseconds timeout{};
};

// What the registry says, before any layer was fetched.
struct FoundImage {
  std::string manifest;  // SHA-256 of what the name or digest leads to: a manifest or an index
  std::string config;    // SHA-256
  std::uint64_t bytes = 0;
  bool operator==(const FoundImage&) const = default;
};
// The line that the fetch program begins with. kInvalidArgument.
Result<FoundImage> parse_found_image(std::string_view line);
// What the fetch program leaves when it fails; never a success. `secrets` are hidden in it.
Error parse_fetch_failure(std::string_view text, const std::vector<std::string>& secrets);
// What the fetch program is asked; with the credentials.
std::string fetch_request_json(const FetchWanted& wanted);

// A registry that cannot be reached or does not answer: kUnavailable with this errno.
inline constexpr int kRegistryUnavailable = EHOSTUNREACH;

class ImageFetch final : public ImageSource {
 public:
  // Returns when the registry has said what the image is. kNotFound and kPermissionDenied as the
  // registry says; kPolicy: it leads to a host that it may not; kInvalidArgument: its answers are
  // malformed or not what their digests say; kUnsupported; kResourceExhausted with EFBIG;
  // kUnavailable. `progress` outlives it.
  static Task<std::unique_ptr<ImageFetch>> begin(packages::BuildSandbox::Host host,
                                                 FetchWanted wanted, ImageProgress& progress,
                                                 std::shared_ptr<node::CancelFlag> cancel);
  ImageFetch(packages::BuildSandbox::Host host, FetchWanted wanted, ImageProgress& progress,
             std::shared_ptr<node::CancelFlag> cancel);

  const FoundImage& found() const { return found_; }
  // Errors as begin()'s.
  Task<std::size_t> read_some(char* into, std::size_t size) override;
  Task<> end();

 private:
  Task<> start();
  Task<> read_more();
  Task<> failure();
  Error reason(Error error) const;

  const packages::BuildSandbox::Host host_;
  FetchWanted wanted_;
  ImageProgress& progress_;
  const std::vector<std::string> secrets_;
  packages::BuildDeadline watch_;
  std::string line_;  // of progress, not shown yet
  packages::BuildOutput lines_;
  std::shared_ptr<packages::BuildSandbox> sandbox_;
  std::optional<packages::BuildDeadline::Cut> cut_;
  std::unique_ptr<node::Attachment> attachment_;
  std::string bytes_;  // of the archive, from `used_` on
  std::size_t used_ = 0;
  std::optional<wire::ProcessEnd> ended_;
  FoundImage found_;
};

}  // namespace glovebox::images
