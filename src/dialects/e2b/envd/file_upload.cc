#include "dialects/e2b/envd/file_upload.h"

#include <strings.h>

#include <algorithm>
#include <boost/json.hpp>
#include <set>
#include <utility>

#include "base/utf8.h"
#include "dialects/e2b/envd/file_access.h"
#include "dialects/e2b/envd/file_entry.h"
#include "dialects/e2b/envd/file_paths.h"
#include "dialects/e2b/envd/filesystem_request.h"
#include "dialects/e2b/envd/gunzip.h"
#include "dialects/e2b/error_form.h"
#include "http/multipart.h"
#include "routing/file_upload.h"
#include "sessions/files/file_json.h"

namespace glovebox::e2b {

using http::Request;
using http::Response;

namespace {

namespace json = boost::json;
using wire::FileOp;
using wire::FileRequest;

constexpr std::size_t kFormBuffer = 256 * 1024;
constexpr std::size_t kMaxFormFiles = 1000;         // in one form
constexpr std::uint64_t kMaxIgnored = 1024 * 1024;  // bytes of a form outside its files
constexpr std::string_view kMetadataHeader = "X-Metadata-";
constexpr std::size_t kMaxMetadataKey = 246;
constexpr std::size_t kMaxMetadataBytes = 4096;  // of all keys and values together
static_assert(kMaxMetadataKey + kMetadataPrefix.size() <= wire::kMaxMetadataKey);
static_assert(kMaxMetadataBytes + kMetadataPrefix.size() * wire::kMaxMetadataPairs <=
              wire::kMaxMetadataBytes);

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

FileRequest write_request(const Upload& upload, std::string at) {
  FileRequest file = file_request(FileOp::kWrite, upload.user, std::move(at));
  file.metadata = upload.metadata;
  return file;
}

Result<json::object> written_json(const wire::FileDone& done, const std::string& at) {
  TRY(const wire::FileEntry entry, sessions::entry_of(done.entry));
  const std::string path = whole_path(entry.path, at);
  json::object object{
      {"name", to_utf8(sessions::last_name(path))}, {"type", "file"}, {"path", to_utf8(path)}};
  json::object metadata = metadata_json(entry.metadata);
  if (!metadata.empty()) object["metadata"] = std::move(metadata);
  return object;
}

Response written(const json::array& files) { return Response::json(json::serialize(files)); }

// One file: the body itself.
Task<Response> receive_file(Upload upload, std::string path, http::BodyStream& body) {
  auto at = request_path(path);
  if (!at) co_return refusal(400, at.error().message());
  FileRequest file = write_request(upload, *at);
  auto opened = co_await open_file(upload.session, std::move(file));
  if (!opened) co_return file_refusal(opened.error(), path);
  // Without a commit the file stays as it was.
  const std::unique_ptr<node::FileTransfer> transfer = std::move(*opened);
  const auto done = co_await routing::take_upload(*transfer, body);
  if (!done) co_return file_refusal(done.error(), path);
  CO_TRY(json::object object, written_json(*done, *at));
  json::array files;
  files.push_back(std::move(object));
  co_return written(files);
}

// The parts of a form, one after the other.
class FormUpload {
 public:
  FormUpload(Upload upload, std::optional<std::string> path, const std::string& boundary,
             http::BodyStream& body)
      : upload_(std::move(upload)), path_(std::move(path)), reader_(boundary), body_(body) {}

  Task<Response> receive() {
    using Event = http::MultipartReader::Event;
    std::string buffer(kFormBuffer, '\0');
    while (true) {
      std::optional<Response> refused;
      switch (reader_.next()) {
        case Event::kMore: {
          CO_TRY(const std::size_t got, co_await body_.read_some(buffer.data(), buffer.size()));
          if (got == 0) co_return refusal(400, "the form is incomplete");
          reader_.add({buffer.data(), got});
          break;
        }
        case Event::kPart:
          refused = co_await begin_part();
          break;
        case Event::kData:
          refused = co_await take_data();
          break;
        case Event::kPartEnd:
          refused = co_await end_part();
          break;
        case Event::kEnd:
          co_return co_await finish(buffer);
        case Event::kBad:
          co_return refusal(400, "malformed multipart/form-data body");
      }
      if (refused) co_return std::move(*refused);
    }
  }

 private:
  using Refused = asio::awaitable<std::optional<Response>>;

  Refused begin_part() {
    transfer_.reset();
    if (reader_.part().name != "file") co_return std::nullopt;
    if (files_.size() == kMaxFormFiles) co_return refusal(400, "the form has more than 1000 files");
    given_ = path_ ? *path_ : reader_.part().filename.value_or("");
    if (given_.empty()) co_return refusal(400, "a file of the form has no file name");
    auto at = request_path(given_);
    if (!at) co_return refusal(400, at.error().message());
    at_ = std::move(*at);
    auto duplicate = co_await is_duplicate();
    if (!duplicate) co_return file_refusal(duplicate.error(), given_);
    if (*duplicate) {
      co_return refusal(400, "you cannot upload multiple files to the same path '" +
                                 to_utf8(given_) + "' in one upload request");
    }
    FileRequest file = write_request(upload_, at_);
    auto opened = co_await open_file(upload_.session, std::move(file));
    if (!opened) co_return file_refusal(opened.error(), given_);
    transfer_ = std::move(*opened);
    co_return std::nullopt;
  }

