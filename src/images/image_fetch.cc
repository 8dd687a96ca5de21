#include "images/image_fetch.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <utility>
#include <variant>

#include "base/hex.h"
#include "base/units.h"
#include "images/image_manifest.h"
#include "model/environment.h"
#include "wire/json/object_reader.h"
#include "wire/json/strict_json.h"

namespace glovebox::images {
namespace {

namespace json = boost::json;
using node::Attachment;
using wire::ObjectReader;

constexpr const char* kFetchProgram = "/opt/glovebox/images/image_fetch.py";
constexpr const char* kFetchResult = "/home/user/out/result.json";
constexpr std::uint64_t kFetchMemory = 256 * kMegabyte;
constexpr std::uint64_t kFetchDisk = 8 * kMegabyte;
constexpr std::uint32_t kFetchPids = 16;
constexpr std::size_t kMaxFoundLine = 4096;
constexpr std::size_t kMaxFailure = 64 * 1024;
constexpr std::size_t kMaxFailureText = 2000;
constexpr std::uint64_t kMostSize = 1ull << 53;

struct FetchKind {
  std::string_view name;
  Errc code;
  int sys_errno;
};
constexpr FetchKind kFetchKinds[] = {
    {"not_found", Errc::kNotFound, 0},
    {"unauthorized", Errc::kPermissionDenied, 0},
    {"policy", Errc::kPolicy, 0},
    {"digest", Errc::kInvalidArgument, 0},
    {"invalid", Errc::kInvalidArgument, 0},
    {"unsupported", Errc::kUnsupported, 0},
    {"too_large", Errc::kResourceExhausted, EFBIG},
    {"interrupted", Errc::kUnavailable, kRegistryUnavailable},
    {"unreachable", Errc::kUnavailable, kRegistryUnavailable},
};

Result<std::string> digest_field(ObjectReader& fields, const char* name) {
  TRY(const auto text, fields.text(name, 64));
  if (!text || text->size() != 64 || !is_lower_hex(*text)) {
    return fields.bad(name, "is not a SHA-256");
  }
  return *text;
}

Error no_result(const wire::ProcessEnd& end) {
  if (end.oom_killed)
    return Error(Errc::kResourceExhausted, "fetching the image ran out of memory");
  return Error(Errc::kInternal, "the program that fetches images ended with " +
                                    (end.signal != 0 ? "signal " + std::to_string(end.signal)
                                                     : "code " + std::to_string(end.code)) +
                                    " and no result");
}

}  // namespace

Result<FoundImage> parse_found_image(std::string_view line) {
  TRY(const json::value document, wire::parse_strict_json(line));
  TRY(ObjectReader fields, ObjectReader::open(document, ""));
  FoundImage found;
  TRY(found.manifest, digest_field(fields, "manifest"));
  TRY(found.config, digest_field(fields, "config"));
  TRY(const auto bytes, fields.whole("bytes", 0, kMostSize));
  TRY_OK(fields.whole("layers", 0, kMaxImageLayers));
  TRY_OK(fields.finish());
  found.bytes = bytes.value_or(0);
  return found;
}

Error parse_fetch_failure(std::string_view text, const std::vector<std::string>& secrets) {
  const Error malformed(Errc::kInternal, "the program that fetches images left no valid result");
  const auto document = wire::parse_strict_json(text);
  if (!document) return malformed;
  auto fields = ObjectReader::open(*document, "");
  if (!fields) return malformed;
  const auto kind = fields->text("kind", 64);
  const auto said = fields->text("error", kMaxFailure);
  if (!kind || !*kind || !said || !*said) return malformed;
  for (const FetchKind& one : kFetchKinds) {
    if (one.name != **kind) continue;
    return Error(one.code, packages::printable_text(**said, kMaxFailureText, secrets),
                 one.sys_errno);
  }
  return malformed;
}

std::string fetch_request_json(const FetchWanted& wanted) {
  json::array hosts;
  for (const net::NetRule& rule : wanted.registry.rules) hosts.emplace_back(rule.text());
  json::object credentials;
  const RegistryCredentials& shown = wanted.credentials;
  const auto add = [&credentials](const char* name, const std::string& value) {
    if (!value.empty()) credentials[name] = value;
  };
  add("username", shown.username);
  add("password", shown.password);
  add("identity_token", shown.identity_token);
  add("registry_token", shown.registry_token);
  const ImageReference& reference = wanted.reference;
  return json::serialize(json::object{
      {"url", wanted.registry.url},
      {"mirror", wanted.registry.mirror},
      {"hosts", std::move(hosts)},
      {"repository", reference.repository},
      {"reference", reference.sha256.empty() ? reference.tag : "sha256:" + reference.sha256},
      {"platform", own_platform()},
      {"most_bytes", wanted.most_bytes},
      {"credentials", std::move(credentials)}});
}

ImageFetch::ImageFetch(packages::BuildSandbox::Host host, FetchWanted wanted,
                       ImageProgress& progress, std::shared_ptr<node::CancelFlag> cancel)
    : host_(std::move(host)),
      wanted_(std::move(wanted)),
      progress_(progress),
      secrets_(wanted_.credentials.secrets()),
      watch_(host_.io, std::chrono::steady_clock::now() + wanted_.timeout, std::move(cancel)),
      lines_([this](std::string line) { line_ = std::move(line); }, secrets_) {}

Task<std::unique_ptr<ImageFetch>> ImageFetch::begin(packages::BuildSandbox::Host host,
                                                    FetchWanted wanted, ImageProgress& progress,
                                                    std::shared_ptr<node::CancelFlag> cancel) {
  auto fetch =
      std::make_unique<ImageFetch>(std::move(host), std::move(wanted), progress, std::move(cancel));
  std::string text = fetch->wanted_.registry.name;
  const bool is_watched = co_await progress.on_progress("resolving", std::move(text));
  if (!is_watched) co_return fail(Errc::kUnavailable, "the request was cancelled");
  CO_TRY_OK(co_await fetch->start());
  std::size_t end = std::string::npos;
  while ((end = fetch->bytes_.find('\n')) == std::string::npos) {
    if (fetch->ended_ || fetch->bytes_.size() > kMaxFoundLine) {
      co_return fail(Errc::kInternal,
                     "the program that fetches images did not report what it found");
    }
    CO_TRY_OK(co_await fetch->read_more());
  }
  CO_TRY(fetch->found_, parse_found_image(std::string_view(fetch->bytes_).substr(0, end)));
  fetch->used_ = end + 1;
  co_return fetch;
}

Task<> ImageFetch::start() {
  node::SessionSpec spec;
  spec.template_name = "base";
  spec.owner = wanted_.project;
  spec.project = wanted_.project;
  spec.limits.memory_bytes = kFetchMemory;
  spec.limits.disk_bytes = kFetchDisk;
  spec.limits.pids = kFetchPids;
  spec.net.allow = wanted_.registry.rules;
  auto made = co_await packages::BuildSandbox::make(host_, std::move(spec), watch_);
  if (!made) co_return fail(reason(std::move(made.error())));
  sandbox_ = std::move(*made);
  cut_.emplace(watch_, [sandbox = sandbox_] { sandbox->abandon(); });
  if (!wanted_.registry.ca.empty()) {
    Result<> written = co_await sandbox_->write_file("/home/user/in/ca.pem", wanted_.registry.ca);
    if (!written) co_return fail(reason(std::move(written.error())));
  }
  std::string request = fetch_request_json(wanted_);
  wanted_.credentials = {};
  Result<> written =
      co_await sandbox_->write_file("/home/user/in/request.json", std::move(request));
  if (!written) co_return fail(reason(std::move(written.error())));
  node::ProcessSpec program;
  // -I: ignore modules in the sandbox's own directories. -u: unbuffered output.
  program.exec.argv = {"/usr/bin/python3", "-I", "-u", kFetchProgram};
  program.exec.env = base_environment();
  auto started =
      co_await sandbox_->session()->start(std::move(program), node::Session::Attach::kYes);
  if (!started && started.error().code() == Errc::kNotFound) {
    co_return fail(Errc::kUnsupported,
                   "images are fetched with Python, and this host has no "
                   "/usr/bin/python3: apt install python3");
  }
  if (!started) co_return fail(reason(std::move(started.error())));
  attachment_ = std::move(started->attachment);
  co_return Result<>();
}

// At least one byte more of the archive, or its end.
Task<> ImageFetch::read_more() {
  bytes_.erase(0, std::exchange(used_, 0));
  while (true) {
    Attachment::Event event = co_await attachment_->next();
    if (const auto* exited = std::get_if<Attachment::Exited>(&event)) {
      lines_.finish();
      ended_ = exited->end;
      if (ended_->signal == 0 && ended_->code == 0) co_return Result<>();
      co_return co_await failure();
    }
    if (const auto* gone = std::get_if<Attachment::Gone>(&event)) {
      co_return fail(reason(
          Error(Errc::kUnavailable, "the sandbox that fetches the image ended: " + gone->why)));
    }
    auto* chunk = std::get_if<Attachment::Chunk>(&event);
    if (chunk == nullptr) continue;
    if (chunk->stream == wire::Stream::kStdout) {
      if (chunk->bytes.empty()) continue;
      bytes_ += chunk->bytes;
      co_return Result<>();
    }
    lines_.add(packages::BuildOutput::From::kErr, chunk->bytes);
    if (line_.empty()) continue;
    std::string line = std::exchange(line_, {});
    const bool is_watched = co_await progress_.on_progress("fetching", std::move(line));
    if (!is_watched) co_return fail(Errc::kUnavailable, "the request was cancelled");
  }
}

Task<std::size_t> ImageFetch::read_some(char* into, std::size_t size) {
  while (used_ == bytes_.size()) {
    if (ended_) co_return 0;
    CO_TRY_OK(co_await read_more());
  }
  const std::size_t some = std::min(size, bytes_.size() - used_);
  std::copy_n(bytes_.data() + used_, some, into);
  used_ += some;
  co_return some;
}

Task<> ImageFetch::failure() {
  const wire::ProcessEnd ended = *ended_;
  Result<std::string> text = co_await sandbox_->read_file(kFetchResult, kMaxFailure);
  if (!text) co_return fail(reason(no_result(ended)));
  co_return fail(reason(parse_fetch_failure(*text, secrets_)));
}

// A cancellation and the time limit come first: they are the cause of what else went wrong.
Error ImageFetch::reason(Error error) const {
  const Result<> judged = watch_.verdict();
  if (judged) return error;
  if (judged.error().code() == Errc::kTimeout) {
    return Error(Errc::kUnavailable, "fetching the image took longer than images.pull_timeout",
                 kRegistryUnavailable);
  }
  return Error(Errc::kUnavailable, "the request was cancelled");
}

Task<> ImageFetch::end() {
  attachment_.reset();
  cut_.reset();
  if (!sandbox_) co_return Result<>();
  co_return co_await sandbox_->end();
}

}  // namespace glovebox::images
