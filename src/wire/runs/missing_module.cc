#include "wire/runs/missing_module.h"

#include <algorithm>

namespace glovebox::wire {
namespace {

constexpr std::size_t kLongestLine = 256;
constexpr std::size_t kLongestName = 64;
constexpr std::string_view kBegin = "ModuleNotFoundError: No module named '";
constexpr std::string_view kNameCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

// Modules whose package has another name on PyPI. Suggesting the module's own name would name a
// package that does not exist, or one that a stranger published under that name.
struct PackageName {
  std::string_view module;
  std::string_view package;
};
constexpr PackageName kPackageNames[] = {
    {"Crypto", "pycryptodome"},
    {"Levenshtein", "levenshtein"},
    {"MySQLdb", "mysqlclient"},
    {"OpenSSL", "pyOpenSSL"},
    {"PIL", "pillow"},
    {"attr", "attrs"},
    {"bs4", "beautifulsoup4"},
    {"cv2", "opencv-python-headless"},
    {"dateutil", "python-dateutil"},
    {"docx", "python-docx"},
    {"dotenv", "python-dotenv"},
    {"fitz", "pymupdf"},
    {"git", "GitPython"},
    {"jose", "python-jose"},
    {"jwt", "PyJWT"},
    {"magic", "python-magic"},
    {"nacl", "pynacl"},
    {"pkg_resources", "setuptools"},
    {"pptx", "python-pptx"},
    {"psycopg2", "psycopg2-binary"},
    {"serial", "pyserial"},
    {"skimage", "scikit-image"},
    {"sklearn", "scikit-learn"},
    {"slugify", "python-slugify"},
    {"yaml", "PyYAML"},
    {"zmq", "pyzmq"},
};

std::string_view package_of(std::string_view module) {
  for (const PackageName& one : kPackageNames) {
    if (one.module == module) return one.package;
  }
  return module;
}

}  // namespace

void MissingModule::add(std::string_view bytes) {
  end_ += bytes.substr(bytes.size() - std::min(bytes.size(), kLongestLine));
  if (end_.size() > kLongestLine) end_.erase(0, end_.size() - kLongestLine);
}

std::string MissingModule::name() const {
  std::string_view line = end_;
  line = line.substr(0, line.find_last_not_of("\r\n") + 1);  // npos + 1 is 0
  // The line is whole only if its beginning was kept.
  const std::size_t before = line.rfind('\n');
  if (before == std::string_view::npos && end_.size() >= kLongestLine) return {};
  line.remove_prefix(before + 1);
  if (!line.starts_with(kBegin) || !line.ends_with('\'')) return {};
  line.remove_prefix(kBegin.size());
  const std::size_t size = std::min(line.find_first_not_of(kNameCharacters), line.size());
  const bool is_name = size > 0 && size <= kLongestName && size < line.size() &&
                       (line[size] == '.' || size + 1 == line.size());
  return is_name ? std::string(line.substr(0, size)) : std::string();
}

std::string missing_module_hint(const std::string& module, HostPackages host) {
  return "the sandbox has no module '" + module + "': --with " + std::string(package_of(module)) +
         " installs it" +
         (host == HostPackages::kHidden ? ", --host-packages shows that of this host, if it has one"
                                        : "") +
         ", --file copies in a file of yours";
}

}  // namespace glovebox::wire
