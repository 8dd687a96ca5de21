// The names of the little internet and what its DNS says of them, honest and not.
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "egress.h"

namespace glovebox::attacks {
namespace {

struct Entry {
  const char* name;
  std::vector<const char*> v4;
  std::vector<const char*> v6;
  const char* alias = nullptr;
};

const std::vector<Entry>& zone() {
  static const std::vector<Entry> entries = {
      {"good.example", {kGood4}, {kGood6}},
      {"below.good.example", {kOther4}, {}},
      {"neighbour.example", {kGood4}, {}},  // on the same address
      {"quiet.example", {kQuiet4}, {}},
      {"evil.example", {kEvil4}, {kEvil6}},
      {"evilgood.example", {kEvil4}, {}},
      {"good.example.evil.example", {kEvil4}, {}},
      {"alias.example", {}, {}, "evil.example"},
      {"loopback.example", {"127.0.0.1"}, {"::1", "::ffff:127.0.0.1"}},
      {"metadata.example", {kMetadata4}, {"::ffff:169.254.169.254", "fd00:ec2::254"}},
      {"private.example", {"10.0.0.1"}, {"fd00::1"}},
      {"alias-private.example", {}, {}, "private.example"},
      {"box.example", {kBox4}, {kBox6}},
      {"mixed.example", {kOther4, "10.0.0.1", "192.168.1.1"}, {}},
      {"translated.example", {}, {"64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1"}},
  };
  return entries;
}

const Entry* find(const std::string& name) {
  for (const Entry& entry : zone()) {
    // As long as it is: a NUL ends no name here.
    if (name.size() == strlen(entry.name) && strcasecmp(entry.name, name.c_str()) == 0) {
      return &entry;
    }
  }
  return nullptr;
}

struct Records {
  std::string bytes;
  unsigned count = 0;

  void add(const std::string& name, std::uint16_t type, const std::string& data) {
    bytes += dns_name(labels_of(name));
    const std::uint16_t head[] = {htons(type), htons(1), 0, htons(30),
                                  htons(static_cast<std::uint16_t>(data.size()))};
    bytes.append(reinterpret_cast<const char*>(head), sizeof head);
    bytes += data;
    ++count;
  }
  void add_address(const std::string& name, const char* address) {
    unsigned char packed[16];
    if (inet_pton(AF_INET, address, packed) == 1) {
      add(name, kTypeA, std::string(reinterpret_cast<char*>(packed), 4));
    } else if (inet_pton(AF_INET6, address, packed) == 1) {
      add(name, kTypeAaaa, std::string(reinterpret_cast<char*>(packed), 16));
    }
  }
};

// Any label below tunnel.example comes back: what a guest says there has left the machine.
bool answer_tunnel(const std::string& name, std::uint16_t type, Records& records) {
  const std::string suffix = ".tunnel.example";
  if (name.size() <= suffix.size() || name.substr(name.size() - suffix.size()) != suffix) {
    return false;
  }
  const std::string said = name.substr(0, name.find('.'));
  if (type == kTypeA) {
    const auto value = htonl(static_cast<std::uint32_t>(strtoul(said.c_str(), nullptr, 16)));
    records.add(name, kTypeA, std::string(reinterpret_cast<const char*>(&value), 4));
  } else if (type == kTypeTxt) {
    records.add(name, kTypeTxt, static_cast<char>(said.size()) + said);
  }
  return true;
}

// Public for one question, an address inside for the next.
bool answer_rebinding(const std::string& name, std::uint16_t type, Records& records) {
  if (strcasecmp(name.c_str(), "rebinding.example") != 0) return false;
  static unsigned turn = 0;
  if (type == kTypeA) records.add_address(name, ++turn % 2 == 1 ? kOther4 : kMetadata4);
  return true;
}

void answer_entry(const Entry& entry, std::uint16_t type, Records& records) {
  if (entry.alias != nullptr) {
    records.add(entry.name, 5, dns_name(labels_of(entry.alias)));
    if (const Entry* next = find(entry.alias)) answer_entry(*next, type, records);
    return;
  }
  if (type == kTypeA) {
    for (const char* address : entry.v4) records.add_address(entry.name, address);
  } else if (type == kTypeAaaa) {
    for (const char* address : entry.v6) records.add_address(entry.name, address);
  } else if (type == kTypeTxt) {
    records.add(entry.name, type, std::string("\5hello", 6));
  } else if (type == kTypeHttps) {
    records.add(entry.name, type, std::string("\0\1\0", 3));
  }
}

}  // namespace

std::string dns_answer(const std::string& query) {
  if (query.size() < 17) return "";
  std::string name;
  std::size_t at = 12;
  while (at < query.size() && query[at] != 0) {
    const auto size = static_cast<unsigned char>(query[at]);
    name += (name.empty() ? "" : ".") + query.substr(at + 1, size);
    at += 1u + size;
  }
  if (at + 5 > query.size()) return "";
  const auto type = static_cast<std::uint16_t>(static_cast<unsigned char>(query[at + 1]) << 8 |
                                               static_cast<unsigned char>(query[at + 2]));
  Records records;
  const Entry* entry = find(name);
  const bool known = entry != nullptr || answer_tunnel(name, type, records) ||
                     answer_rebinding(name, type, records);
  if (entry != nullptr) answer_entry(*entry, type, records);
  std::string answer = query.substr(0, 2) + (known ? "\x81\x80" : "\x81\x83");
  answer += std::string("\0\1\0", 3) + static_cast<char>(records.count);
  answer += std::string(4, '\0') + query.substr(12, at + 5 - 12) + records.bytes;
  return answer;
}

}  // namespace glovebox::attacks
