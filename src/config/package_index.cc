#include "config/package_index.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "base/log.h"
#include "config/index_url.h"
#include "config/keys.h"
#include "config/package_files.h"
#include "config/toml_file.h"

namespace glovebox::config {
namespace {

constexpr const char* kPyPi = "https://pypi.org/simple";
constexpr const char* kNpm = "https://registry.npmjs.org";
constexpr std::array kHostsCertificates = {"/etc/ssl/certs/ca-certificates.crt",
                                           "/etc/pki/tls/certs/ca-bundle.crt"};
constexpr std::array kVariables = {
    "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST",   "PIP_CERT",
    "SSL_CERT_FILE", "NPM_CONFIG_REGISTRY", "npm_config_registry"};
// Of an index's own files, on well-known other hosts.
struct KnownFileHost {
  const char* index;
  const char* files;
};
constexpr KnownFileHost kKnownFileHosts[] = {
    {"pypi.org:443", "files.pythonhosted.org:443"},
    {"test.pypi.org:443", "test-files.pythonhosted.org:443"},
};
constexpr std::size_t kMaxIndexes = 16;
constexpr std::size_t kMaxFileHosts = 128;
// What clients that fetch packages send: questions. Answers have no bound but the build's disk.
constexpr std::uint64_t kMaxBytesOut = 256ull << 20;
constexpr std::uint64_t kMaxConnections = 5000;
constexpr std::uint64_t kMaxNames = 200;

tl::unexpected<Error> wrong(const SourcedValue& raw, const std::string& why) {
  return fail(Errc::kInvalidArgument, raw.where + " " + why);
}

std::vector<SourcedValue> each(const std::vector<std::string>& words, const std::string& where) {
  std::vector<SourcedValue> raw;
  for (const std::string& word : words) raw.push_back({word, where});
  return raw;
}

// Everything that was raw, before it is looked at.
struct RawIndexSettings {
  SourcedValue pip_index;
  std::vector<SourcedValue> pip_extra;
  std::vector<SourcedValue> trusted;
  SourcedValue npm_registry;
  std::vector<NpmFile::Credential> npm_credentials;
  std::vector<std::string> left_out;       // of npm's words, and why
  std::vector<SourcedValue> certificates;  // files, all of them
};

class Sources {
 public:
  Sources(const Settings& settings, const Variable& variable)
      : settings_(settings), variable_(variable) {}

  Result<RawIndexSettings> read() {
    TRY_OK(read_files());
    RawIndexSettings raw;
    raw.pip_index = first({setting("deps.index_url", settings_.deps_index_url),
                           environment("PIP_INDEX_URL"), pip_.index, SourcedValue{kPyPi, "pip"}});
    raw.npm_registry =
        first({setting("deps.npm_registry", settings_.deps_npm_registry),
               environment("NPM_CONFIG_REGISTRY"), environment("npm_config_registry"),
               npm_.registry, SourcedValue{kNpm, "npm"}});
    raw.pip_extra = pip_.extra_indexes;
    if (const auto words = environment("PIP_EXTRA_INDEX_URL")) {
      raw.pip_extra = each(split_words(words->text), words->where);
    }
    if (!settings_.deps_extra_index_urls.empty()) {
      raw.pip_extra = each(settings_.deps_extra_index_urls, "deps.extra_index_urls");
    }
    raw.trusted = pip_.trusted_hosts;
    if (const auto words = environment("PIP_TRUSTED_HOST")) {
      raw.trusted = each(split_words(words->text), words->where);
    }
    raw.npm_credentials = npm_.credentials;
    raw.left_out = npm_.left_out;
    raw.certificates = certificates();
    return raw;
  }

 private:
  // A server of root's believes no file that others may write.
  Result<> read_files() {
    const Trust trust = ::geteuid() == 0 ? Trust::kOnlyRoot : Trust::kAnyOwner;
    if (!settings_.deps_pip_config.empty()) {
      TRY(const std::string text, read_file("deps.pip_config", settings_.deps_pip_config, trust));
      TRY(pip_, parse_pip_config(text, settings_.deps_pip_config));
    }
    if (!settings_.deps_npm_config.empty()) {
      TRY(const std::string text, read_file("deps.npm_config", settings_.deps_npm_config, trust));
      TRY(npm_, parse_npm_config(text, settings_.deps_npm_config));
    }
    return {};
  }

  // Only the default file may be missing: a private index must not become the public one
  // by a mistyped path.
  static Result<std::string> read_file(const char* name, const std::string& path, Trust trust) {
    const bool is_default = path == find_key(name)->default_text;
    auto text = read_text_file(path, is_default ? Missing::kIsEmpty : Missing::kIsAnError, trust);
    if (!text) return fail(std::move(text.error()).context(name));
    return text;
  }

