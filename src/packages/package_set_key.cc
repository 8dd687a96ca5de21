#include "packages/package_set_key.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/utf8.h"
#include "store/sha256.h"

namespace glovebox::packages {
namespace {

// Version of the layer layout and of these keys: layers of other versions are never reused.
constexpr std::string_view kKeyForm = "glovebox set 1";
constexpr std::size_t kMaxAskedText = 400;

// Length-prefixed fields: no two lists of fields have the same text.
class Text {
 public:
  Text& add(std::string_view field) {
    text_ += std::to_string(field.size());
    text_ += ':';
    text_ += field;
    return *this;
  }
  Text& add(const std::vector<std::string>& fields) {
    add(std::to_string(fields.size()));
    for (const std::string& field : fields) add(field);
    return *this;
  }
  std::string digest() const { return store::sha256_hex(text_); }

 private:
  std::string text_;
};

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
}

std::string_view without_space(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// PEP 503: case and the kind of dash do not matter.
std::string canonical_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '-' || c == '_' || c == '.') {
      if (out.empty() || out.back() != '-') out += '-';
    } else {
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return out;
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(at);
    parts.emplace_back(without_space(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string sorted_list(std::vector<std::string> parts) {
  std::sort(parts.begin(), parts.end());
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ",") + part;
  return out;
}

bool is_version(char c) { return is_name(c) || c == '*' || c == '+' || c == '!'; }

// "op version" without space; nullopt: not a version clause.
std::optional<std::string> canonical_clause(std::string_view text) {
  for (const std::string_view op : {"===", "==", "~=", "!=", "<=", ">=", "<", ">"}) {
    if (text.substr(0, op.size()) != op) continue;
    const std::string_view version = without_space(text.substr(op.size()));
    if (version.empty() || !std::all_of(version.begin(), version.end(), is_version)) break;
    return std::string(op) + std::string(version);
  }
  return std::nullopt;
}

// NAME [EXTRAS] VERSIONS ; MARKER, as in PEP 508. Only fully valid text is normalised: an invalid
// requirement must not share the key of a valid one.
std::string canonical_requirement(std::string_view text) {
  text = without_space(text);
  const std::string as_it_is(text);
  std::size_t end = 0;
  while (end < text.size() && is_name(text[end])) ++end;
  if (end == 0) return as_it_is;
  std::string out = canonical_name(text.substr(0, end));
  text = without_space(text.substr(end));
  if (!text.empty() && text.front() == '[') {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return as_it_is;
    std::vector<std::string> extras = split(text.substr(1, close - 1), ',');
    for (std::string& extra : extras) {
      if (extra.empty() || !std::all_of(extra.begin(), extra.end(), is_name)) return as_it_is;
      extra = canonical_name(extra);
    }
    out += '[' + sorted_list(std::move(extras)) + ']';
    text = without_space(text.substr(close + 1));
  }
  const std::size_t semicolon = text.find(';');
  if (const std::string_view clauses = without_space(text.substr(0, semicolon)); !clauses.empty()) {
    std::vector<std::string> versions;
    for (const std::string& clause : split(clauses, ',')) {
      std::optional<std::string> version = canonical_clause(clause);
      if (!version) return as_it_is;
      versions.push_back(std::move(*version));
    }
    out += sorted_list(std::move(versions));
  }
  if (semicolon != std::string_view::npos) {
    out += ';';
    out += without_space(text.substr(semicolon + 1));
  }
  return out;
}

std::string with_plain_lines(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    out += text[i];
  }
  while (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

// Absent fields keep the keys of older layers: those are shared, and show the host's packages.
void add_variant(Text& text, const PackageSetTarget& target) {
  const bool is_pip = target.manager == PackageManager::kPip;
  if (is_pip && !target.host_packages) text.add("without host packages");
  if (is_pip && has_own_site(target)) text.add("own site");
  if (!target.project.empty()) text.add("project").add(target.project);
}

}  // namespace

bool has_own_site(const PackageSetTarget& target) {
  return !target.host_packages && target.template_layers.empty();
}

std::string canonical_package(PackageManager manager, std::string_view text) {
  // npm's names are case-sensitive, and a tag may follow them.
  return manager == PackageManager::kPip ? canonical_requirement(text)
                                         : std::string(without_space(text));
}

std::string spec_key(const PackageSetTarget& target, const Dependencies& wanted) {
  std::vector<std::string> packages;
  for (const std::string& package : wanted.packages) {
    packages.push_back(canonical_package(target.manager, package));
  }
  std::sort(packages.begin(), packages.end());
  packages.erase(std::unique(packages.begin(), packages.end()), packages.end());
  Text text;
  text.add(kKeyForm).add("spec").add(manager_name(target.manager)).add(target.index);
  text.add(target.architecture).add(target.interpreter_mark).add(target.template_name);
  text.add(target.template_layers).add(packages);
  text.add(with_plain_lines(wanted.requirements)).add(with_plain_lines(wanted.lock));
  add_variant(text, target);
  return text.digest();
}

std::string layer_id(const PackageSetTarget& target, const std::string& interpreter,
                     const std::vector<Artefact>& artefacts, unsigned attempt) {
  std::vector<std::string> all;
  for (const Artefact& one : artefacts) {
    Text text;
    text.add(one.name).add(one.version).add(one.file).add(one.sha256);
    all.push_back(text.digest());
  }
  std::sort(all.begin(), all.end());
  Text text;
  text.add(kKeyForm).add("layer").add(manager_name(target.manager)).add(target.index);
  text.add(target.architecture).add(interpreter).add(target.template_layers).add(all);
  text.add(target.lock.empty() ? "" : store::sha256_hex(target.lock)).add(std::to_string(attempt));
  add_variant(text, target);
  return text.digest().substr(0, kLayerIdSize);
}

std::string derived_template_id(const std::string& project, const TemplateDefinition& definition,
                                unsigned attempt) {
  static constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
  constexpr std::size_t kLabel = 20;
  const Limits& limits = definition.limits;
  Text text;
  text.add(kKeyForm).add("template").add(project).add(definition.from);
  text.add(definition.preload).add(definition.env).add(definition.layers);
  if (!definition.image.empty()) text.add("image").add(definition.image);
  const auto limit = [&](LimitKind kind, std::uint64_t value) {
    text.add(limits.was_asked_for(kind) ? std::to_string(value) : "");
  };
  limit(LimitKind::kWall, static_cast<std::uint64_t>(limits.wall.count()));
  limit(LimitKind::kCpuTime, static_cast<std::uint64_t>(limits.cpu_time.count()));
  limit(LimitKind::kMemory, limits.memory_bytes);
  limit(LimitKind::kDisk, limits.disk_bytes);
  limit(LimitKind::kPids, limits.pids);
  limit(LimitKind::kCpus, limits.cpu_thousandths);
  text.add(std::to_string(attempt));
  const std::string digest = text.digest();
  std::string id = "own.";
  for (std::size_t i = 0; i < kLabel; ++i) {
    // Three digits of the hash for each letter: 60 of the 64.
    const unsigned long number = std::stoul(digest.substr(i * 3, 3), nullptr, 16);
    id += kLetters[number % kLetters.size()];
  }
  return id;
}

std::string asked_text(const Dependencies& wanted) {
  const auto lines = [](const std::string& text) {
    return " (" + std::to_string(std::count(text.begin(), text.end(), '\n') + 1) + " lines)";
  };
  std::string text;
  const auto add = [&text](const std::string& item) { text += (text.empty() ? "" : ", ") + item; };
  for (const std::string& package : wanted.packages) add(package);
  if (!wanted.requirements.empty()) add("requirements.txt" + lines(wanted.requirements));
  if (!wanted.lock.empty()) add("lock file" + lines(wanted.lock));
  if (wanted.host_packages.value_or(false)) add("host packages");
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  if (text.size() > kMaxAskedText) text = text.substr(0, kMaxAskedText - 3) + "...";
  return to_utf8(text);
}

}  // namespace glovebox::packages
