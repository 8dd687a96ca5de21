#include "store/session_record.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace glovebox::store {
namespace {

constexpr std::string_view kCursorPrefix = "s1";
constexpr std::size_t kSessionCursorLetters = 18;

// In front of each text, behind the NUL of the text before: a value never looks like a key.
constexpr char kKey = 1;
constexpr char kValue = 2;

// The next text of a packed list, without its NUL.
std::string_view next_text(std::string_view& packed) {
  const std::string_view text = packed.substr(0, packed.find('\0'));
  packed.remove_prefix(std::min(text.size() + 1, packed.size()));
  return text;
}

// What a row costs besides its longer texts: numbers, ids, indexes.
constexpr std::uint64_t kSessionRowBytes = 600;

}  // namespace

void reduce_to_ended(SessionRecord& session) {
  session.env = {};
  std::vector<std::pair<std::size_t, std::string>> by_size;
  for (const auto& [key, value] : session.metadata) {
    by_size.emplace_back(key.size() + value.size(), key);
  }
  std::sort(by_size.begin(), by_size.end());
  std::size_t kept = 0;
  for (const auto& [size, key] : by_size) {
    kept += size;
    if (kept > kMaxEndedMetadataBytes) session.metadata.erase(key);
  }
}

std::uint64_t stored_bytes(const SessionRecord& session) {
  return kSessionRowBytes + pack_metadata(session.metadata).size() +
         pack_texts(session.env).size() + pack_dependencies(session.dependencies).size() +
         session.net.size() + session.reason.size() + session.agent_id.size() +
         session.name.size() + session.template_name.size() + session.host_mask.size();
}

std::string encode_session_cursor(std::int64_t seq) {
  char text[32];
  std::snprintf(text, sizeof text, "s1%016llx", static_cast<unsigned long long>(seq));
  return text;
}

Result<std::int64_t> parse_session_cursor(std::string_view text) {
  std::int64_t seq = 0;
  const char* end = text.data() + text.size();
  const bool formed = text.size() == kSessionCursorLetters && text.substr(0, 2) == kCursorPrefix;
  if (formed) {
    const auto [stop, ec] = std::from_chars(text.data() + 2, end, seq, 16);
    // One cursor has one spelling.
    if (ec == std::errc{} && stop == end && seq > 0 && encode_session_cursor(seq) == text) {
      return seq;
    }
  }
  return fail(Errc::kInvalidArgument, "cursor: invalid for a list of sandboxes");
}

std::string pack_texts(const std::vector<std::string>& texts) {
  std::string packed;
  for (const std::string& text : texts) packed.append(text).push_back('\0');
  return packed;
}

std::vector<std::string> unpack_texts(std::string_view packed) {
  std::vector<std::string> texts;
  while (!packed.empty()) texts.emplace_back(next_text(packed));
  return texts;
}

std::string pack_dependencies(const Dependencies& dependencies) {
  if (dependencies.empty()) return {};
  std::vector<std::string> texts = {dependencies.requirements, dependencies.lock,
                                    std::to_string(dependencies.packages.size())};
  if (dependencies.host_packages) texts[2] += *dependencies.host_packages ? '+' : '-';
  for (const auto* list : {&dependencies.packages, &dependencies.preload}) {
    texts.insert(texts.end(), list->begin(), list->end());
  }
  return pack_texts(texts);
}

Dependencies unpack_dependencies(std::string_view packed) {
  Dependencies dependencies;
  std::vector<std::string> texts = unpack_texts(packed);
  if (texts.size() < 3) return dependencies;
  dependencies.requirements = std::move(texts[0]);
  dependencies.lock = std::move(texts[1]);
  // "3" packages; "3+" with host_packages, "3-" without.
  std::size_t count = 0;
  std::from_chars(texts[2].data(), texts[2].data() + texts[2].size(), count);
  if (texts[2].ends_with('+')) dependencies.host_packages = true;
  if (texts[2].ends_with('-')) dependencies.host_packages = false;
  for (std::size_t i = 3; i < texts.size(); ++i) {
    (i - 3 < count ? dependencies.packages : dependencies.preload).push_back(std::move(texts[i]));
  }
  return dependencies;
}

std::string pack_metadata(const Metadata& metadata) {
  std::string packed(1, '\0');
  for (const auto& [key, value] : metadata) packed += packed_pair(key, value).substr(1);
  return packed;
}

std::string packed_pair(std::string_view key, std::string_view value) {
  std::string packed(1, '\0');
  packed.append(1, kKey).append(key).append(1, '\0');
  packed.append(1, kValue).append(value).append(1, '\0');
  return packed;
}

Metadata unpack_metadata(std::string_view packed) {
  Metadata metadata;
  next_text(packed);  // the empty one in front
  while (!packed.empty()) {
    const std::string_view key = next_text(packed);
    const std::string_view value = next_text(packed);
    if (key.empty() || value.empty()) break;
    metadata.emplace(key.substr(1), value.substr(1));
  }
  return metadata;
}

}  // namespace glovebox::store