  static std::optional<SourcedValue> setting(const char* name, const std::string& text) {
    if (text.empty()) return std::nullopt;
    return SourcedValue{text, name};
  }
  std::optional<SourcedValue> environment(const char* name) const {
    const auto text = variable_(name);
    if (!text || text->empty()) return std::nullopt;
    return SourcedValue{*text, std::string("environment ") + name};
  }
  static SourcedValue first(std::initializer_list<std::optional<SourcedValue>> candidates) {
    SourcedValue found;
    for (const auto& candidate : candidates) {
      if (candidate && found.text.empty()) found = *candidate;
    }
    return found;
  }

  // The configured one; or those of both files, which may be of one client each.
  std::vector<SourcedValue> certificates() const {
    if (const auto raw = setting("deps.ca_bundle", settings_.deps_ca_bundle)) return {*raw};
    if (const auto raw = environment("PIP_CERT")) return {*raw};
    if (const auto raw = environment("SSL_CERT_FILE")) return {*raw};
    std::vector<SourcedValue> files;
    if (pip_.cert) files.push_back(*pip_.cert);
    if (npm_.cafile && (!pip_.cert || npm_.cafile->text != pip_.cert->text)) {
      files.push_back(*npm_.cafile);
    }
    return files;
  }

  const Settings& settings_;
  const Variable& variable_;
  PipFile pip_;
  NpmFile npm_;
};

Result<IndexUrl> read_url(const SourcedValue& raw) {
  auto url = parse_index_url(raw.text);
  if (!url) return wrong(raw, url.error().message());
  if (url->has_user && raw.where.starts_with("deps.")) {
    return wrong(raw,
                 "contains a user or a password, which every user of this host could read in the "
                 "list of processes: put it into the file of deps.pip_config or deps.npm_config");
  }
  return url;
}

void add(std::vector<net::NetRule>& rules, const net::NetRule& rule) {
  if (std::find(rules.begin(), rules.end(), rule) == rules.end()) rules.push_back(rule);
}

void add_index(std::vector<net::NetRule>& rules, const IndexUrl& url) {
  add(rules, url.rule);
  for (const KnownFileHost& known : kKnownFileHosts) {
    if (url.rule.text() != known.index) continue;
    if (auto files = net::NetRule::parse(known.files)) add(rules, *files);
  }
}

// "mirror.corp", "mirror.corp:8080": as pip takes it, and nothing that would end its line.
Result<std::string> read_trusted_host(const SourcedValue& raw) {
  const auto rule = net::NetRule::parse(raw.text);
  const bool is_one = rule && (rule->ports.is_all() || rule->ports.first == rule->ports.last);
  if (!is_one || raw.text.find_first_of("/*") != raw.text.npos) {
    return wrong(raw, "must be a host, perhaps with a port");
  }
  return raw.text;
}

struct Urls {
  IndexUrl pip;
  std::vector<IndexUrl> pip_extra;
  IndexUrl npm;
  std::vector<net::NetRule> pip_rules;
  std::vector<net::NetRule> npm_rules;
};

Result<Urls> read_urls(const Settings& settings, const RawIndexSettings& raw) {
  TRY(IndexUrl pip, read_url(raw.pip_index));
  TRY(IndexUrl npm, read_url(raw.npm_registry));
  Urls urls{.pip = std::move(pip),
            .pip_extra = {},
            .npm = std::move(npm),
            .pip_rules = {},
            .npm_rules = {}};
  if (raw.pip_extra.size() > kMaxIndexes) {
    return wrong(raw.pip_extra.front(), "has too many indexes");
  }
  add_index(urls.pip_rules, urls.pip);
  for (const SourcedValue& one : raw.pip_extra) {
    TRY(IndexUrl url, read_url(one));
    add_index(urls.pip_rules, url);
    urls.pip_extra.push_back(std::move(url));
  }
  add(urls.npm_rules, urls.npm.rule);
  TRY(const auto files, parse_file_hosts(settings.deps_file_hosts));
  for (const net::NetRule& rule : files) {
    add(urls.pip_rules, rule);
    add(urls.npm_rules, rule);
  }
  return urls;
}

Result<std::string> read_certificates(const std::vector<SourcedValue>& files) {
  std::string bundle;
  for (const SourcedValue& file : files) {
    if (!file.text.starts_with('/')) return wrong(file, "must be an absolute path");
    auto text = read_text_file(file.text, Missing::kIsAnError, Trust::kAnyOwner);
    if (!text) return wrong(file, text.error().message());
    const std::string certificates = only_certificates(*text);
    if (certificates.empty()) return wrong(file, file.text + " contains no PEM certificate");
    bundle += certificates;
  }
  if (!files.empty()) return bundle;
  for (const char* path : kHostsCertificates) {
    const auto text = read_text_file(path, Missing::kIsEmpty, Trust::kAnyOwner);
    if (text && !text->empty()) return only_certificates(*text);
  }
  return bundle;
}

std::string shown_url(const std::string& text) {
  const auto url = parse_index_url(text);
  return url ? url->shown : std::string();
}

// The host's /usr is part of every sandbox.
void warn_of_readable_files(const Settings& settings, const RawIndexSettings& raw,
                            const Urls& urls) {
  const auto warn = [](const std::string& path) {
    if (!path.starts_with("/usr/")) return;
    log::warn("a file with a password of an index can be read in every sandbox: move it to /etc",
              {{"file", path}});
  };
  bool has_user = urls.pip.has_user && raw.pip_index.where.starts_with(settings.deps_pip_config);
  for (std::size_t i = 0; i < urls.pip_extra.size(); ++i) {
    has_user |=
        urls.pip_extra[i].has_user && raw.pip_extra[i].where.starts_with(settings.deps_pip_config);
  }
  if (has_user) warn(settings.deps_pip_config);
  if (!raw.npm_credentials.empty()) warn(settings.deps_npm_config);
}

// What npm would say to this registry and no other.
bool is_for(const NpmFile::Credential& word, const IndexUrl& registry) {
  return word.host == registry.host &&
         (word.path.empty() || (registry.path + '/').starts_with(word.path + '/'));
}

}  // namespace

std::string PackageIndexes::shown_pip() const {
  std::string shown = shown_url(pip_index);
  for (const std::string& extra : pip_extra_indexes) shown += ' ' + shown_url(extra);
  return shown;
}

std::string PackageIndexes::shown_npm() const { return shown_url(npm_registry); }

Variable own_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

std::span<const char* const> index_variables() { return kVariables; }

Result<std::vector<net::NetRule>> parse_file_hosts(const std::vector<std::string>& words) {
  if (words.size() > kMaxFileHosts) {
    return fail(Errc::kInvalidArgument, "deps.file_hosts has too many entries");
  }
  std::vector<net::NetRule> rules;
  for (const std::string& word : words) {
    auto rule = parse_file_host(word);
    if (!rule) {
      return fail(Errc::kInvalidArgument, "deps.file_hosts " + rule.error().message());
    }
    rules.push_back(std::move(*rule));
  }
  return rules;
}

Result<> check_index_settings(const Settings& settings) {
  if (!settings.deps_index_url.empty()) {
    TRY_OK(read_url({settings.deps_index_url, "deps.index_url"}));
  }
  if (!settings.deps_npm_registry.empty()) {
    TRY_OK(read_url({settings.deps_npm_registry, "deps.npm_registry"}));
  }
  for (const std::string& url : settings.deps_extra_index_urls) {
    TRY_OK(read_url({url, "deps.extra_index_urls"}));
  }
  TRY_OK(parse_file_hosts(settings.deps_file_hosts));
  return {};
}

Result<PackageIndexes> read_package_indexes(const Settings& settings, const Variable& variable) {
  TRY(const RawIndexSettings raw, Sources(settings, variable).read());
  TRY(Urls urls, read_urls(settings, raw));
  for (const std::string& line : raw.left_out) {
    log::warn("a setting of npm is left out", {{"line", line}});
  }
  warn_of_readable_files(settings, raw, urls);
  PackageIndexes indexes;
  indexes.pip_index = std::move(urls.pip.text);
  for (IndexUrl& url : urls.pip_extra) indexes.pip_extra_indexes.push_back(std::move(url.text));
  for (const SourcedValue& host : raw.trusted) {
    TRY(std::string trusted, read_trusted_host(host));
    indexes.pip_trusted_hosts.push_back(std::move(trusted));
  }
  for (const NpmFile::Credential& word : raw.npm_credentials) {
    if (is_for(word, urls.npm)) indexes.npmrc_lines.push_back(npm_line(word));
  }
  indexes.npm_registry = std::move(urls.npm.text);
  TRY(indexes.ca_bundle, read_certificates(raw.certificates));
  indexes.pip_rules = std::move(urls.pip_rules);
  indexes.npm_rules = std::move(urls.npm_rules);
  return indexes;
}

Result<std::vector<net::NetRule>> index_rules(const Settings& settings, const Variable& variable) {
  std::vector<net::NetRule> rules;
  if (!settings.deps_enabled) return rules;
  TRY(const RawIndexSettings raw, Sources(settings, variable).read());
  TRY(Urls urls, read_urls(settings, raw));
  rules = std::move(urls.pip_rules);
  for (const net::NetRule& rule : urls.npm_rules) add(rules, rule);
  return rules;
}

net::NetCeiling build_ceiling(std::vector<net::NetRule> rules) {
  net::NetCeiling ceiling;
  ceiling.policy = {
      .base = net::NetBase::kNone,
      .allow = std::move(rules),
      .deny = {},
      .allow_wins = false,
      .budgets = {.bytes_out = kMaxBytesOut, .connections = kMaxConnections, .names = kMaxNames}};
  ceiling.any_address = true;
  return ceiling;
}

}  // namespace glovebox::config
