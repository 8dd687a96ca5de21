// `glovebox cp`: files and whole directories into a sandbox and out of it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdio>
#include <filesystem>

#include "base/unique_fd.h"
#include "base/write_all.h"
#include "client/answers.h"
#include "client/api.h"
#include "client/commands.h"
#include "client/print.h"
#include "client/session/copy_words.h"
#include "client/session/host_tree.h"
#include "client/session/progress.h"
#include "wire/base64_decode.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

constexpr const char* kCopyUsage =
    "usage: glovebox cp [OPTIONS] FILE... ID:PATH\n"
    "       glovebox cp [OPTIONS] ID:PATH FILE\n"
    "\n"
    "Copies files and directories into a sandbox, or out of it. \"-\" is standard input or "
    "output.\n"
    "A file that was there is replaced whole or not at all.\n"
    "\n"
    "  --user NAME            as whom, inside (default: user)\n"
    "  --quiet                no progress\n";
constexpr const char* kCopyHelp =
    "  --json                 print one object: files, bytes, skipped\n"
    "  --help                 this text\n"
    "\n"
    "Links are copied out as links and not copied in; fifos, sockets and devices are left out; "
    "both\n"
    "are said.\n"
    "\n"
    "Exit status: 0 all was copied, 1 the server or a file said no, 2 bad usage, 125 no server "
    "answers.\n";

class Copier {
 public:
  Copier(Api api, std::string user, bool quiet)
      : api_(std::move(api)), user_(std::move(user)), quiet_(quiet), progress_(quiet) {}

  Result<> copy_in(const std::string& from, const CopyEnd& to, bool into_directory);
  Result<> copy_out(const CopyEnd& from, const std::string& to);
  Result<bool> is_directory(const CopyEnd& there);

  std::uint64_t files() const { return files_; }
  std::uint64_t bytes() const { return progress_.bytes(); }
  std::uint64_t skipped() const { return skipped_; }
  void end_progress() { progress_.clear(); }

 private:
  std::string target_of(const CopyEnd& there, const char* what) const;
  Result<json::object> ask_for(http::ClientRequest request);
  Result<> put(int fd, const CopyEnd& to, const std::string& mode,
               std::optional<std::uint64_t> size);
  Result<> put_tree(const std::string& from, const CopyEnd& to);
  Result<> get(const CopyEnd& from, int fd, std::optional<std::uint64_t> size);
  Result<> get_tree(const CopyEnd& from, const std::string& to, HostTree::Typed typed);
  void skip(const std::string& path, const char* why);

  Api api_;
  std::string user_;
  bool quiet_;
  Progress progress_;
  std::uint64_t files_ = 0;
  std::uint64_t skipped_ = 0;
};

Error refusal_as_error(const Refusal& refusal) {
  return Error(refusal.status == 404 ? Errc::kNotFound : Errc::kPolicy, refusal.message);
}

std::string Copier::target_of(const CopyEnd& there, const char* what) const {
  std::string target = "/v1/sandboxes/" + url_encoded(there.sandbox) + "/files" + what +
                       "?path=" + url_encoded(there.path);
  if (!user_.empty()) target += "&user=" + url_encoded(user_);
  return target;
}

Result<json::object> Copier::ask_for(http::ClientRequest request) {
  TRY(const http::ClientResponse response, api_.send(std::move(request)));
  if (const auto refusal = api_.refusal_of(response)) return fail(refusal_as_error(*refusal));
  return parse_answer(response.body);
}

Result<bool> Copier::is_directory(const CopyEnd& there) {
  auto entry = ask_for({.method = http::Method::kGet,
                        .target = target_of(there, "/stat"),
                        .headers = {},
                        .body = {}});
  if (entry) return shown(*entry, "type") == "directory";
  if (entry.error().code() == Errc::kNotFound) return false;
  return fail(std::move(entry.error()));
}

void Copier::skip(const std::string& path, const char* why) {
  ++skipped_;
  progress_.clear();
  if (!quiet_) {
    std::fprintf(stderr, "glovebox: left out %s: %s\n", printable(path).c_str(), why);
  }
}

