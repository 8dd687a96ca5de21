#include "images/testing/archive_builder.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "images/image_manifest.h"
#include "store/sha256.h"

namespace glovebox::images {

ArchiveBuilder& ArchiveBuilder::header(const std::string& name, char type, std::size_t size,
                                       const std::string& target) {
  char block[512] = {};
  std::snprintf(block, 100, "%s", name.c_str());
  std::snprintf(block + 100, 8, "%07o", 0644u);
  std::snprintf(block + 108, 8, "%07o", 0u);
  std::snprintf(block + 116, 8, "%07o", 0u);
  std::snprintf(block + 124, 12, "%011zo", size);
  std::snprintf(block + 136, 12, "%011o", 0u);
  std::memset(block + 148, ' ', 8);
  block[156] = type;
  std::snprintf(block + 157, 100, "%s", target.c_str());
  std::memcpy(block + 257,
              "ustar\0"
              "00",
              8);
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  std::snprintf(block + 148, 7, "%06o", sum);
  bytes_.append(block, sizeof block);
  return *this;
}

ArchiveBuilder& ArchiveBuilder::file(const std::string& name, const std::string& content) {
  header(name, '0', content.size(), "");
  bytes_ += content;
  bytes_.append((512 - content.size() % 512) % 512, '\0');
  return *this;
}

ArchiveBuilder& ArchiveBuilder::symlink(const std::string& name, const std::string& target) {
  return header(name, '2', 0, target);
}

std::string ArchiveBuilder::blob(const std::string& content) {
  std::string digest = sha256_of(content);
  file("blobs/sha256/" + digest, content);
  return digest;
}

std::string ArchiveBuilder::bytes() const { return bytes_ + std::string(1024, '\0'); }

UniqueFd ArchiveBuilder::as_file() const {
  UniqueFd file(::memfd_create("archive", MFD_CLOEXEC));
  const std::string all = bytes();
  if (!file || ::write(file.get(), all.data(), all.size()) != static_cast<ssize_t>(all.size())) {
    throw std::runtime_error("cannot make an archive");
  }
  return file;
}

std::string sha256_of(const std::string& bytes) { return store::sha256_hex(bytes); }

std::string descriptor_json(const std::string& sha256, std::size_t size, const std::string& more) {
  return R"({"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:)" + sha256 +
         R"(","size":)" + std::to_string(size) + more + "}";
}

std::string config_json(const std::vector<std::string>& diff_ids, const std::string& config,
                        const std::string& platform) {
  const std::string where = platform.empty() ? own_platform() : platform;
  const std::size_t slash = where.find('/');
  std::string ids;
  for (const std::string& id : diff_ids)
    ids += (ids.empty() ? "\"sha256:" : ",\"sha256:") + id + "\"";
  return R"({"os":")" + where.substr(0, slash) + R"(","architecture":")" + where.substr(slash + 1) +
         R"(","config":)" + config + R"(,"rootfs":{"type":"layers","diff_ids":[)" + ids +
         R"(]},"history":[{"created_by":"a test"}]})";
}

ArchiveBuilder OciArchive::build() const {
  ArchiveBuilder archive;
  archive.file("oci-layout", R"({"imageLayoutVersion":"1.0.0"})");
  std::string list;
  std::vector<std::string> ids = diff_ids;
  for (const std::string& layer : layers) {
    const std::string digest = archive.blob(layer);
    if (diff_ids.empty()) ids.push_back(digest);
    list += (list.empty() ? "" : ",") + descriptor_json(digest, layer.size());
  }
  const std::string configuration = config_json(ids, config, platform);
  const std::string config_digest = archive.blob(configuration);
  const std::string manifest = R"({"schemaVersion":2,"config":)" +
                               descriptor_json(config_digest, configuration.size()) +
                               R"(,"layers":[)" + list + "]}";
  const std::string manifest_digest = archive.blob(manifest);
  archive.file("index.json",
               R"({"schemaVersion":2,"manifests":[)" +
                   descriptor_json(
                       manifest_digest, manifest.size(),
                       R"(,"annotations":{"org.opencontainers.image.ref.name":")" + name + "\"}") +
                   "]}");
  return archive;
}

}  // namespace glovebox::images
