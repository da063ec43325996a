// atoll-attack: tries to break out of a sandbox. Static, so that it runs in any root file system.
//
//   atoll-attack NAME     one attack, from inside: prints one JSON line
//   atoll-attack --list   all of them, as a JSON array
//   atoll-attack --host   on the host, as root: which attacks this kernel does not even offer, and
//   why atoll-attack --victim on the host: what the attacks are after (victim.h)
//
// Exit code: 0 denied or not applicable, 10 reached, 2 usage.
#include <sys/auxv.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <string>
#include <string_view>

#include "tests/security/attack.h"
#include "tests/security/canary.h"
#include "tests/security/json_line.h"
#include "tests/security/victim.h"

namespace atl::attack {
namespace {

std::string layers_as_json(Layers layers) {
  std::string text = "[";
  for (int number = 0; number < kLayers; ++number) {
    const auto layer = static_cast<Layer>(number);
    if (!layers.has(layer)) continue;
    if (text.size() > 1) text += ",";
    text += quoted(name_of(layer));
  }
  return text + "]";
}

std::string as_json(const Attack& attack) {
  JsonLine line;
  line.add("name", attack.name);
  line.add("title", attack.title);
  line.add("dossier", attack.dossier);
  line.add("cve", attack.cve);
  line.add("user", attack.user == User::root ? "root" : "user");
  line.add("setting", name_of(attack.setting));
  line.add_raw("stopped_by", layers_as_json(attack.stopped_by));
  line.add_raw("rootless", layers_as_json(rootless_control(attack)));
  return line.text();
}

int list() {
  std::string text = "{\"attacks\":[";
  const char* comma = "";
  for (const Attack* attack : all_attacks()) {
    text += comma + as_json(*attack);
    comma = ",\n";
  }
  text += "],\n\"uncovered\":[";
  comma = "";
  for (const Uncovered& one : uncovered()) {
    JsonLine line;
    line.add("dossier", one.dossier);
    line.add("why", one.why);
    text += comma + line.text();
    comma = ",\n";
  }
  std::puts((text + "]}").c_str());
  return 0;
}

int ask_host() {
  JsonLine line;
  for (const Attack* attack : all_attacks()) {
    if (attack->missing == nullptr) continue;
    const std::string why = attack->missing();
    if (!why.empty()) line.add(attack->name, why);
  }
  std::puts(line.text().c_str());
  return 0;
}

int run(const Attack& attack) {
  const Outcome outcome = attack.run();
  const bool was_reached = outcome.kind == Outcome::Kind::reached;
  JsonLine line;
  line.add("attack", attack.name);
  line.add("outcome", was_reached                             ? "reached"
                      : outcome.kind == Outcome::Kind::denied ? "denied"
                                                              : "not_applicable");
  line.add("errno", outcome.error);
  line.add("error", outcome.error == 0 ? "" : describe_child(outcome.error));
  line.add("detail", outcome.detail);
  // One write, whatever became of stdio.
  const std::string text = line.text() + "\n";
  (void)!write(1, text.data(), text.size());
  return was_reached ? 10 : 0;
}

int main_of(int count, char** arguments) {
  const std::string_view what = count > 1 ? arguments[1] : "";
  // A setuid or file-capability copy lends nobody its power: it only says what it is.
  if (getauxval(AT_SECURE) != 0 && what != "--identity") return 2;
  if (what == "--list") return list();
  if (what == "--host") return ask_host();
  if (what == "--victim") return be_victim();
  if (what == "--identity") {  // what a setuid or file-capability copy of this program is
    std::printf("%d %" PRIx64 "\n", static_cast<int>(geteuid()), effective_capabilities());
    return 0;
  }
  if (const Attack* attack = find_attack(std::string(what))) return run(*attack);
  std::fprintf(stderr, "usage: atoll-attack NAME | --list | --host | --victim\n");
  return 2;
}

}  // namespace
}  // namespace atl::attack

int main(int count, char** arguments) { return atl::attack::main_of(count, arguments); }
