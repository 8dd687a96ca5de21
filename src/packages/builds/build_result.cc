#include "packages/builds/build_result.h"

#include <algorithm>
#include <boost/json/value.hpp>
#include <tuple>

#include "base/hex.h"
#include "packages/builds/build_output.h"
#include "wire/json/object_reader.h"
#include "wire/json/strict_json.h"

namespace glovebox::packages {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxInterpreter = 40;
constexpr std::size_t kMaxHash = 200;
constexpr std::size_t kSha256Digits = 64;

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_among(std::string_view text, std::string_view more) {
  return std::all_of(text.begin(), text.end(), [more](char c) {
    return is_letter_or_digit(c) || more.find(c) != std::string_view::npos;
  });
}

// 64 hexadecimal digits, or npm's "sha512-" and base64.
bool is_hash(std::string_view text) {
  if (text.size() == kSha256Digits && is_lower_hex(text)) return true;
  for (const std::string_view kind : {"sha512-", "sha384-", "sha256-", "sha1-"}) {
    if (!text.starts_with(kind)) continue;
    const std::string_view value = text.substr(kind.size());
    return !value.empty() && value.size() <= kMaxHash && is_among(value, "+/=");
  }
  return false;
}

Result<std::string> required_text(wire::ObjectReader& from, std::string_view name,
                                  std::size_t most) {
  TRY(std::optional<std::string> text, from.text(name, most));
  if (!text || text->empty()) return from.bad(name, "is missing");
  if (printable_line(*text, most, {}) != *text)
    return from.bad(name, "has an unprintable character");
  return std::move(*text);
}

Result<Artefact> artefact(const json::value& value, std::string path) {
  TRY(wire::ObjectReader from, wire::ObjectReader::open(value, std::move(path)));
  Artefact one;
  TRY(one.name, required_text(from, "name", kMaxArtefactWord));
  TRY(one.version, required_text(from, "version", kMaxArtefactWord));
  TRY(one.file, required_text(from, "file", kMaxArtefactWord));
  TRY(one.sha256, required_text(from, "sha256", kMaxHash));
  if (!is_hash(one.sha256)) return from.bad("sha256", "is not a valid hash");
  return one;
}

Result<std::vector<Artefact>> artefacts(const json::value& value) {
  if (!value.is_array()) return fail(Errc::kInvalidArgument, "artefacts: must be a list");
  const json::array& list = value.get_array();
  if (list.size() > kMaxArtefacts) {
    return fail(Errc::kInvalidArgument,
                "a set may resolve to at most " + std::to_string(kMaxArtefacts) +
                    " packages; this one has " + std::to_string(list.size()));
  }
  std::vector<Artefact> all;
  all.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    TRY(Artefact one, artefact(list[i], "artefacts[" + std::to_string(i) + "]"));
    all.push_back(std::move(one));
  }
  std::sort(all.begin(), all.end(), [](const Artefact& a, const Artefact& b) {
    return std::tie(a.name, a.version, a.file, a.sha256) <
           std::tie(b.name, b.version, b.file, b.sha256);
  });
  return all;
}

Result<BuildResult> parse(std::string_view text) {
  if (text.size() > kMaxResultBytes) return fail(Errc::kInvalidArgument, "it is too large");
  // An artefact is five values: the object and its fields.
  const wire::JsonBounds bounds{.depth = 6, .values = 6 * kMaxArtefacts + 100};
  TRY(const json::value value, wire::parse_strict_json(text, bounds));
  TRY(wire::ObjectReader from, wire::ObjectReader::open(value, ""));
  BuildResult result;
  TRY(const std::string state, required_text(from, "state", kMaxInterpreter));
  TRY(std::optional<std::string> error, from.text("error", kMaxResultBytes));
  if (error) result.error = error->substr(0, kMaxInstallerWords);
  if (state == "failed") return result;
  if (state == "source") {
    result.state = BuildResult::State::kSource;
    const json::value* source = from.take("source");
    if (source == nullptr) return from.bad("source", "is missing");
    TRY(result.source, artefact(*source, "source"));
    return result;
  }
  if (state != "ready") return from.bad("state", "is unknown");
  result.state = BuildResult::State::kReady;
  if (const json::value* list = from.take("artefacts")) {
    TRY(result.artefacts, artefacts(*list));
  }
  TRY(std::optional<std::string> interpreter, from.text("interpreter", kMaxInterpreter));
  result.interpreter = interpreter.value_or("");
  if (!is_among(result.interpreter, ".-_"))
    return from.bad("interpreter", "is not a valid interpreter name");
  TRY(std::optional<std::string> file, from.text("file", kMaxArtefactWord));
  result.file = file.value_or("");
  return result;
}

// As in PEP 503: case and runs of "-", "_" and "." make no difference.
std::string normalised(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c == '-' || c == '_' || c == '.') {
      if (text.empty() || text.back() != '-') text += '-';
    } else {
      text += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  return text;
}

}  // namespace

Result<BuildResult> parse_build_result(std::string_view json) {
  auto result = parse(json);
  if (!result) return fail(std::move(result.error()).context("result of a build step"));
  return result;
}

bool is_wheel_of(std::string_view file, std::string_view name) {
  if (file.size() > kMaxArtefactWord || !file.ends_with(".whl") || file.starts_with('.')) {
    return false;
  }
  if (!is_among(file, "._+!-")) return false;
  // name-version(-build)-python-abi-platform.whl
  const auto dashes = std::count(file.begin(), file.end(), '-');
  if (dashes != 4 && dashes != 5) return false;
  const std::string_view distribution = file.substr(0, file.find('-'));
  return !distribution.empty() && normalised(distribution) == normalised(name);
}

}  // namespace glovebox::packages
