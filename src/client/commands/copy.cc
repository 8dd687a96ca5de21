// `glovebox cp`: copy files and directories into and out of a sandbox.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdio>
#include <filesystem>

#include "base/base64.h"
#include "base/percent_encoding.h"
#include "base/unique_fd.h"
#include "base/utf8.h"
#include "base/write_all.h"
#include "client/commands.h"
#include "client/connection/api_client.h"
#include "client/connection/references.h"
#include "client/connection/resume.h"
#include "client/copy/copy_endpoint.h"
#include "client/copy/copy_progress.h"
#include "client/copy/host_tree.h"
#include "client/output/print.h"
#include "client/output/response_fields.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

struct CopyOptions {
  ServerLocationOptions server;
  std::string user;
  bool quiet = false;
  bool resume = false;
  bool json = false;
};

constexpr std::size_t kManyFiles = 100'000;

options::CommandLine copy_command_line(CopyOptions& copy) {
  return {
      .name = "glovebox cp",
      .usage = "[OPTIONS] SOURCE... DESTINATION",
      .description =
          "Copy files and directories into or out of a sandbox. Either the sources or the "
          "destination are ID:PATH in a sandbox, where ID is its id, the beginning of it, or "
          "its name. \"-\" is standard input or output. Existing files are replaced atomically.",
      .groups = {{"Options",
                  {{"--user", "NAME", "user in the sandbox (default: user)", &copy.user},
                   {"-q,--quiet", "", "do not show progress", &copy.quiet},
                   resume_option(copy.resume),
                   {"--json", "", "print one object: files, bytes, skipped", &copy.json}}},
                 server_location_options(copy.server)},
      .notes =
          "Links are copied out as links and not copied in. FIFOs, sockets and devices are\n"
          "skipped. Everything skipped is reported.\n\n"
          "Exit status: 0 everything was copied, 1 the server refused or a file could not be\n"
          "copied, 2 bad usage, 125 no server responds.\n",
      .most_operands = kManyFiles};
}

class Copier {
 public:
  Copier(ApiClient api, const CopyOptions& copy)
      : api_(std::move(api)), copy_(copy), progress_(copy.quiet) {}

  Result<> copy_in(const std::string& from, const CopyEndpoint& to, bool into_directory);
  Result<> copy_out(const CopyEndpoint& from, const std::string& to);
  Result<bool> is_directory(const CopyEndpoint& there);
  // The id of a sandbox, which is resumed if that was asked for.
  Result<std::string> resolve(const std::string& word);

  std::uint64_t files() const { return files_; }
  std::uint64_t bytes() const { return progress_.bytes(); }
  std::uint64_t skipped() const { return skipped_; }
  void end_progress() { progress_.clear(); }

 private:
  std::string target_of(const CopyEndpoint& there, const char* what) const;
  Error error_of(const std::string& sandbox, ApiError error);
  Result<json::object> request_object(const std::string& sandbox, http::ClientRequest request);
  Result<> put(int fd, const CopyEndpoint& to, const std::string& mode,
               std::optional<std::uint64_t> size);
  Result<> put_tree(const std::string& from, const CopyEndpoint& to);
  Result<> get(const CopyEndpoint& from, int fd, std::optional<std::uint64_t> size);
  Result<> get_tree(const CopyEndpoint& from, const std::string& to,
                    HostTree::FinalLink final_link);
  void skip(const std::string& path, const char* why);

  ApiClient api_;
  const CopyOptions& copy_;
  CopyProgress progress_;
  std::uint64_t files_ = 0;
  std::uint64_t skipped_ = 0;
};

Result<std::string> Copier::resolve(const std::string& word) {
  TRY(std::string id, resolve_sandbox(api_, word));
  if (copy_.resume) TRY_OK(resume_if_paused(api_, id));
  return id;
}

Error Copier::error_of(const std::string& sandbox, ApiError error) {
  const Errc code = error.status == 404 ? Errc::kNotFound : Errc::kPolicy;
  return Error(code, explain_pause(api_, sandbox, std::move(error)).message);
}

std::string Copier::target_of(const CopyEndpoint& there, const char* what) const {
  std::string target = "/v1/sandboxes/" + percent_encode(there.sandbox) + "/files" + what +
                       "?path=" + percent_encode(there.path);
  if (!copy_.user.empty()) target += "&user=" + percent_encode(copy_.user);
  return target;
}

