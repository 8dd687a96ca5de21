#include "images/image_archive.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/hex.h"
#include "base/utf8.h"
#include "images/image_name.h"
#include "packages/builds/stream_hash.h"
#include "wire/tar/tar_reader.h"

namespace glovebox::images {
namespace {

constexpr std::size_t kMaxFiles = 8192;
constexpr std::size_t kMaxFileName = 512;
constexpr std::size_t kAtOnce = 256 * 1024;
constexpr unsigned kMaxIndexDepth = 3;

tl::unexpected<Error> malformed_archive(std::string what) {
  return fail(Errc::kInvalidArgument, "malformed image archive: " + std::move(what));
}

struct File {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::string sha256{};
};

// "./a//b/../c" as "a/c".
std::string plain_path(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), part.size() + 1));
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (!parts.empty()) parts.pop_back();
    } else {
      parts.push_back(part);
    }
  }
  std::string plain;
  for (const std::string_view part : parts) plain += (plain.empty() ? "" : "/") + std::string(part);
  return plain;
}

// The files of the archive, each hashed. Names are only looked up here, never opened.
class Contents {
 public:
  static Result<Contents> read(int file) {
    Contents contents(file);
    std::uint64_t at = 0;
    std::string ahead(kAtOnce, '\0');
    std::size_t used = 0;
    std::size_t have = 0;
    wire::TarReader reader([&](char* bytes, std::size_t size) -> Result<std::size_t> {
      if (used == have) {
        const ssize_t got = ::pread(file, ahead.data(), ahead.size(), static_cast<off_t>(at));
        if (got < 0) return fail(Error::from_errno("read the archive"));
        at += static_cast<std::uint64_t>(got);
        used = 0;
        have = static_cast<std::size_t>(got);
      }
      const std::size_t some = std::min(size, have - used);
      std::copy_n(ahead.data() + used, some, bytes);
      used += some;
      return some;
    });
    while (true) {
      auto entry = reader.next();
      if (!entry) return malformed_archive(entry.error().message());
      if (!*entry) break;
      TRY_OK(contents.add(**entry, reader));
    }
    return contents;
  }

  const File* find(std::string_view name) const {
    std::string path = plain_path(name);
    // `docker save` of old writes a layer that two images share once, and links.
    for (int links = 0; links < 4; ++links) {
      if (const auto at = files_.find(path); at != files_.end()) return &at->second;
      const auto link = links_.find(path);
      if (link == links_.end()) return nullptr;
      path = link->second;
    }
    return nullptr;
  }
  const File* blob(const std::string& sha256) const { return find("blobs/sha256/" + sha256); }

  // The bytes of a document, which must be what `sha256` says unless that is empty.
  Result<std::string> document(const File& file, const std::string& sha256) const {
    if (file.size > kMaxManifestBytes) return malformed_archive("a document of it is too large");
    if (!sha256.empty() && file.sha256 != sha256) return wrong_digest(sha256);
    std::string text(file.size, '\0');
    std::size_t have = 0;
    while (have < text.size()) {
      const ssize_t got = ::pread(file_, text.data() + have, text.size() - have,
                                  static_cast<off_t>(file.offset + have));
      if (got <= 0) return fail(Error::from_errno("read the archive"));
      have += static_cast<std::size_t>(got);
    }
    return text;
  }

  static tl::unexpected<Error> wrong_digest(const std::string& sha256) {
    return malformed_archive("what is called sha256:" + sha256 + " has another digest");
  }

 private:
  explicit Contents(int file) : file_(file), buffer_(kAtOnce, '\0') {}

  Result<> add(const wire::TarEntry& entry, wire::TarReader& reader) {
    if (files_.size() + links_.size() >= kMaxFiles)
      return malformed_archive("it has too many files");
    if (entry.name.size() > kMaxFileName || entry.link.size() > kMaxFileName) {
      return malformed_archive("it has a name that is too long");
    }
    std::string path = plain_path(entry.name);
    if (entry.type == wire::TarType::kSymlink || entry.type == wire::TarType::kHardLink) {
      const std::string parent = entry.type == wire::TarType::kHardLink || entry.link[0] == '/'
                                     ? std::string()
                                     : path.substr(0, path.rfind('/') + 1);
      links_[std::move(path)] = plain_path(parent + entry.link);
      return {};
    }
    if (entry.type != wire::TarType::kFile) return {};
    File file{.offset = reader.bytes_read(), .size = entry.size};
    packages::StreamHash hash;
    while (true) {
      auto got = reader.read(buffer_.data(), buffer_.size());
      if (!got) return malformed_archive(got.error().message());
      if (*got == 0) break;
      hash.add(std::string_view(buffer_).substr(0, *got));
    }
    file.sha256 = hash.hex();
    // Tools append a newer one of the same name.
    files_[std::move(path)] = std::move(file);
    return {};
  }