Result<> Copier::put(int fd, const CopyEnd& to, const std::string& mode,
                     std::optional<std::uint64_t> size) {
  http::ClientRequest request{.method = http::Method::kPut,
                              .target = target_of(to, ""),
                              .headers = {{"Content-Type", "application/octet-stream"}},
                              .body = {}};
  if (!mode.empty()) request.target += "&mode=" + mode;
  progress_.begin(to.path, size);
  const auto next = [&](char* into, std::size_t most) -> Result<std::size_t> {
    const ssize_t got = ::read(fd, into, most);
    if (got < 0) return fail(Error::from_errno("read"));
    progress_.add(static_cast<std::uint64_t>(got));
    return static_cast<std::size_t>(got);
  };
  TRY(const http::ClientResponse response, api_.upload(std::move(request), size, next));
  if (const auto refusal = api_.refusal_of(response)) return fail(refusal_as_error(*refusal));
  ++files_;
  return {};
}

Result<> Copier::copy_in(const std::string& from, const CopyEnd& to, bool into_directory) {
  if (from == "-") {
    if (into_directory) return fail(Errc::kInvalidArgument, to.path + " is a directory");
    return put(STDIN_FILENO, to, "", std::nullopt);
  }
  struct stat info {};
  if (::stat(from.c_str(), &info) != 0) return fail(Error::from_errno(from));
  CopyEnd there = to;
  if (into_directory) there.path = join_path(to.path, base_name(from));
  if (S_ISDIR(info.st_mode)) return put_tree(from, there);
  if (!S_ISREG(info.st_mode)) {
    return fail(Errc::kInvalidArgument, from + " is neither a file nor a directory");
  }
  const UniqueFd file(::open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return fail(Error::from_errno(from));
  char mode[8];
  std::snprintf(mode, sizeof mode, "%04o", static_cast<unsigned>(info.st_mode & 0777));
  return put(file.get(), there, mode, static_cast<std::uint64_t>(info.st_size));
}

Result<> Copier::put_tree(const std::string& from, const CopyEnd& to) {
  json::object body{{"path", to.path}};
  if (!user_.empty()) body["user"] = user_;
  TRY(const json::object made,
      ask_for({.method = http::Method::kPost,
               .target = "/v1/sandboxes/" + url_encoded(to.sandbox) + "/files/mkdir",
               .headers = {},
               .body = json::serialize(body)}));
  std::error_code error;
  for (fs::directory_iterator at(from, error), end; !error && at != end; at.increment(error)) {
    const fs::file_status status = at->symlink_status(error);
    const std::string path = at->path().string();
    if (fs::is_regular_file(status) || fs::is_directory(status)) {
      TRY_OK(copy_in(path, to, true));
    } else {
      skip(path, fs::is_symlink(status) ? "a link" : "not a file");
    }
  }
  if (error) return fail(Errc::kNotFound, from + ": " + error.message());
  return {};
}

Result<> Copier::get(const CopyEnd& from, int fd, std::optional<std::uint64_t> size) {
  progress_.begin(from.path, size);
  Result<> written;
  http::ClientRequest request{
      .method = http::Method::kGet, .target = target_of(from, ""), .headers = {}, .body = {}};
  TRY(const http::ClientResponse response,
      api_.stream(std::move(request), [&](std::string_view piece) {
        written = write_all(fd, piece);
        progress_.add(piece.size());
        return written.has_value();
      }));
  if (const auto refusal = api_.refusal_of(response)) return fail(refusal_as_error(*refusal));
  TRY_OK(std::move(written));
  ++files_;
  return {};
}

Result<> Copier::copy_out(const CopyEnd& from, const std::string& to) {
  if (to == "-") return get(from, STDOUT_FILENO, std::nullopt);
  TRY(const json::object entry, ask_for({.method = http::Method::kGet,
                                         .target = target_of(from, "/stat"),
                                         .headers = {},
                                         .body = {}}));
  std::string place = to;
  HostTree::Typed typed = HostTree::Typed::kWhole;
  struct stat info {};
  if (::stat(to.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
    place = join_path(to, base_name(from.path));
    typed = HostTree::Typed::kInPart;
    if (base_name(from.path) == ".") {
      place = to;
      typed = HostTree::Typed::kWhole;
    }
  }
  if (shown(entry, "type") == "directory") return get_tree(from, place, typed);
  const fs::path path(place);
  const std::string directory = path.parent_path().empty() ? "." : path.parent_path().string();
  TRY(const HostTree tree, HostTree::open(directory, HostTree::Typed::kWhole));
  TRY(HostTree::File file, tree.create(path.filename().string()));
  TRY_OK(get(from, file.fd(), std::nullopt));
  return file.keep(static_cast<unsigned>(std::strtoul(shown(entry, "mode").c_str(), nullptr, 8)));
}

std::string path_in(const json::object& entry) {
  const std::string encoded = shown(entry, "path_base64");
  if (encoded == "-") return shown(entry, "path");
  auto decoded = wire::base64_decode(encoded);
  return decoded ? *decoded : "";
}

Result<> Copier::get_tree(const CopyEnd& from, const std::string& to, HostTree::Typed typed) {
  http::ClientRequest request{.method = http::Method::kGet,
                              .target = target_of(from, "/list") + "&depth=0&limit=1000000",
                              .headers = {},
                              .body = {}};
  TRY(const json::object answer, ask_for(std::move(request)));
  TRY(const json::array entries, list_in(answer, "entries"));
  if (shown(answer, "truncated") == "true") {
    return fail(Errc::kResourceExhausted, "there are too many files in " + from.path);
  }
  TRY(const HostTree tree, HostTree::open(to, typed));
  for (const json::value& value : entries) {
    if (!value.is_object()) continue;
    const json::object& entry = value.get_object();
    // The server tells them with the directory that was asked for in front.
    const std::string there = path_in(entry);
    const std::string above = from.path.ends_with('/') ? from.path : from.path + "/";
    if (!there.starts_with(above)) {
      return fail(Errc::kProtocol, "the server lists a file that is elsewhere: " + there);
    }
    const std::string relative = there.substr(above.size());
    const std::string type = shown(entry, "type");
    const auto mode = static_cast<unsigned>(std::strtoul(shown(entry, "mode").c_str(), nullptr, 8));
    if (type == "directory") {
      TRY_OK(tree.make_directory(relative, mode));
    } else if (type == "symlink") {
      TRY_OK(tree.make_link(relative, shown(entry, "target")));
    } else if (type == "file") {
      TRY(HostTree::File file, tree.create(relative));
      TRY_OK(get({from.sandbox, there}, file.fd(), std::nullopt));
      TRY_OK(file.keep(mode));
    } else {
      skip(relative, "not a file");
    }
  }
  return {};
}

Result<> copy_all(Copier& copier, std::span<const std::string> words) {
  const CopyEnd to = parse_copy_end(words.back());
  const auto sources = words.first(words.size() - 1);
  if (to.sandbox.empty()) {
    const CopyEnd from = parse_copy_end(sources.front());
    if (sources.size() != 1 || from.sandbox.empty()) {
      return fail(Errc::kInvalidArgument, "one of the two must be in a sandbox: ID:PATH");
    }
    return copier.copy_out(from, to.path);
  }
  for (const std::string& source : sources) {
    if (!parse_copy_end(source).sandbox.empty()) {
      return fail(Errc::kInvalidArgument, "from sandbox to sandbox: copy it here first");
    }
  }
  TRY(const bool is_directory, copier.is_directory(to));
  if (sources.size() > 1 && !is_directory && to.path.back() != '/') {
    return fail(Errc::kInvalidArgument, to.path + " is not a directory");
  }
  for (const std::string& source : sources) {
    TRY_OK(copier.copy_in(source, to, is_directory || to.path.back() == '/'));
  }
  return {};
}

}  // namespace

int copy_command(const std::vector<std::string>& args) {
  PlaceWords place_words;
  std::string user;
  bool quiet = false;
  bool is_json = false;
  bool help = false;
  std::vector<Option> options = place_options(place_words);
  options.insert(options.end(), {{"--user", &user},
                                 {"--quiet", &quiet},
                                 {"--json", &is_json},
                                 {"--help", &help},
                                 {"-h", &help}});
  const auto rest = take_options(args, options, "cp");
  if (!rest) return usage_error(rest.error().message());
  if (help) {
    std::printf("%s%s%s", kCopyUsage, kPlaceHelp, kCopyHelp);
    return 0;
  }
  if (rest->size() < 2) {
    return usage_error("say `glovebox cp FILE ID:PATH` or `cp ID:PATH FILE`; see `cp --help`");
  }
  auto place = find_place(place_words, PlaceSurroundings::here());
  if (!place) return failure(place.error());
  auto api = Api::open(std::move(*place));
  if (!api) return usage_error(api.error().message());
  Copier copier(std::move(*api), std::move(user), quiet);
  const auto copied = copy_all(copier, *rest);
  copier.end_progress();
  if (!copied) {
    const Error& error = copied.error();
    if (error.code() == Errc::kInvalidArgument) return usage_error(error.message());
    if (error.code() == Errc::kUnavailable) return failure(error);
    return refused(error.message());
  }
  if (is_json) {
    const json::object said{
        {"files", copier.files()}, {"bytes", copier.bytes()}, {"skipped", copier.skipped()}};
    std::printf("%s\n", json::serialize(said).c_str());
  }
  return 0;
}

}  // namespace glovebox::client
