// glovebox-attacks: the multi-call program that attacks a sandbox, one attack per call.
//
//   glovebox-attacks list --json               the table
//   glovebox-attacks NAME [key=value...]       one attack, to be run inside a sandbox
//   glovebox-attacks control NAME [key=value]  the same where nothing stops it, as root outside
//   glovebox-attacks lacks NAME                whether the kernel does lack it (features.h)
//   glovebox-attacks internet                  a little internet of network namespaces (egress.h)
//   glovebox-attacks join PID -- PROGRAM ...   a program on the machine in it
//
// Exit status 42 succeeded, 43 denied, 44 the kernel lacks it (controls only), 45 could not be
// tried.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <sstream>

#include "attack.h"
#include "egress.h"
#include "features.h"
#include "toolbox.h"

namespace glovebox::attacks {
namespace {

std::vector<Group> all_groups() {
  return {file_attacks(),           device_attacks(),        given_attacks(),
          mount_attacks(),          process_attacks(),       survivor_attacks(),
          privilege_attacks(),      namespace_attacks(),     kernel_attacks(),
          kernel_file_attacks(),    network_attacks(),       leak_attacks(),
          quota_attacks(),          memory_attacks(),        resource_attacks(),
          egress_address_attacks(), egress_policy_attacks(), egress_limit_attacks()};
}

// The texts are our own and hold nothing that JSON would want escaped but quotes.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string json_words(const char* text, char separator) {
  std::string out = "[";
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, separator);) {
    if (!word.empty()) out += (out.size() > 1 ? "," : "") + quoted(word);
  }
  return out + "]";
}

int list_as_json() {
  const char* between = "[\n";
  for (const Group& group : all_groups()) {
    for (const Attack& attack : group.attacks) {
      printf(
          "%s{\"name\":%s,\"group\":%s,\"aims_at\":%s,\"held_by\":%s,\"kind\":%s,\"needs\":%s,"
          "\"outcome\":%s,\"limits\":%s}",
          between, quoted(attack.name).c_str(), quoted(group.name).c_str(),
          quoted(attack.aims_at).c_str(), quoted(attack.held_by).c_str(),
          quoted(attack.kind).c_str(), json_words(attack.needs, ' ').c_str(),
          json_words(attack.outcome, '|').c_str(), json_words(attack.limits, ' ').c_str());
      between = ",\n";
    }
  }
  printf("\n]\n");
  return 0;
}

const Attack* find_attack(const std::string& name, const std::vector<Group>& groups) {
  for (const Group& group : groups) {
    for (const Attack& attack : group.attacks) {
      if (name == attack.name) return &attack;
    }
  }
  return nullptr;
}

int report(const Verdict& verdict) {
  printf("%s\n", verdict.text.c_str());
  fflush(stdout);
  return verdict.code;
}

Verdict run_control(const Attack& attack, const Args& args) {
  Verdict verdict = attack.control != nullptr ? attack.control(args) : attack.run(args);
  const bool absent = verdict.err == ENOSYS || (attack.absent != 0 && verdict.err == attack.absent);
  if (verdict.code == kDenied && absent) verdict.code = kKernelLacks;
  return verdict;
}

// A second opinion on a control that found nothing to attack.
Verdict confirm_lack(const std::string& name) {
  const std::string objection = objection_to_skipping(name, kernel_features(), Kernel());
  return objection.empty() ? kernel_lacks("this kernel lacks it") : not_tried(objection);
}

// What a helper call does until its parent lets go of it: nothing.
int stay_as_victim() {
  wait_for_stdin_end(600);
  return 0;
}

int main_of_attacks(int argc, char** argv) {
  // A copy of this file is made setuid by one of the rows. Run that way it says who it is and does
  // nothing else, whatever it is asked.
  if (getauxval(AT_SECURE) != 0 || (argc > 1 && strcmp(argv[1], "whoami") == 0)) {
    printf("euid=%u\n", geteuid());
    fflush(stdout);
    return geteuid() == 0 ? kSucceeded : kDenied;
  }
  if (argc < 2) {
    fprintf(stderr, "usage: glovebox-attacks list --json | [control|lacks] NAME [key=value...]\n");
    return 2;
  }
  const std::string verb = argv[1];
  if (verb == "list") return list_as_json();
  if (verb == "victim") return stay_as_victim();
  if (verb == "internet") return run_internet();
  if (verb == "join") return join_and_run(argc, argv);
  const bool control = verb == "control";
  const bool lacks = verb == "lacks";
  const int name_at = control || lacks ? 2 : 1;
  if (argc <= name_at) return 2;
  const std::vector<Group> groups = all_groups();
  const Attack* attack = find_attack(argv[name_at], groups);
  if (attack == nullptr) {
    fprintf(stderr, "glovebox-attacks: no attack is called %s\n", argv[name_at]);
    return 2;
  }
  if (lacks) return report(confirm_lack(attack->name));
  signal(SIGPIPE, SIG_IGN);
  const Args args(std::vector<std::string>(argv + name_at + 1, argv + argc));
  return report(control ? run_control(*attack, args) : attack->run(args));
}

}  // namespace
}  // namespace glovebox::attacks

int main(int argc, char** argv) { return glovebox::attacks::main_of_attacks(argc, argv); }
