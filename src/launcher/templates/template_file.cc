#include "launcher/templates/template_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string_view>

// As in policy.cc: a mistake in the file is an error, not a crash.
#define TOML_ASSERT(expression) static_assert(true)
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include "base/unique_fd.h"
#include "base/units.h"
#include "model/template_rules.h"

namespace glovebox::launcher {
namespace {

constexpr std::size_t kMaxFile = 64u << 10;
constexpr std::size_t kMaxText = 4096;
constexpr std::size_t kMaxList = 64;
constexpr std::uint32_t kMaxPool = 1024;

struct BuiltIn {
  const char* name;
  const char* text;
};
constexpr BuiltIn kBuiltIn[] = {
#include "built_in_templates.inc"
};

// A key with its position, for messages.
struct Key {
  std::string path;  // "pool.min"
  std::string name;  // "min"
  const toml::node& node;
};

tl::unexpected<Error> bad_key(const Key& key, const std::string& what) {
  return fail(Errc::kInvalidArgument,
              std::to_string(key.node.source().begin.line) + ": " + key.path + " " + what);
}

tl::unexpected<Error> unknown(const Key& key) {
  return fail(Errc::kInvalidArgument,
              std::to_string(key.node.source().begin.line) + ": unknown key " + key.path);
}

// Absolute and normalized.
bool is_plain_path(std::string_view path) {
  if (path.size() < 2 || path[0] != '/') return false;
  for (std::size_t at = 1; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    if (part.empty() || part == "." || part == "..") return false;
    at = end + 1;
  }
  return true;
}

Result<std::string> text_of(const Key& key, const toml::node& node) {
  const auto value = node.value_exact<std::string>();
  if (!node.is_string() || !value) return bad_key(key, "must be a string");
  // Escape sequences can spell characters that the file itself may not contain.
  const bool plain = std::all_of(value->begin(), value->end(),
                                 [](unsigned char c) { return c >= 0x20 && c < 0x7f; });
  if (!plain || value->size() > kMaxText)
    return bad_key(key, "must be one line of printable ASCII text");
  return *value;
}

Result<std::vector<std::string>> texts_of(const Key& key) {
  const toml::array* list = key.node.as_array();
  if (list == nullptr || list->size() > kMaxList) {
    return bad_key(key, "must be a list of at most " + std::to_string(kMaxList) + " strings");
  }
  std::vector<std::string> texts;
  for (const toml::node& entry : *list) {
    TRY(std::string text, text_of(key, entry));
    if (std::find(texts.begin(), texts.end(), text) != texts.end()) {
      return bad_key(key, "names " + text + " twice");
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

Result<std::uint32_t> count_of(const Key& key, std::uint32_t least, std::uint32_t most) {
  const auto value = key.node.value_exact<std::int64_t>();
  if (!key.node.is_integer() || !value || *value < least || *value > most) {
    return bad_key(key, "must be a whole number from " + std::to_string(least) + " to " +
                            std::to_string(most));
  }
  return static_cast<std::uint32_t>(*value);
}

template <class Parse>
auto unit_of(const Key& key, Parse parse) -> decltype(parse(std::string_view())) {
  TRY(const std::string text, text_of(key, key.node));
  auto value = parse(text);
  if (!value) return bad_key({key.path + ":", key.name, key.node}, value.error().message());
  return value;
}

Result<> read_top(Template& into, const Key& key) {
  if (key.name == "description") {
    TRY(into.description, text_of(key, key.node));
  } else if (key.name == "language") {
    TRY(into.language, text_of(key, key.node));
    if (!is_template_name(into.language))
      return bad_key(key, "must consist of lower-case letters, digits and dashes");
  } else if (key.name == "runtime") {
    TRY(const std::string text, text_of(key, key.node));
    if (text == "none") {
      into.runtime = RuntimeKind::kNone;
    } else if (text == "python") {
      into.runtime = RuntimeKind::kPython;
    } else if (text == "node") {
      into.runtime = RuntimeKind::kNode;
    } else {
      return bad_key(key, "must be \"none\", \"python\" or \"node\"");
    }
  } else if (key.name == "layers") {
    TRY(into.layers, texts_of(key));
    for (const std::string& layer : into.layers) {
      if (!is_plain_path(layer)) return bad_key(key, "must contain absolute paths without . or ..");
    }
  } else if (key.name == "preload") {
    TRY(into.preload, texts_of(key));
    for (const std::string& module : into.preload) {
      if (!is_module_name(module))
        return bad_key(key, "must contain module names such as numpy or os.path");
    }
  } else if (key.name == "host_packages") {
    const auto value = key.node.value_exact<bool>();
    if (!key.node.is_boolean() || !value) return bad_key(key, "must be true or false");
    into.host_packages = *value;
  } else {
    return unknown(key);
  }
  return {};
}

Result<> read_env(Template& into, const Key& key) {
  if (!is_identifier(key.name)) return bad_key(key, "is not a valid name of a variable");
  TRY(const std::string value, text_of(key, key.node));
  into.env.push_back(key.name + "=" + value);
  return {};
}

Result<std::uint32_t> thousandths_of(const Key& key) {
  const auto value = key.node.value<double>();
  // NaN fails both comparisons.
  if (!key.node.is_number() || !value || !(*value >= 0.01 && *value <= 4096)) {
    return bad_key(key, "must be a number of CPUs from 0.01 to 4096");
  }
  return static_cast<std::uint32_t>(std::lround(*value * 1000));
}

Result<> read_profile(Template& into, const Key& key) {
  Limits& limits = into.limits;
  if (key.name == "timeout" || key.name == "cpu_time") {
    TRY(const std::chrono::milliseconds time, unit_of(key, parse_duration));
    (key.name == "timeout" ? limits.wall : limits.cpu_time) = time;
  } else if (key.name == "memory" || key.name == "disk") {
    TRY(const std::uint64_t bytes, unit_of(key, parse_size));
    if (bytes < (1u << 20)) return bad_key(key, "must be at least one megabyte");
    (key.name == "memory" ? limits.memory_bytes : limits.disk_bytes) = bytes;
  } else if (key.name == "pids") {
    TRY(limits.pids, count_of(key, 2, 1u << 22));
  } else if (key.name == "cpus") {
    TRY(limits.cpu_thousandths, thousandths_of(key));
  } else {
    return unknown(key);
  }
  return {};
}

Result<> read_pool(Template& into, const Key& key) {
  if (key.name == "min") {
    TRY(into.pool_min, count_of(key, 0, kMaxPool));
  } else if (key.name == "max") {
    TRY(into.pool_max, count_of(key, 0, kMaxPool));
  } else {
    return unknown(key);
  }
  return {};
}

Result<> read_session_pool(Template& into, const Key& key) {
  if (key.name == "min") {
    TRY(into.session_pool.min, count_of(key, 0, kMaxPool));
  } else if (key.name == "max") {
    TRY(into.session_pool.max, count_of(key, 0, kMaxPool));
  } else {
    return unknown(key);
  }
  return {};
}

struct Section {
  std::string_view name;
  Result<> (*read)(Template&, const Key&);
};
constexpr Section kSections[] = {{"env", read_env},
                                 {"profile", read_profile},
                                 {"pool", read_pool},
                                 {"session_pool", read_session_pool}};

Result<> read_section(Template& into, const Section& section, const Key& whole) {
  const toml::table* table = whole.node.as_table();
  if (table == nullptr) return bad_key(whole, "must be a section: [" + whole.name + "]");
  if (table->size() > kMaxList) return bad_key(whole, "has too many keys");
  for (const auto& [name, node] : *table) {
    const Key key{whole.name + "." + std::string(name.str()), std::string(name.str()), node};
    TRY_OK(section.read(into, key));
  }
  return {};
}

// toml++ iterates in alphabetical order, so what depends on two keys is checked at the end.
Result<> check_whole(Template& made, const toml::table& table) {
  if (made.language.empty()) {
    made.language = made.runtime == RuntimeKind::kPython ? "python"
                    : made.runtime == RuntimeKind::kNode ? "javascript"
                                                         : "shell";
  }
  if (!made.preload.empty() && made.runtime != RuntimeKind::kPython) {
    return bad_key({"preload", "preload", *table.get("preload")}, "needs runtime = \"python\"");
  }
  if (made.host_packages && made.runtime != RuntimeKind::kPython) {
    return bad_key({"host_packages", "host_packages", *table.get("host_packages")},
                   "needs runtime = \"python\"");
  }
  const toml::table* pool = table["pool"].as_table();
  if (pool == nullptr || !pool->contains("max")) {
    made.pool_max = std::max(made.pool_min, kDefaultPoolMax);
  }
  if (made.pool_min > made.pool_max) {
    return bad_key({"pool", "pool", *table.get("pool")}, "has a min above its max");
  }
  PoolBounds& sessions = made.session_pool;
  const toml::table* waiting = table["session_pool"].as_table();
  if (waiting == nullptr || !waiting->contains("max")) sessions.max = sessions.min;
  if (sessions.min > sessions.max) {
    return bad_key({"session_pool", "session_pool", *table.get("session_pool")},
                   "has a min above its max");
  }
  return {};
}

Result<Template> template_of(const toml::table& table, const std::string& name) {
  Template made;
  made.name = name;
  for (const auto& [key_name, node] : table) {
    const Key key{std::string(key_name.str()), std::string(key_name.str()), node};
    const auto* section = std::find_if(std::begin(kSections), std::end(kSections),
                                       [&](const Section& one) { return one.name == key.name; });
    if (section != std::end(kSections)) {
      TRY_OK(read_section(made, *section, key));
    } else {
      TRY_OK(read_top(made, key));
    }
  }
  TRY_OK(check_whole(made, table));
  return made;
}

}  // namespace

Result<Template> parse_template(const std::string& text, const std::string& name,
                                const std::string& file) {
  if (!is_template_name(name)) {
    return fail(Errc::kInvalidArgument,
                file +
                    ": a template's name is a lower-case letter followed by at most 31 lower-case "
                    "letters, digits and dashes");
  }
  // As in policy.cc: toml++ 3.3 has bugs with non-ASCII input.
  std::size_t line = 1;
  for (const unsigned char c : text) {
    if ((c < 0x20 || c >= 0x7f) && c != '\n' && c != '\t' && c != '\r') {
      return fail(Errc::kInvalidArgument, file + ":" + std::to_string(line) +
                                              ": contains characters that are not printable ASCII");
    }
    line += c == '\n' ? 1 : 0;
  }
  const toml::parse_result parsed = toml::parse(text, file);
  if (!parsed) {
    return fail(Errc::kInvalidArgument, file + ":" +
                                            std::to_string(parsed.error().source().begin.line) +
                                            ": " + std::string(parsed.error().description()));
  }
  auto made = template_of(parsed.table(), name);
  if (!made) {
    return fail(Error(made.error().code(), file + ":" + made.error().message()));
  }
  return made;
}

namespace {

// `only`: null for all of them.
std::vector<Template> built_in_ones(const std::string* only) {
  std::vector<Template> all;
  for (const BuiltIn& one : kBuiltIn) {
    if (only != nullptr && one.name != *only) continue;
    auto made = parse_template(one.text, one.name, "built in");
    if (!made) continue;  // a unit test checks that they are all valid
    made->built_in = true;
    all.push_back(std::move(*made));
  }
  std::sort(all.begin(), all.end(),
            [](const Template& a, const Template& b) { return a.name < b.name; });
  return all;
}

Result<> check_owner(int fd, const std::string& path, mode_t kind) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return fail(Error::from_errno("stat " + path));
  if ((info.st_mode & S_IFMT) != kind || info.st_uid != 0 || (info.st_mode & 022) != 0) {
    return fail(Errc::kPolicy, path + ": must be a " + (kind == S_IFDIR ? "directory" : "file") +
                                   " that is owned by root and writable by root only");
  }
  return {};
}

Result<Template> read_file(int directory, const std::string& entry, const std::string& name,
                           const std::string& path) {
  // O_NONBLOCK: opening a FIFO of that name must not block.
  const UniqueFd fd(::openat(directory, entry.c_str(),
                             O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (!fd) return fail(Error::from_errno("open " + path));
  TRY_OK(check_owner(fd.get(), path, S_IFREG));
  std::string text(kMaxFile + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(fd.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(Error::from_errno("read " + path));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > kMaxFile) return fail(Errc::kInvalidArgument, path + ": is larger than 64 KB");
  text.resize(size);
  return parse_template(text, name, path);
}

Result<std::set<std::string>> toml_files(int directory, const std::string& path) {
  UniqueFd copy(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!copy) return fail(Error::from_errno("open " + path));
  const std::unique_ptr<DIR, int (*)(DIR*)> list(::fdopendir(copy.get()), ::closedir);
  if (!list) return fail(Error::from_errno("list " + path));
  (void)copy.release();  // owned by the list now
  std::set<std::string> found;
  while (const dirent* entry = ::readdir(list.get())) {
    const std::string_view name(entry->d_name);
    // Hidden files belong to editors and package managers.
    if (name[0] != '.' && name.size() > 5 && name.ends_with(".toml")) found.emplace(name);
  }
  return found;
}

std::vector<TemplateFile> load(const std::string& directory, const std::string* only) {
  std::map<std::string, TemplateFile> all;
  for (Template& one : built_in_ones(only)) {
    std::string name = one.name;
    all.insert_or_assign(name, TemplateFile{name, "built in", std::move(one)});
  }
  const auto overlay = [&]() -> Result<> {
    const UniqueFd dir(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (!dir) {
      if (errno == ENOENT) return {};
      return fail(Error::from_errno("open " + directory));
    }
    TRY_OK(check_owner(dir.get(), directory, S_IFDIR));
    TRY(const std::set<std::string> files, toml_files(dir.get(), directory));
    for (const std::string& entry : files) {
      const std::string name = entry.substr(0, entry.size() - 5);
      if (only != nullptr && name != *only) continue;
      const std::string path = directory + "/" + entry;
      all.insert_or_assign(name, TemplateFile{name, path, read_file(dir.get(), entry, name, path)});
    }
    return {};
  };
  std::vector<TemplateFile> sorted;
  auto overlaid = overlay();
  for (auto& [name, one] : all) sorted.push_back(std::move(one));
  if (!overlaid) {
    sorted.push_back({"", directory, fail(std::move(overlaid.error()))});
  }
  return sorted;
}

}  // namespace

std::vector<Template> built_in_templates() { return built_in_ones(nullptr); }

std::vector<TemplateFile> load_templates(const std::string& directory) {
  return load(directory, nullptr);
}

std::vector<TemplateFile> load_template(const std::string& directory, const std::string& name) {
  return load(directory, &name);
}

}  // namespace glovebox::launcher
