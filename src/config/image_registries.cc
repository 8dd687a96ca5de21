#include "config/image_registries.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "base/log.h"
#include "base/utf8.h"
#include "config/index_url.h"
#include "config/package_files.h"
#include "config/toml_file.h"
#include "config/value.h"

namespace glovebox::config {
namespace {

constexpr std::size_t kMaxRegistries = 32;
constexpr std::size_t kMaxHosts = 16;  // of one registry
constexpr std::string_view kHttp = "http://";
constexpr std::string_view kHttps = "https://";

// Well-known registries: where they are, and the hosts that their answers refer to.
struct KnownRegistry {
  std::string_view name;
  std::string_view url;
  std::string_view hosts[4];
};
constexpr KnownRegistry kKnown[] = {
    {"docker.io",
     "https://registry-1.docker.io",
     {"auth.docker.io", "production.cloudflare.docker.com", "production.cloudfront.docker.com",
      "docker-images-prod.6aa30f8b08e16409b46e0173d6de2f56.r2.cloudflarestorage.com"}},
    {"ghcr.io", "https://ghcr.io", {"pkg-containers.githubusercontent.com"}},
    {"quay.io", "https://quay.io", {"*.quay.io", "quayio-production-s3.s3.amazonaws.com"}},
    {"mcr.microsoft.com", "https://mcr.microsoft.com", {"*.data.mcr.microsoft.com"}},
};

tl::unexpected<Error> wrong_entry(std::string_view entry, const std::string& why) {
  return fail_invalid("\"" + to_utf8(entry.substr(0, 200)) + "\" " + why);
}

Result<> add_host(ImageRegistry& registry, net::NetRule rule) {
  if (rule.ports.first != rule.ports.last) return fail_invalid("names a range of ports");
  if (const auto* range = std::get_if<net::Cidr>(&rule.target)) {
    const auto whole =
        net::Cidr(range->base(), static_cast<std::uint8_t>(range->base().size() * 8));
    if (!(*range == whole)) return fail_invalid("names a range of addresses");
  }
  auto& rules = registry.rules;
  if (std::find(rules.begin(), rules.end(), rule) != rules.end()) return {};
  if (rules.size() >= kMaxHosts) return fail_invalid("has too many hosts");
  rules.push_back(std::move(rule));
  return {};
}

Result<> add_option(ImageRegistry& registry, std::string_view name, std::string_view value) {
  if (name == "host") {
    // As the registry's: a test registry over HTTP has its token server beside it.
    const bool is_http = registry.url.starts_with(kHttp);
    const bool has_port = value.find(':', value.rfind(']') + 1) != std::string_view::npos;
    TRY(net::NetRule rule,
        parse_file_host(std::string(value) + (is_http && !has_port ? ":80" : "")));
    return add_host(registry, std::move(rule));
  }
  if (name == "mirror") {
    if (!registry.mirror.empty()) return fail_invalid("has two mirrors");
    TRY(IndexUrl url, parse_index_url(value));
    if (url.has_user) return fail_invalid("has a password: mirrors are asked without one");
    registry.mirror = url.shown;
    return add_host(registry, std::move(url.rule));
  }
  if (name == "ca") {
    if (!value.starts_with('/')) return fail_invalid("has a ca that is not an absolute path");
    registry.ca_file = value;
    return {};
  }
  return fail_invalid("has an unknown option: use host, mirror and ca");
}

Result<ImageRegistry> parse_entry(std::string_view entry) {
  const std::size_t question = entry.find('?');
  const std::string_view where = entry.substr(0, question);
  ImageRegistry registry;
  std::string text(where);
  if (!where.starts_with(kHttp) && !where.starts_with(kHttps)) text.insert(0, kHttps);
  TRY(IndexUrl url, parse_index_url(text));
  if (url.has_user) return fail_invalid("has a password: credentials come with each request");
  if (!url.path.empty()) return fail_invalid("has a path: an image's name says it");
  registry.name = url.host;
  registry.url = url.shown;
  const auto* const known =
      std::find_if(std::begin(kKnown), std::end(kKnown),
                   [&](const KnownRegistry& one) { return one.name == registry.name; });
  if (known != std::end(kKnown) && registry.url.starts_with(kHttps)) {
    TRY(url, parse_index_url(known->url));
    registry.url = url.shown;
  }
  TRY_OK(add_host(registry, std::move(url.rule)));
  if (known != std::end(kKnown)) {
    for (const std::string_view host : known->hosts) {
      if (host.empty()) continue;
      TRY_OK(add_option(registry, "host", host));
    }
  }
  std::string_view rest =
      question == std::string_view::npos ? std::string_view() : entry.substr(question + 1);
  while (!rest.empty()) {
    const std::string_view option = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), option.size() + 1));
    const std::size_t equals = option.find('=');
    if (equals == std::string_view::npos) return fail_invalid("has an option without a value");
    TRY_OK(add_option(registry, option.substr(0, equals), option.substr(equals + 1)));
  }
  return registry;
}

}  // namespace

Result<std::vector<ImageRegistry>> parse_image_registries(const std::vector<std::string>& entries) {
  if (entries.size() > kMaxRegistries) return fail_invalid("has too many registries");
  std::vector<ImageRegistry> all;
  for (const std::string& entry : entries) {
    auto parsed = parse_entry(entry);
    if (!parsed) return wrong_entry(entry, parsed.error().message());
    for (const ImageRegistry& other : all) {
      if (other.name == parsed->name) return wrong_entry(entry, "names a registry a second time");
    }
    all.push_back(std::move(*parsed));
  }
  return all;
}

std::vector<ImageRegistry> read_image_registries(const Settings& settings) {
  std::vector<ImageRegistry> readable;
  auto all = parse_image_registries(settings.image_registries);
  if (!all) return readable;
  for (ImageRegistry& one : *all) {
    if (!one.ca_file.empty()) {
      const auto text = read_text_file(one.ca_file, Missing::kIsAnError, Trust::kAnyOwner);
      one.ca = text ? only_certificates(*text) : std::string();
      if (one.ca.empty()) {
        log::warn("images cannot be pulled from a registry: its ca is unusable",
                  {{"registry", one.name},
                   {"error",
                    text ? one.ca_file + " contains no PEM certificate" : text.error().message()}});
        continue;
      }
    }
    readable.push_back(std::move(one));
  }
  return readable;
}

Result<std::vector<net::NetRule>> registry_rules(const Settings& settings) {
  TRY(const std::vector<ImageRegistry> all, parse_image_registries(settings.image_registries));
  std::vector<net::NetRule> rules;
  for (const ImageRegistry& one : all) {
    for (const net::NetRule& rule : one.rules) {
      if (std::find(rules.begin(), rules.end(), rule) == rules.end()) rules.push_back(rule);
    }
  }
  return rules;
}

}  // namespace glovebox::config