  int file_;
  std::string buffer_;
  std::map<std::string, File, std::less<>> files_;
  std::map<std::string, std::string, std::less<>> links_;
};

std::vector<std::string> spelled(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const std::string& name : names) {
    auto one = parse_image_name(name);
    // What an archive says of its digest is not what a registry says.
    if (one && !has_digest(*one)) out.push_back(std::move(*one));
  }
  return out;
}

Result<> check_platform(const std::string& platform) {
  const std::string own = own_platform();
  if (platform.empty() || platform == own) return {};
  return fail(Errc::kInvalidArgument,
              "the image is for " + to_utf8(platform) + ", and this host runs programs of " + own);
}

// ---- OCI ---------------------------------------------------------------------------------------

bool is_for_this_host(const Descriptor& one) {
  return one.platform.empty() || one.platform == own_platform();
}

// Of an image's own index: the first that fits, as other tools take it.
Result<Descriptor> choose_first(const std::vector<Descriptor>& all) {
  for (const Descriptor& one : all) {
    if (is_for_this_host(one)) return one;
  }
  return fail(Errc::kInvalidArgument, "the archive has no image for " + own_platform());
}

// The one manifest for this platform that has this name, if one is asked for.
Result<Descriptor> choose(const std::vector<Descriptor>& all, const std::string& name) {
  std::vector<const Descriptor*> fitting;
  for (const Descriptor& one : all) {
    if (!is_for_this_host(one)) continue;
    if (!name.empty() && spelled({one.name}) != std::vector<std::string>{name}) continue;
    fitting.push_back(&one);
  }
  // A name is needed only to tell several apart.
  if (fitting.empty() && !name.empty()) return choose(all, "");
  // Several names of one image are as many entries.
  const bool is_one =
      !fitting.empty() && std::all_of(fitting.begin(), fitting.end(), [&](const Descriptor* other) {
        return other->sha256 == fitting.front()->sha256;
      });
  if (is_one) return *fitting.front();
  if (fitting.empty()) {
    return fail(Errc::kInvalidArgument, "the archive has no image for " + own_platform());
  }
  std::string names;
  for (const Descriptor* one : fitting) names += " " + to_utf8(one->name);
  return fail(Errc::kInvalidArgument,
              "the archive has several images; choose one by its name:" + names);
}

Result<ArchivedImage> read_oci(const Contents& contents, const File& index,
                               const std::string& name) {
  TRY(std::string text, contents.document(index, ""));
  ArchivedImage image;
  for (unsigned depth = 0;; ++depth) {
    if (depth >= kMaxIndexDepth) return malformed_archive("its indexes are nested too deeply");
    TRY(const std::vector<Descriptor> all, parse_index(text));
    TRY(const Descriptor chosen, depth == 0 ? choose(all, name) : choose_first(all));
    if (depth == 0) image.manifest = chosen.sha256;
    for (const Descriptor& one : all) {
      const std::vector<std::string> its = spelled({one.name});
      const bool is_new =
          depth == 0 && one.sha256 == chosen.sha256 && !its.empty() &&
          std::find(image.names.begin(), image.names.end(), its[0]) == image.names.end();
      if (is_new) image.names.push_back(its[0]);
    }
    const File* file = contents.blob(chosen.sha256);
    if (file == nullptr) return malformed_archive("it lacks sha256:" + chosen.sha256);
    TRY(text, contents.document(*file, chosen.sha256));
    if (!is_index_type(chosen.media_type)) break;
  }
  TRY(const OciManifest manifest, parse_manifest(text));
  const File* config = contents.blob(manifest.config.sha256);
  if (config == nullptr) return malformed_archive("it lacks sha256:" + manifest.config.sha256);
  TRY(const std::string config_text, contents.document(*config, manifest.config.sha256));
  TRY(ImageDescription description, parse_image_config(config_text));
  TRY_OK(check_platform(description.platform));
  if (description.diff_ids.size() != manifest.layers.size()) {
    return malformed_archive("its manifest and its configuration have different numbers of layers");
  }
  image.digest = manifest.config.sha256;
  image.config = std::move(description.config);
  for (std::size_t i = 0; i < manifest.layers.size(); ++i) {
    const Descriptor& layer = manifest.layers[i];
    const File* file = contents.blob(layer.sha256);
    if (file == nullptr) return malformed_archive("it lacks sha256:" + layer.sha256);
    if (file->sha256 != layer.sha256 || file->size != layer.size) {
      return Contents::wrong_digest(layer.sha256);
    }
    image.layers.push_back({file->offset, file->size, description.diff_ids[i]});
  }
  return image;
}

