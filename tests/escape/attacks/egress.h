// For the attacks on a sandbox's way out: the addresses and names of the little internet that they
// are tried against (egress_world.cc), and how a guest talks to it (egress_talk.cc).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attack.h"

namespace glovebox::attacks {

// The machine that the gateway runs on, and the other end of its wire.
inline constexpr const char* kBox4 = "51.15.0.2";
inline constexpr const char* kBox6 = "2a01:4f8:1::2";
inline constexpr const char* kGate4 = "51.15.0.1";
inline constexpr const char* kGate6 = "2a01:4f8:1::1";
inline constexpr const char* kResolver = "45.90.28.53";       // the gateway's
inline constexpr const char* kGuestResolver = "100.64.0.53";  // a guest's, as its resolv.conf says
// Where names are.
inline constexpr const char* kGood4 = "93.184.216.34";  // good.example, neighbour.example
inline constexpr const char* kGood6 = "2606:2800:220:1::34";
inline constexpr const char* kOther4 = "93.184.216.99";
inline constexpr const char* kQuiet4 = "93.184.217.7";  // quiet.example
inline constexpr const char* kEvil4 = "185.220.101.1";  // evil.example; alias.example leads to it
inline constexpr const char* kEvil6 = "2a0b:f4c2:2::1";
inline constexpr const char* kMetadata4 = "169.254.169.254";

// What listens: every address of the internet at these ports, and the machine's own at kBoxPort. A
// port for TLS speaks when it has been spoken to, a sink says at the end how much it got, all
// others speak first. All say "reached ADDRESS PORT".
inline constexpr std::uint16_t kPorts[] = {22, 25, 80, 443, 8080, 8443};
inline constexpr std::uint16_t kDnsPort = 53;
inline constexpr std::uint16_t kSinkPort = 9;
inline constexpr std::uint16_t kUdpPorts[] = {123, 443, 9999};  // send back what they get
inline constexpr std::uint16_t kBoxPort = 7070;

// `glovebox-attacks internet`: makes it, prints "box=PID", serves until stdin ends.
int run_internet();
// `glovebox-attacks join PID -- PROGRAM WORDS...`: starts a program on the machine of process PID.
int join_and_run(int argc, char** argv);

// Answers one question for a name as the little internet's DNS does; empty: not at all.
std::string dns_answer(const std::string& query);

// --- as a guest talks ----------------------------------------------------------------------------

// Connects, sends `first`, and waits for a line: succeeded if it says which address was reached.
Verdict reach(const std::string& address, std::uint16_t port, const std::string& first = "");

inline constexpr std::uint16_t kTypeA = 1;
inline constexpr std::uint16_t kTypeTxt = 16;
inline constexpr std::uint16_t kTypeAaaa = 28;
inline constexpr std::uint16_t kTypeHttps = 65;

struct Names {
  bool answered = false;
  int code = 0;                          // of the answer
  std::vector<std::string> addresses{};  // in it
  std::vector<std::string> texts{};      // other records' bytes
};
struct Question {
  std::string name{};  // labels are divided by dots; `labels`, if any, counts instead
  std::uint16_t type = kTypeA;
  std::string server = kGuestResolver;
  bool over_tcp = false;
  std::vector<std::string> labels{};
};
Names ask(const Question& question);
std::string dns_name(const std::vector<std::string>& labels);
std::vector<std::string> labels_of(const std::string& name);

// A TLS ClientHello that says these names, one in each server_name extension.
struct Hello {
  std::vector<std::string> names{};
  bool one_list = false;         // all names in one extension
  std::string version = "\3\1";  // of its records; servers take others, too
  std::size_t record = 0;        // split into records of so many bytes; 0: one record
};
std::string client_hello(const Hello& hello);
inline std::string client_hello(const std::string& name) { return client_hello(Hello{{name}}); }

// That what the policy allows does work, else the rest would show nothing; empty if so. Every
// policy of these rows allows good.example at port 443.
std::string way_is_closed();
// The attack, if the way is open.
template <class Attempt>
Verdict where_good_is_reached(const Attempt& attempt) {
  const std::string why = way_is_closed();
  if (!why.empty()) return {kNotTried, "what is allowed does not work: " + why, 0};
  return attempt();
}
// Asks for a name and tries every address that comes.
Verdict resolve_and_reach(const Question& question, std::uint16_t port,
                          const std::string& first = "");

}  // namespace glovebox::attacks
