#include "dialects/mcp/content.h"

#include <utility>

#include "base/base64.h"
#include "dialects/mcp/images.h"
#include "dialects/mcp/tool_call.h"
#include "sessions/contexts/cell_json.h"
#include "wire/guest/guest_result.h"

namespace glovebox::mcp {
namespace {

namespace json = boost::json;

constexpr std::string_view kImageTypes[] = {"image/png", "image/jpeg", "image/gif", "image/webp"};
// Of text forms, most useful to a model first.
constexpr std::string_view kTextTypes[] = {"text/plain", "text/markdown", "text/html", "text/latex",
                                           "image/svg+xml"};

std::string_view text_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string())
                                                : std::string_view();
}

// A shown value has several forms; a model gets one of them.
struct Form {
  bool is_image = false;  // then its text form is left out
  std::string_view type{};
  std::string_view text{};
};

Form form_of(const json::object& forms) {
  for (const std::string_view type : kImageTypes) {
    const std::string_view base64 = text_of(forms, type);
    if (!base64.empty()) return {true, type, base64};
  }
  for (const std::string_view type : kTextTypes) {
    const std::string_view found = text_of(forms, type);
    if (!found.empty()) return {false, type, found};
  }
  return {};
}

std::uint64_t text_size(const json::array& shown) {
  std::uint64_t size = 0;
  for (const json::value& one : shown) {
    const Form form = form_of(one.as_object());
    if (!form.is_image) size += form.text.size();
  }
  return size;
}

// What all parts of a result share.
struct Room {
  TextRoom text;
  std::size_t images = 0;
};

// A part of a result. Parts are written in another order than they are read: the parts that must
// not be missing are written first.
class ContentWriter {
 public:
  explicit ContentWriter(Room& room) : room_(room) {}

  // `others`: how many bytes of text come after this one.
  void text(std::string_view label, std::string_view text, std::uint64_t others = 0) {
    if (is_full(text.size())) return;
    add(label, truncate_middle(text, room_.text.share(others)));
  }
  void text(std::string_view label, const TruncatedText& kept, std::uint64_t others) {
    if (kept.empty() || is_full(kept.total())) return;
    add(label, kept.text(room_.text.share(others)));
  }
  // The server's own and short: it does not count.
  void note(std::string text) { content_.push_back(text_block(std::move(text))); }

  // One value that was shown, by its MIME types.
  void result(const json::object& forms, std::string_view label, std::uint64_t others = 0) {
    const Form form = form_of(forms);
    if (form.is_image) {
      image(form.text, form.type);
    } else if (!form.text.empty()) {
      text(label, form.text, others);
    } else if (const json::value* value = forms.if_contains("application/json")) {
      text(label, json::serialize(*value), others);
    }
  }

  // Adds a note about what was left out.
  void move_to(json::array& content) {
    if (texts_left_out_ != 0) {
      note("[... " + std::to_string(texts_left_out_) + " more texts of " +
           std::to_string(bytes_left_out_) + " bytes are left out here ...]");
    }
    for (json::value& block : content_) content.push_back(std::move(block));
  }

 private:
  static constexpr std::size_t kBlock = 32;  // what a block takes besides its text

  bool is_full(std::uint64_t bytes) {
    if (!room_.text.is_full()) return false;
    ++texts_left_out_;
    bytes_left_out_ += bytes;
    return true;
  }

  void add(std::string_view label, const std::string& text) {
    std::string block = label.empty() ? std::string() : std::string(label) + ":\n";
    block += text;
    room_.text.take(block.size() + kBlock);
    content_.push_back(text_block(std::move(block)));
  }

  void image(std::string_view base64, std::string_view type) {
    if (room_.images == kMaxImages) {
      note("[more images were shown; a result has at most " + std::to_string(kMaxImages) + "]");
      ++room_.images;
      return;
    }
    if (room_.images > kMaxImages) return;
    // Some encoders break lines, which many MCP clients do not accept.
    std::string clean(base64);
    std::erase_if(clean, [](char c) { return c == '\n' || c == '\r'; });
    const auto bytes = base64_decode(clean);
    if (bytes && bytes->size() > kMaxImageBytes) {
      text("", "[an image of " + std::to_string(bytes->size()) +
                   " bytes was shown, which is too large; draw it smaller]");
    } else if (!bytes || !is_image(*bytes, type)) {
      text("", "[a malformed image of type " + std::string(type) + " was shown]");
    } else {
      ++room_.images;
      content_.push_back(image_block(std::move(clean), type));
    }
  }

  Room& room_;
  std::uint64_t texts_left_out_ = 0;
  std::uint64_t bytes_left_out_ = 0;
  json::array content_;
};

// As an interpreter would print it.
std::string error_text_of(const json::object& error) {
  std::string text;
  if (const json::value* lines = error.if_contains("traceback");
      lines != nullptr && lines->is_array()) {
    for (const json::value& line : lines->get_array()) {
      if (!line.is_string()) continue;
      text += line.get_string();
      if (!text.ends_with('\n')) text += '\n';
    }
  }
  const std::string last =
      std::string(text_of(error, "name")) + ": " + std::string(text_of(error, "message"));
  if (text.find(last) == std::string::npos) text += last;
  return text;
}

}  // namespace

json::object image_block(std::string base64, std::string_view type) {
  return {{"type", "image"}, {"data", std::move(base64)}, {"mimeType", type}};
}

asio::awaitable<bool> CallSink::on_output(bool is_stderr, std::string_view bytes) {
  (is_stderr ? err : out).add(bytes);
  stream_.show(bytes);
  co_return true;
}

asio::awaitable<bool> CallSink::on_result(std::string_view line) {
  const std::uint64_t room = memory_budget_.add(owner_, line.size());
  kept_ += room;
  co_return room == line.size();
}

bool has_failed(const sessions::CellReport& report) {
  return report.outcome.exit_code != 0 || report.outcome.timed_out || !report.died.empty();
}

json::array cell_content(const sessions::CellReport& report, const CallSink& sink,
                         std::size_t limit) {
  Room room{TextRoom(limit)};
  ContentWriter printed(room);
  ContentWriter shown(room);
  ContentWriter last(room);
  wire::SortedResults sorted = wire::sort_results(report.results);
  const json::value error = sessions::cell_error(report, std::move(sorted.exception));
  const json::object* failed = error.if_object();
  const std::string problem = failed != nullptr ? error_text_of(*failed) : std::string();
  const std::uint64_t besides = text_size(sorted.shown);
  const std::uint64_t others = sink.out.total() + sink.err.total() + besides;
  if (const json::object* main = sorted.main.if_object()) {
    last.result(*main, "result", others + problem.size());
  }
  if (!problem.empty()) {
    last.text("error", problem, others);
  } else if (report.outcome.exit_code != 0) {
    last.note("error:\nexit code " + std::to_string(report.outcome.exit_code));
  }
  printed.text("", sink.out, sink.err.total() + besides);
  printed.text("stderr", sink.err, besides);
  for (const json::value& one : sorted.shown) shown.result(one.as_object(), "");
  if (report.restarted) {
    last.note("Note: the interpreter was restarted: its variables are gone, files are not.");
  }
  if (report.outcome.truncated) {
    last.note("Note: the output was too long; part of it was dropped.");
  }
  json::array blocks;
  for (ContentWriter* part : {&printed, &shown, &last}) part->move_to(blocks);
  if (blocks.empty()) blocks.push_back(text_block("(no output)"));
  return blocks;
}

}  // namespace glovebox::mcp