// ---- Docker ------------------------------------------------------------------------------------

// What the name of a configuration says about its digest: "HEX.json", "blobs/sha256/HEX".
std::string digest_in_name(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);
  const std::string_view stem = path.substr(0, path.find('.'));
  return stem.size() == 64 && is_lower_hex(stem) ? std::string(stem) : std::string();
}

Result<const DockerManifest*> choose(const std::vector<DockerManifest>& all,
                                     const std::string& name) {
  if (all.size() == 1) return &all.front();
  std::string names;
  for (const DockerManifest& one : all) {
    const std::vector<std::string> its = spelled(one.names);
    if (!name.empty() && std::find(its.begin(), its.end(), name) != its.end()) return &one;
    for (const std::string& each : its) names += " " + each;
  }
  if (all.empty()) return malformed_archive("it has no image");
  return fail(Errc::kInvalidArgument,
              "the archive has several images; choose one by its name:" + names);
}

Result<ArchivedImage> read_docker(const Contents& contents, const File& list,
                                  const std::string& name) {
  TRY(const std::string text, contents.document(list, ""));
  TRY(const std::vector<DockerManifest> all, parse_docker_manifests(text));
  TRY(const DockerManifest* const manifest, choose(all, name));
  const File* config = contents.find(manifest->config);
  if (config == nullptr) return malformed_archive("it lacks " + to_utf8(manifest->config));
  TRY(const std::string config_text, contents.document(*config, digest_in_name(manifest->config)));
  TRY(ImageDescription description, parse_image_config(config_text));
  TRY_OK(check_platform(description.platform));
  if (description.diff_ids.size() != manifest->layers.size()) {
    return malformed_archive("its manifest and its configuration have different numbers of layers");
  }
  ArchivedImage image;
  image.names = spelled(manifest->names);
  image.digest = config->sha256;
  image.config = std::move(description.config);
  for (std::size_t i = 0; i < manifest->layers.size(); ++i) {
    const File* file = contents.find(manifest->layers[i]);
    if (file == nullptr) return malformed_archive("it lacks " + to_utf8(manifest->layers[i]));
    image.layers.push_back({file->offset, file->size, description.diff_ids[i]});
  }
  return image;
}

}  // namespace

Result<ArchivedImage> read_image_archive(int file, const std::string& name) {
  TRY(const Contents contents, Contents::read(file));
  // Both are in archives of newer tools; OCI's has a digest for everything.
  if (const File* index = contents.find("index.json")) return read_oci(contents, *index, name);
  if (const File* list = contents.find("manifest.json")) {
    return read_docker(contents, *list, name);
  }
  return fail(Errc::kInvalidArgument,
              "the file is no archive of an image: it has neither index.json nor manifest.json "
              "(import a plain tree with `glovebox image import`)");
}

Result<ArchivedImage> read_root_archive(int file) {
  struct stat info {};
  if (::fstat(file, &info) != 0) return fail(Error::from_errno("stat the archive"));
  packages::StreamHash hash;
  std::string buffer(kAtOnce, '\0');
  for (off_t at = 0; at < info.st_size;) {
    const ssize_t got = ::pread(file, buffer.data(), buffer.size(), at);
    if (got <= 0) return fail(Error::from_errno("read the archive"));
    hash.add(std::string_view(buffer).substr(0, static_cast<std::size_t>(got)));
    at += got;
  }
  ArchivedImage image;
  image.digest = hash.hex();
  image.layers.push_back({0, static_cast<std::uint64_t>(info.st_size), ""});
  return image;
}

}  // namespace glovebox::images
