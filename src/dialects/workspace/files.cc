// The files of /workspace/se: below /home/user, by names that the client gives. A download is GET
// /v1/sandboxes/{id}/files; the helper inside opens what there is, as everywhere.
#include <boost/json.hpp>
#include <utility>

#include "dialects/workspace/client_session.h"
#include "dialects/workspace/handlers.h"
#include "dialects/workspace/requests.h"
#include "sessions/files/file_json.h"
#include "api/handlers.h"

namespace glovebox::workspace {
namespace {

namespace json = boost::json;
using wire::FileOp;
using wire::FileRequest;

constexpr std::uint64_t kMaxListed = 10'000;
constexpr std::uint32_t kMaxDepth = 32;
constexpr std::size_t kRecords = 64 * 1024;

// The query of a /v1 route about this path.
http::Params query_for(const Request& request, std::string path) {
  http::Params query;
  query.add("path", std::move(path));
  if (const std::string* project = request.query.find("project")) query.add("project", *project);
  return query;
}

json::object file_json(const wire::FileEntry& entry) {
  json::object words = sessions::entry_json(entry, entry.path);
  json::object file{{"name", words["name"]}, {"filename", words["path"]}};
  if (words.contains("path_base64")) file["filename_base64"] = words["path_base64"];
  file["type"] = words["type"];
  file["size"] = words["size"];
  file["modified"] = words["modified_at"];
  return file;
}

Task<json::object> list(std::shared_ptr<node::Session> session, FileRequest wanted) {
  const std::uint64_t most = wanted.most;
  CO_TRY(const std::unique_ptr<node::FileTransfer> transfer,
         co_await session->transfer(std::move(wanted)));
  json::array files;
  std::uint64_t count = 0;
  wire::RecordReader reader;
  std::string buffer(kRecords, '\0');
  while (true) {
    const std::size_t got = co_await transfer->read_some(buffer.data(), buffer.size());
    if (got == 0) break;
    reader.add({buffer.data(), got});
    while (true) {
      CO_TRY(const std::optional<std::string> record, reader.next());
      if (!record) break;
      CO_TRY(const wire::FileEntry entry, wire::decode_file_entry(*record));
      if (++count <= most) files.push_back(file_json(entry));
    }
  }
  CO_TRY(const wire::FileDone done, co_await transfer->done());
  if (!reader.empty()) co_return fail(Errc::kProtocol, "the sandbox's list is not whole");
  json::object body{{"files", std::move(files)}};
  body["truncated"] = done.message == "truncated" || count > most;
  co_return body;
}

}  // namespace

Task<Response> download_file(routing::App& app, Request& request, ResponseWriter& writer) {
  CO_TRY(const ClientSession session, client_session(app, request));
  CO_TRY(std::string path, path_of(request.param("filename")));
  CO_TRY(const store::SessionRecord record, find_record(app, session));
  send_on(request, record);
  request.query = query_for(request, std::move(path));
  co_return co_await api::read_file(app, request, writer);
}

Task<Response> list_files(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const ClientSession session, client_session(app, request));
  routing::FileQuery query(request.query);
  CO_TRY(const bool recursive, query.truth("recursive", false));
  const std::string* below = query.text("path");
  CO_TRY_OK(query.finish());
  FileRequest wanted;
  wanted.op = FileOp::kList;
  wanted.path = "/home/user";
  if (below != nullptr && !below->empty()) {
    CO_TRY(wanted.path, path_of(*below));
  }
  wanted.depth = recursive ? kMaxDepth : 1;
  wanted.most = kMaxListed;
  CO_TRY(const store::SessionRecord record, find_record(app, session));
  CO_TRY(const auto there, app.sessions.use(session.caller.project, record.id.str()));
  auto listed = co_await list(there, std::move(wanted));
  if (!listed) co_return routing::file_refusal(listed.error());
  json::object body{{"session_id", session.id}};
  for (auto& pair : *listed) body.emplace(pair.key(), std::move(pair.value()));
  co_return Response::json(json::serialize(body) + "\n");
}

}  // namespace glovebox::workspace
