#include "dialects/workspace/upload_routes.h"

#include <boost/json.hpp>
#include <memory>
#include <string>
#include <utility>

#include "dialects/workspace/requests.h"
#include "http/multipart.h"
#include "routing/file_query.h"
#include "sessions/files/file_json.h"

namespace glovebox::workspace {

using http::Request;
using http::Response;
using http::ResponseWriter;

namespace {

namespace json = boost::json;
using PartEvent = http::MultipartReader::Event;

constexpr std::size_t kBuffer = std::size_t{1} << 20;
constexpr std::size_t kMaxFiles = 256;

tl::unexpected<Error> bad_upload(std::string why) {
  return fail(Errc::kInvalidArgument, std::move(why));
}

// One form on its way into a sandbox.
class Upload {
 public:
  Upload(std::shared_ptr<node::Session> session, http::BodyStream& body,
         const std::string& boundary)
      : session_(std::move(session)), body_(body), reader_(boundary) {}

  Task<json::array> take() {
    while (true) {
      const PartEvent event = reader_.next();
      if (event == PartEvent::kEnd) break;
      if (event == PartEvent::kBad) co_return bad_upload("the body: malformed multipart/form-data");
      if (event == PartEvent::kMore) {
        CO_TRY(const std::size_t got, co_await body_.read_some(buffer_.data(), buffer_.size()));
        if (got == 0) co_return bad_upload("the body: ended before the last boundary");
        reader_.add({buffer_.data(), got});
      } else if (event == PartEvent::kPart) {
        CO_TRY_OK(co_await begin_part());
      } else if (event == PartEvent::kData) {
        CO_TRY_OK(co_await take_data());
      }
    }
    CO_TRY_OK(co_await finish_file());
    if (files_.empty()) co_return bad_upload("file: is missing; send a part with a filename");
    while (true) {  // what follows the last boundary is ignored
      CO_TRY(const std::size_t got, co_await body_.read_some(buffer_.data(), buffer_.size()));
      if (got == 0) break;
    }
    co_return std::move(files_);
  }

 private:
  Task<> begin_part() {
    const http::MultipartReader::Part part = reader_.part();
    in_path_ = false;
    in_file_ = false;
    if (part.filename) {
      CO_TRY_OK(co_await finish_file());
      CO_TRY_OK(co_await begin_file(*part.filename));
      in_file_ = true;
    } else if (part.name == "path") {
      // Without a commit, an unfinished file stays as it was.
      if (transfer_ || !files_.empty()) co_return bad_upload("path: must come before the file");
      in_path_ = true;
    }
    co_return Result<>();
  }

  Task<> take_data() {
    if (in_path_) {
      path_.append(reader_.data());
      if (path_.size() > wire::kMaxSessionPath)
        co_return bad_upload("path: is longer than 4096 bytes");
    } else if (in_file_) {
      const bool was_taken = co_await transfer_->write(reader_.data());
      if (!was_taken) {
        CO_TRY_OK(co_await transfer_->done());
        co_return fail(Errc::kUnavailable, "the sandbox did not accept the whole file");
      }
    }
    co_return Result<>();
  }

  Task<> begin_file(std::string name) {
    if (files_.size() == kMaxFiles) co_return bad_upload("file: too many files in one form");
    // A path that ends with a slash is a directory; otherwise it is the new name of the file.
    if (path_.ends_with('/')) {
      name = path_ + name;
    } else if (!path_.empty()) {
      if (!files_.empty())
        co_return bad_upload("path: names one file; end it with a slash for several");
      name = path_;
    }
    if (name.ends_with('/')) co_return bad_upload("filename: names a directory");
    CO_TRY(target_, path_of(name));
    wire::FileRequest request;
    request.op = wire::FileOp::kWrite;
    request.path = target_;
    CO_TRY(transfer_, co_await session_->transfer(std::move(request)));
    co_return Result<>();
  }

  Task<> finish_file() {
    if (!transfer_) co_return Result<>();
    transfer_->commit();
    CO_TRY(const wire::FileDone done, co_await transfer_->done());
    transfer_.reset();
    CO_TRY(const wire::FileEntry entry, sessions::entry_of(done.entry));
    const json::object known = sessions::entry_json(entry, target_);
    files_.push_back(
        {{"filename", known.at("name")}, {"path", known.at("path")}, {"size", known.at("size")}});
    co_return Result<>();
  }

  std::shared_ptr<node::Session> session_;
  http::BodyStream& body_;
  http::MultipartReader reader_;
  std::string buffer_ = std::string(kBuffer, '\0');
  std::string path_;
  std::string target_;
  bool in_path_ = false;
  bool in_file_ = false;
  std::unique_ptr<node::FileTransfer> transfer_;  // of the file that is being uploaded
  json::array files_;
};

}  // namespace

std::span<const routing::RouteRow<UploadRoutes>> UploadRoutes::rows() {
  static constexpr routing::RouteRow<UploadRoutes> kRows[] = {
      {http::Method::kPost, "/workspace/se/upload/{session_id}", routing::Access::kKey,
       &UploadRoutes::upload_file, "Upload a file to a session", 0, nullptr, true},
  };
  return kRows;
}

Task<Response> UploadRoutes::upload_file(Request& request, ResponseWriter&) {
  CO_TRY(const ClientSession session, clients_.parse(request));
  const auto boundary = http::multipart_boundary(request.header("Content-Type"));
  if (!boundary) co_return bad_upload("Content-Type: must be multipart/form-data with a boundary");
  CO_TRY(auto running, clients_.use(session));
  Upload upload(std::move(running), *request.body_stream, *boundary);
  auto files = co_await upload.take();
  if (!files) co_return routing::file_refusal(files.error());
  json::object body{{"session_id", session.id}, {"files", *files}};
  for (auto& pair : (*files)[0].as_object()) body.emplace(pair.key(), std::move(pair.value()));
  co_return Response::json(json::serialize(body) + "\n");
}

}  // namespace glovebox::workspace
