#include "wire/json/strict_json.h"

#include <boost/json.hpp>
#include <boost/json/basic_parser_impl.hpp>
#include <cmath>
#include <string>
#include <unordered_set>
#include <vector>

namespace glovebox::wire {
namespace {

namespace json = boost::json;
using boost::system::error_code;

// Builds the value as Boost's own parser does, and watches what that one does not mind.
class StrictHandler {
 public:
  // `values` limits their number.
  static constexpr std::size_t max_object_size = 1'000'000;
  static constexpr std::size_t max_array_size = 1'000'000;
  static constexpr std::size_t max_key_size = 4096;
  static constexpr std::size_t max_string_size = 0x7ffffff0;

  explicit StrictHandler(std::size_t max_values) : values_left_(max_values) {}

  json::value release() { return stack_.release(); }
  const std::string& complaint() const { return complaint_; }

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code& ec) {
    keys_.emplace_back();
    return count(ec);
  }
  bool on_object_end(std::size_t n, error_code&) {
    keys_.pop_back();
    stack_.push_object(n);
    return true;
  }
  bool on_array_begin(error_code& ec) { return count(ec); }
  bool on_array_end(std::size_t n, error_code&) {
    stack_.push_array(n);
    return true;
  }
  bool on_key_part(json::string_view part, std::size_t, error_code&) {
    key_ += part;
    stack_.push_chars(part);
    return true;
  }
  bool on_key(json::string_view part, std::size_t, error_code& ec) {
    key_ += part;
    stack_.push_key(part);
    const bool fresh = keys_.back().insert(key_).second;
    if (!fresh) return stop(ec, "the key \"" + key_.substr(0, 60) + "\" occurs twice");
    key_.clear();
    return true;
  }
  bool on_string_part(json::string_view part, std::size_t, error_code&) {
    stack_.push_chars(part);
    return true;
  }
  bool on_string(json::string_view part, std::size_t, error_code& ec) {
    stack_.push_string(part);
    return count(ec);
  }
  bool on_number_part(json::string_view, error_code&) { return true; }
  bool on_int64(std::int64_t number, json::string_view, error_code& ec) {
    stack_.push_int64(number);
    return count(ec);
  }
  bool on_uint64(std::uint64_t number, json::string_view, error_code& ec) {
    stack_.push_uint64(number);
    return count(ec);
  }
  bool on_double(double number, json::string_view, error_code& ec) {
    // Boost reads 1e400 as infinity and 0e310 as not a number, which passes every check of a range.
    if (!std::isfinite(number)) return stop(ec, "a number is out of range");
    stack_.push_double(number);
    return count(ec);
  }
  bool on_bool(bool truth, error_code& ec) {
    stack_.push_bool(truth);
    return count(ec);
  }
  bool on_null(error_code& ec) {
    stack_.push_null();
    return count(ec);
  }
  bool on_comment_part(json::string_view, error_code&) { return true; }
  bool on_comment(json::string_view, error_code&) { return true; }

  void begin() { stack_.reset(); }

 private:
  bool count(error_code& ec) {
    if (values_left_ == 0) return stop(ec, "it has too many values");
    --values_left_;
    return true;
  }
  bool stop(error_code& ec, std::string why) {
    complaint_ = std::move(why);
    ec = json::error::syntax;
    return false;
  }

  json::value_stack stack_;
  std::vector<std::unordered_set<std::string>> keys_;  // one per object that is open
  std::string key_;
  std::string complaint_;
  std::size_t values_left_;
};

}  // namespace

Result<json::value> parse_strict_json(std::string_view text, JsonBounds bounds) {
  json::parse_options options;
  options.max_depth = bounds.depth;
  json::basic_parser<StrictHandler> parser(options, bounds.values);
  parser.handler().begin();
  error_code ec;
  const std::size_t read = parser.write_some(false, text.data(), text.size(), ec);
  if (!ec && read < text.size()) ec = json::error::extra_data;
  if (ec) {
    const std::string& complaint = parser.handler().complaint();
    return fail(Errc::kInvalidArgument, "invalid JSON at byte " + std::to_string(read) + ": " +
                                            (complaint.empty() ? ec.message() : complaint));
  }
  return parser.handler().release();
}

}  // namespace glovebox::wire