Result<json::object> Copier::request_object(const std::string& sandbox,
                                            http::ClientRequest request) {
  TRY(const http::ClientResponse response, api_.send(std::move(request)));
  if (auto error = api_.error_in(response)) return fail(error_of(sandbox, std::move(*error)));
  return parse_response(response.body);
}

Result<bool> Copier::is_directory(const CopyEndpoint& there) {
  auto entry = request_object(there.sandbox, get_request(target_of(there, "/stat")));
  if (entry) return field_text(*entry, "type") == "directory";
  if (entry.error().code() == Errc::kNotFound) return false;
  return fail(std::move(entry.error()));
}

void Copier::skip(const std::string& path, const char* why) {
  ++skipped_;
  progress_.clear();
  if (!copy_.quiet) {
    std::fprintf(stderr, "glovebox: skipped %s: %s\n", printable(path).c_str(), why);
  }
}

Result<> Copier::put(int fd, const CopyEndpoint& to, const std::string& mode,
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
  if (auto error = api_.error_in(response)) return fail(error_of(to.sandbox, std::move(*error)));
  ++files_;
  return {};
}

Result<> Copier::copy_in(const std::string& from, const CopyEndpoint& to, bool into_directory) {
  if (from == "-") {
    if (into_directory) return fail(Errc::kInvalidArgument, to.path + " is a directory");
    return put(STDIN_FILENO, to, "", std::nullopt);
  }
  struct stat info {};
  if (::stat(from.c_str(), &info) != 0) return fail(Error::from_errno(from));
  CopyEndpoint there = to;
  if (into_directory) there.path = join_path(to.path, base_name(from));
  if (S_ISDIR(info.st_mode)) return put_tree(from, there);
  if (!S_ISREG(info.st_mode)) {
    return fail(Errc::kInvalidArgument, from + " is not a regular file or directory");
  }
  const UniqueFd file(::open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return fail(Error::from_errno(from));
  char mode[8];
  std::snprintf(mode, sizeof mode, "%04o", static_cast<unsigned>(info.st_mode & 0777));
  return put(file.get(), there, mode, static_cast<std::uint64_t>(info.st_size));
}

Result<> Copier::put_tree(const std::string& from, const CopyEndpoint& to) {
  json::object body{{"path", to.path}};
  if (!copy_.user.empty()) body["user"] = copy_.user;
  TRY_OK(request_object(to.sandbox,
                        post_request("/v1/sandboxes/" + percent_encode(to.sandbox) + "/files/mkdir",
                                     json::serialize(body))));
  std::error_code error;
  for (fs::directory_iterator at(from, error), end; !error && at != end; at.increment(error)) {
    const fs::file_status status = at->symlink_status(error);
    const std::string path = at->path().string();
    if (fs::is_regular_file(status) || fs::is_directory(status)) {
      TRY_OK(copy_in(path, to, true));
    } else {
      skip(path, fs::is_symlink(status) ? "a symbolic link" : "not a regular file");
    }
  }
  if (error) return fail(Errc::kNotFound, from + ": " + error.message());
  return {};
}

Result<> Copier::get(const CopyEndpoint& from, int fd, std::optional<std::uint64_t> size) {
  progress_.begin(from.path, size);
  Result<> written;
  TRY(const http::ClientResponse response,
      api_.stream(get_request(target_of(from, "")), [&](std::string_view piece) {
        written = write_all(fd, piece);
        progress_.add(piece.size());
        return written.has_value();
      }));
  if (auto error = api_.error_in(response)) return fail(error_of(from.sandbox, std::move(*error)));
  TRY_OK(std::move(written));
  ++files_;
  return {};
}

Result<> Copier::copy_out(const CopyEndpoint& from, const std::string& to) {
  if (to == "-") return get(from, STDOUT_FILENO, std::nullopt);
  TRY(const json::object entry,
      request_object(from.sandbox, get_request(target_of(from, "/stat"))));
  std::string destination = to;
  HostTree::FinalLink final_link = HostTree::FinalLink::kFollow;
  struct stat info {};
  if (::stat(to.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
    destination = join_path(to, base_name(from.path));
    final_link = HostTree::FinalLink::kRefuse;
    if (base_name(from.path) == ".") {
      destination = to;
      final_link = HostTree::FinalLink::kFollow;
    }
  }
  if (field_text(entry, "type") == "directory") return get_tree(from, destination, final_link);
  const fs::path path(destination);
  const std::string directory = path.parent_path().empty() ? "." : path.parent_path().string();
  TRY(const HostTree tree, HostTree::open(directory, HostTree::FinalLink::kFollow));
  TRY(HostTree::File file, tree.create(path.filename().string()));
  TRY_OK(get(from, file.fd(), std::nullopt));
  return file.keep(
      static_cast<unsigned>(std::strtoul(field_text(entry, "mode").c_str(), nullptr, 8)));
}

std::string entry_path(const json::object& entry) {
  const std::string encoded = field_text(entry, "path_base64");
  if (encoded == "-") return field_text(entry, "path");
  auto decoded = base64_decode(encoded);
  return decoded ? *decoded : "";
}

Result<> Copier::get_tree(const CopyEndpoint& from, const std::string& to,
                          HostTree::FinalLink final_link) {
  TRY(const json::object listing,
      request_object(from.sandbox,
                     get_request(target_of(from, "/list") + "&depth=0&limit=1000000")));
  TRY(const json::array entries, array_field(listing, "entries"));
  if (field_text(listing, "truncated") == "true") {
    return fail(Errc::kResourceExhausted, "too many files in " + from.path);
  }
  TRY(const HostTree tree, HostTree::open(to, final_link));
  for (const json::value& value : entries) {
    if (!value.is_object()) continue;
    const json::object& entry = value.get_object();
    // The server lists paths that begin with the requested directory.
    const std::string there = entry_path(entry);
    const std::string above = from.path.ends_with('/') ? from.path : from.path + "/";
    if (!there.starts_with(above)) {
      return fail(Errc::kProtocol, "the server listed a file outside " + from.path + ": " + there);
    }
    const std::string relative = there.substr(above.size());
    const std::string type = field_text(entry, "type");
    const auto mode =
        static_cast<unsigned>(std::strtoul(field_text(entry, "mode").c_str(), nullptr, 8));
    if (type == "directory") {
      TRY_OK(tree.make_directory(relative, mode));
    } else if (type == "symlink") {
      TRY_OK(tree.make_link(relative, field_text(entry, "target")));
    } else if (type == "file") {
      TRY(HostTree::File file, tree.create(relative));
      TRY_OK(get({from.sandbox, there}, file.fd(), std::nullopt));
      TRY_OK(file.keep(mode));
    } else {
      skip(relative, "not a regular file");
    }
  }
  return {};
}

Result<> copy_all(Copier& copier, std::span<const std::string> operands) {
  CopyEndpoint to = parse_copy_endpoint(operands.back());
  const auto sources = operands.first(operands.size() - 1);
  if (to.sandbox.empty()) {
    CopyEndpoint from = parse_copy_endpoint(sources.front());
    if (sources.size() != 1 || from.sandbox.empty()) {
      return fail(Errc::kInvalidArgument,
                  "either the source or the destination must be ID:PATH in a sandbox");
    }
    TRY(from.sandbox, copier.resolve(from.sandbox));
    return copier.copy_out(from, to.path);
  }
  for (const std::string& source : sources) {
    if (!parse_copy_endpoint(source).sandbox.empty()) {
      return fail(Errc::kInvalidArgument,
                  "cannot copy from sandbox to sandbox; copy to a local file first");
    }
  }
  TRY(to.sandbox, copier.resolve(to.sandbox));
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
  CopyOptions copy;
  options::Arguments arguments;
  if (const auto status = parse_arguments(copy_command_line(copy), args, arguments)) return *status;
  if (arguments.operands.size() < 2) {
    return usage_error("missing source or destination (see `glovebox cp --help`)");
  }
  auto api = ApiClient::connect(copy.server);
  if (!api) return usage_error_or_failure(api.error());
  Copier copier(std::move(*api), copy);
  const auto copied = copy_all(copier, arguments.operands);
  copier.end_progress();
  if (!copied) {
    const Error& error = copied.error();
    if (error.code() == Errc::kInvalidArgument) return usage_error(error.message());
    if (error.code() == Errc::kUnavailable) return failure(error);
    return server_refused(error.message());
  }
  if (copy.json) {
    const json::object counts{
        {"files", copier.files()}, {"bytes", copier.bytes()}, {"skipped", copier.skipped()}};
    print(json::serialize(counts) + "\n");
  }
  return 0;
}

}  // namespace glovebox::client