  // By absolute paths; the home directory is looked up only when it matters.
  Task<bool> is_duplicate() {
    std::string whole = at_;
    if (!files_.empty() && home_.empty()) {
      CO_TRY(home_, co_await home_directory(upload_.session, upload_.user));
    }
    if (!home_.empty() && !whole.starts_with('/')) whole = sessions::path_below(home_, whole);
    co_return paths_.contains(clean_path(whole, Parents::kResolved));
  }

  Refused take_data() {
    const std::string_view data = reader_.data();
    if (!transfer_) {
      ignored_ += data.size();
      if (ignored_ > kMaxIgnored)
        co_return refusal(400, "the form has too much data besides its files");
      co_return std::nullopt;
    }
    const bool taken = co_await transfer_->write(data);
    if (taken) co_return std::nullopt;
    // The sandbox does not take more, and says why.
    const auto done = co_await transfer_->done();
    if (!done) co_return file_refusal(done.error(), given_);
    co_return refusal(503, "the sandbox did not accept the whole file");
  }

  Refused end_part() {
    if (!transfer_) co_return std::nullopt;
    transfer_->commit();
    const auto done = co_await transfer_->done();
    transfer_.reset();
    if (!done) co_return file_refusal(done.error(), given_);
    auto object = written_json(*done, at_);
    if (!object) co_return refusal(object.error());
    paths_.insert(clean_path(at_, Parents::kResolved));
    if (const auto entry = sessions::entry_of(done->entry)) {
      paths_.insert(clean_path(entry->path, Parents::kResolved));
    }
    files_.push_back(std::move(*object));
    co_return std::nullopt;
  }

  // Reads the rest of the body, which has no meaning.
  Task<Response> finish(std::string& buffer) {
    std::uint64_t trailing = 0;
    while (true) {
      CO_TRY(const std::size_t got, co_await body_.read_some(buffer.data(), buffer.size()));
      if (got == 0) break;
      trailing += got;
      if (trailing > kMaxIgnored) co_return refusal(400, "too much data after the form");
    }
    if (files_.empty()) co_return refusal(400, "the form has no file");
    co_return written(files_);
  }

  const Upload upload_;
  const std::optional<std::string> path_;  // of the query
  http::MultipartReader reader_;
  http::BodyStream& body_;
  std::unique_ptr<node::FileTransfer> transfer_;  // of the current part; null: it is ignored
  std::string given_;
  std::string at_;
  std::string home_;
  std::set<std::string> paths_;
  json::array files_;
  std::uint64_t ignored_ = 0;
};

Task<Response> receive_body(Upload upload, Request& request, http::BodyStream& body) {
  const std::string* path = request.query.find("path");
  const std::string_view type = request.header("Content-Type");
  if (const auto boundary = http::multipart_boundary(type)) {
    std::optional<std::string> whole;
    if (path != nullptr && !path->empty()) whole = *path;
    FormUpload form(std::move(upload), std::move(whole), *boundary, body);
    co_return co_await form.receive();
  }
  if (lower_case(type.substr(0, type.find(';'))) != "application/octet-stream") {
    co_return refusal(400,
                      "Content-Type must be multipart/form-data with a boundary, or "
                      "application/octet-stream");
  }
  if (path == nullptr || path->empty()) co_return refusal(400, "path is missing");
  std::string target = *path;
  co_return co_await receive_file(std::move(upload), std::move(target), body);
}

}  // namespace

std::optional<wire::Metadata> upload_metadata(const http::Headers& headers) {
  wire::Metadata metadata;
  for (const auto& [name, value] : headers) {
    if (name.size() < kMetadataHeader.size() ||
        ::strncasecmp(name.data(), kMetadataHeader.data(), kMetadataHeader.size()) != 0) {
      continue;
    }
    metadata.emplace_back(lower_case(std::string_view(name).substr(kMetadataHeader.size())), value);
  }
  std::sort(metadata.begin(), metadata.end());
  const auto same_key = [](const auto& a, const auto& b) { return a.first == b.first; };
  metadata.erase(std::unique(metadata.begin(), metadata.end(), same_key), metadata.end());
  std::size_t bytes = 0;
  for (auto& [key, value] : metadata) {
    if (key.empty() || key.size() > kMaxMetadataKey) return std::nullopt;
    bytes += key.size() + value.size();
    key.insert(0, kMetadataPrefix);
  }
  if (bytes > kMaxMetadataBytes || !wire::is_valid_metadata(metadata)) return std::nullopt;
  return metadata;
}

Task<Response> receive_upload(Upload upload, Request& request) {
  const std::string encoding = lower_case(request.header("Content-Encoding"));
  if (encoding.empty() || encoding == "identity") {
    co_return co_await receive_body(std::move(upload), request, *request.body_stream);
  }
  if (encoding != "gzip") {
    co_return refusal(400, "Content-Encoding: only gzip and identity are supported");
  }
  GunzipBody unpacked(*request.body_stream);
  co_return co_await receive_body(std::move(upload), request, unpacked);
}

}  // namespace glovebox::e2b
