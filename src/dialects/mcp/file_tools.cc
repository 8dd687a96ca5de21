#include "dialects/mcp/file_tools.h"

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "base/base64.h"
#include "base/percent_encoding.h"
#include "base/utf8.h"
#include "base/utf8_cut.h"
#include "dialects/mcp/content.h"
#include "dialects/mcp/images.h"
#include "sessions/files/directory_listing.h"
#include "sessions/files/file_json.h"
#include "wire/runs/run_answer.h"

namespace glovebox::mcp {
namespace {

namespace json = boost::json;
using wire::FileOp;
using wire::FileRequest;

constexpr std::size_t kMaxPath = 4096;
constexpr std::size_t kMaxContent = std::size_t{16} << 20;
constexpr std::uint64_t kMaxListed = 1000;
constexpr std::size_t kPiece = 64 * 1024;
// The rest of one character and a whole one: with at least so many bytes, every piece has a
// complete character in it and the offset advances.
constexpr std::size_t kMinPiece = 7;

Result<std::string> read_tool_path(wire::ObjectReader& fields, std::string_view otherwise) {
  TRY(auto path, fields.text("path", kMaxPath));
  if (!path && otherwise.empty()) return fields.bad("path", "is missing");
  if (!path) return std::string(otherwise);
  if (path->empty()) return fields.bad("path", "must not be empty");
  TRY_OK(wire::check_no_nul(*path, "path"));
  return std::move(*path);
}

// Closes a transfer under way when its call is cancelled.
struct CloseOnCancel {
  CloseOnCancel(std::shared_ptr<node::CancelFlag> flag, node::FileTransfer& transfer)
      : cancel(std::move(flag)) {
    cancel->on_cancel([&transfer] { transfer.close(); });
    if (cancel->cancelled()) transfer.close();
  }
  ~CloseOnCancel() { cancel->on_cancel({}); }
  CloseOnCancel(const CloseOnCancel&) = delete;
  CloseOnCancel& operator=(const CloseOnCancel&) = delete;
  std::shared_ptr<node::CancelFlag> cancel;
};

struct ReadArguments {
  FileRequest file;
  std::size_t limit = 0;
  bool is_whole = false;  // no part was asked for: an image may have kMaxImageBytes
};

Result<ReadArguments> read_arguments(const Settings& settings, const json::value& arguments) {
  const std::uint64_t most = settings.max_output;
  ReadArguments wanted;
  TRY(wire::ObjectReader fields, wire::ObjectReader::open(arguments, ""));
  wanted.file.op = FileOp::kRead;
  TRY(wanted.file.path, read_tool_path(fields, {}));
  TRY(const auto offset, fields.whole("offset", 0, std::uint64_t{1} << 53));
  TRY(const auto limit, fields.whole("limit", 1, most));
  TRY_OK(fields.finish());
  wanted.file.from = offset.value_or(0);
  wanted.limit = static_cast<std::size_t>(limit.value_or(most));
  wanted.is_whole = wanted.file.from == 0 && !limit;
  wanted.file.most = wanted.is_whole ? kMaxImageBytes + 1 : std::max(wanted.limit, kMinPiece);
  return wanted;
}

// Up to `most` bytes more; fewer only at the end.
Task<> read_more(node::FileTransfer& transfer, std::string& into, std::size_t most) {
  const std::size_t end = into.size() + most;
  while (into.size() < end) {
    const std::size_t before = into.size();
    into.resize(std::min(end, before + kPiece));
    const std::size_t got = co_await transfer.read_some(into.data() + before, into.size() - before);
    into.resize(before + got);
    if (got != 0) continue;
    CO_TRY_OK(co_await transfer.done());
    break;
  }
  co_return Result<>();
}

// For bytes that are neither text nor an image.
json::object blob_block(const std::string& path, const std::string& bytes) {
  std::string encoded;
  for (std::size_t at = 0; at <= path.size();) {  // slashes stay
    const std::size_t slash = std::min(path.find('/', at), path.size());
    encoded += percent_encode(std::string_view(path).substr(at, slash - at));
    if (slash < path.size()) encoded += '/';
    at = slash + 1;
  }
  const std::string root = path.starts_with('/') ? "file://" : "file:///home/user/";
  return {{"type", "resource"},
          {"resource",
           {{"uri", root + encoded},
            {"mimeType", "application/octet-stream"},
            {"blob", base64_encode(bytes)}}}};
}

// Without the characters that an offset and a limit have cut in two.
std::string_view whole_characters(std::string_view bytes, bool has_before, bool has_after) {
  if (has_before) bytes = skip_partial_character(bytes);
  if (!has_after) return bytes;
  wire::Utf8Chunker pieces;
  return bytes.substr(0, pieces.add(bytes).size());
}

// As many bytes as were asked for, and more only where that is less than one character.
std::string_view piece_of(std::string_view bytes, std::size_t limit, bool has_before) {
  std::size_t size = std::min(limit, bytes.size());
  while (size < bytes.size() && whole_characters(bytes.substr(0, size), has_before, true).empty()) {
    ++size;
  }
  return bytes.substr(0, size);
}

void add_bytes(ToolResult& result, const ReadArguments& wanted, const std::string& all,
               std::uint64_t file_size) {
  const std::uint64_t from = wanted.file.from;
  if (all.empty() && from > 0) {
    std::string nothing = "There is nothing from offset " + std::to_string(from) + " on";
    // Files of /proc and the like report no size.
    if (file_size > 0) nothing += ": the file has " + std::to_string(file_size) + " bytes";
    result.content.push_back(text_block(nothing + "."));
    return;
  }
  // A file that grows, or one of /proc, can be longer than its reported size.
  const std::uint64_t size = std::max(file_size, from + all.size());
  const std::string_view bytes = piece_of(all, wanted.limit, from > 0);
  const bool has_after = from + bytes.size() < size;
  const std::string_view text = whole_characters(bytes, from > 0, has_after);
  const bool is_text = is_utf8(text) && text.find('\0') == std::string_view::npos;
  std::uint64_t next = from + bytes.size();
  if (is_text) {
    next = from + static_cast<std::uint64_t>(text.data() + text.size() - bytes.data());
    result.content.push_back(text_block(std::string(text)));
  } else {
    result.content.push_back(blob_block(wanted.file.path, std::string(bytes)));
  }
  if (from == 0 && !has_after) return;
  std::string part = "These are bytes " + std::to_string(from) + " to " + std::to_string(next) +
                     " of " + std::to_string(size) + ".";
  if (next < size) part += " For more, call again with offset " + std::to_string(next) + ".";
  result.content.push_back(text_block(std::move(part)));
}

struct WriteArguments {
  FileRequest file;
  std::string bytes;
};

Result<WriteArguments> write_arguments(const json::value& arguments) {
  WriteArguments wanted;
  TRY(wire::ObjectReader fields, wire::ObjectReader::open(arguments, ""));
  wanted.file.op = FileOp::kWrite;
  TRY(wanted.file.path, read_tool_path(fields, {}));
  TRY(auto content, fields.text("content", kMaxContent));
  if (!content) return fields.bad("content", "is missing");
  TRY(const auto encoding, fields.text("encoding", 32));
  TRY_OK(fields.finish());
  if (encoding && *encoding == "base64") {
    auto bytes = base64_decode(*content);
    if (!bytes) return fields.bad("content", "is not base64");
    wanted.bytes = std::move(*bytes);
  } else if (!encoding || *encoding == "utf-8") {
    wanted.bytes = std::move(*content);
  } else {
    return fields.bad("encoding", "must be utf-8 or base64");
  }
  return wanted;
}

std::string_view type_name(wire::FileType type) {
  switch (type) {
    case wire::FileType::kFile:
      return "file";
    case wire::FileType::kDirectory:
      return "directory";
    case wire::FileType::kSymlink:
      return "symlink";
    default:
      return "other";
  }
}

json::object entry_object(const wire::FileEntry& entry) {
  json::object object{{"path", to_utf8(entry.path)},
                      {"type", type_name(entry.type)},
                      {"size", std::min(entry.size, std::uint64_t{1} << 53)}};
  if (entry.type == wire::FileType::kSymlink) object["target"] = to_utf8(entry.target);
  return object;
}

// One line to an entry, for people.
std::string listing_text(const json::array& entries, bool is_truncated) {
  std::string text;
  for (const json::value& one : entries) {
    const json::object& entry = one.as_object();
    const std::string_view type = entry.at("type").as_string();
    text += printable(std::string_view(entry.at("path").as_string()));
    if (type == "directory") text += "/";
    if (type == "symlink") {
      text += " -> " + printable(std::string_view(entry.at("target").as_string()));
    }
    if (type == "file") text += "  " + json::serialize(entry.at("size"));
    if (type == "other") text += "  (neither a file nor a directory)";
    text += '\n';
  }
  if (is_truncated) text += "[more entries exist; list a subdirectory, or use run_command]\n";
  return text.empty() ? "(the directory is empty)" : text;
}

struct ListedEntries {
  json::array entries;
  bool is_truncated = false;
};

Task<ListedEntries> read_entries(node::FileTransfer& transfer, std::size_t max_text) {
  ListedEntries listed;
  std::size_t text = 0;
  sessions::DirectoryListing listing(transfer);
  while (true) {
    CO_TRY(const std::optional<wire::FileEntry> entry, co_await listing.next());
    if (!entry) break;
    text += entry->path.size() + entry->target.size();
    if (listed.entries.size() < kMaxListed && text <= max_text) {
      listed.entries.push_back(entry_object(*entry));
    } else {
      listed.is_truncated = true;
    }
  }
  listed.is_truncated = listed.is_truncated || listing.is_truncated();
  co_return listed;
}

}  // namespace

Task<std::shared_ptr<node::Session>> FileTools::enter(ToolCall& call) {
  return sandboxes_.enter(call.request, call.caller, call.conversation, call.cancel);
}

Task<ToolResult> FileTools::read_file(ToolCall& call) {
  CO_TRY(const ReadArguments wanted, read_arguments(settings_, call.arguments));
  CO_TRY(const auto session, co_await enter(call));
  auto opened = co_await session->transfer(wanted.file);
  if (!opened) co_return fail(std::move(opened.error()));
  const std::unique_ptr<node::FileTransfer> transfer = std::move(*opened);
  CO_TRY(const wire::FileEntry entry, sessions::entry_of(transfer->entry()));
  const CloseOnCancel closer(call.cancel, *transfer);
  std::string bytes;
  auto read = co_await read_more(*transfer, bytes, std::max(wanted.limit, kMinPiece));
  if (!read) co_return fail(std::move(read.error()));
  ToolResult result;
  const std::string_view type = wanted.is_whole ? image_type(bytes) : std::string_view();
  if (!type.empty() && entry.size <= kMaxImageBytes) {
    const std::shared_ptr<void> claim = memory_budget_.claim(call.caller.project, 3 * entry.size);
    if (!claim)
      co_return fail(Errc::kResourceExhausted,
                     "the server has no memory left for images; try again later");
    read = co_await read_more(*transfer, bytes, kMaxImageBytes + 1 - bytes.size());
    if (!read) co_return fail(std::move(read.error()));
    if (bytes.size() <= kMaxImageBytes && is_image(bytes, type)) {
      result.content.push_back(image_block(base64_encode(bytes), type));
      co_return result;
    }
  }
  add_bytes(result, wanted, bytes, entry.size);
  co_return result;
}

Task<ToolResult> FileTools::write_file(ToolCall& call) {
  CO_TRY(WriteArguments wanted, write_arguments(call.arguments));
  call.arguments = nullptr;  // it can be large
  CO_TRY(const auto session, co_await enter(call));
  const std::string path = wanted.file.path;
  auto opened = co_await session->transfer(std::move(wanted.file));
  if (!opened) co_return fail(std::move(opened.error()));
  // Without a commit the file stays as it was.
  const std::unique_ptr<node::FileTransfer> transfer = std::move(*opened);
  const CloseOnCancel closer(call.cancel, *transfer);
  bool was_taken = true;
  if (!wanted.bytes.empty()) was_taken = co_await transfer->write(wanted.bytes);
  if (was_taken) transfer->commit();
  auto done = co_await transfer->done();
  if (!done) co_return fail(std::move(done.error()));
  if (!was_taken) co_return fail(Errc::kUnavailable, "the sandbox did not accept the whole file");
  ToolResult result;
  const std::string shown = to_utf8(path);
  result.content.push_back(
      text_block("Wrote " + std::to_string(wanted.bytes.size()) + " bytes to " + shown + "."));
  result.structured = json::object{{"path", shown}, {"bytes", wanted.bytes.size()}};
  co_return result;
}

Task<ToolResult> FileTools::list_files(ToolCall& call) {
  CO_TRY(wire::ObjectReader fields, wire::ObjectReader::open(call.arguments, ""));
  FileRequest wanted;
  wanted.op = FileOp::kList;
  CO_TRY(wanted.path, read_tool_path(fields, "/home/user"));
  CO_TRY(const auto depth, fields.whole("depth", 1, 16));
  CO_TRY_OK(fields.finish());
  wanted.depth = static_cast<std::uint32_t>(depth.value_or(1));
  wanted.most = kMaxListed;
  CO_TRY(const auto session, co_await enter(call));
  auto opened = co_await session->transfer(std::move(wanted));
  if (!opened) co_return fail(std::move(opened.error()));
  const std::unique_ptr<node::FileTransfer> transfer = std::move(*opened);
  const CloseOnCancel closer(call.cancel, *transfer);
  auto listed = co_await read_entries(*transfer, settings_.max_output);
  if (!listed) co_return fail(std::move(listed.error()));
  ToolResult result;
  result.content.push_back(text_block(listing_text(listed->entries, listed->is_truncated)));
  result.structured =
      json::object{{"entries", std::move(listed->entries)}, {"truncated", listed->is_truncated}};
  co_return result;
}

}  // namespace glovebox::mcp
