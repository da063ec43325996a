#include "cli/attack_card.h"

#include <fmt/core.h>
#include <signal.h>

#include <algorithm>

#include "api/object_writer.h"
#include "base/text.h"
#include "cli/format.h"
#include "cli/json_view.h"
#include "cli/table.h"

namespace atl::cli {
namespace {

constexpr int kSaysReached = 10;
constexpr AttackOutcome kOutcomes[] = {AttackOutcome::denied, AttackOutcome::reached,
                                       AttackOutcome::broken, AttackOutcome::not_covered,
                                       AttackOutcome::not_applicable};

std::vector<std::string> strings_of(const json::Array& list) {
  std::vector<std::string> texts;
  for (const json::Value& value : list) {
    if (const auto* text = value.if_string()) texts.emplace_back(text->data(), text->size());
  }
  return texts;
}

// The layers of a driver that has no namespaces; the others have them all.
constexpr std::string_view kProcessLayers[] = {"capabilities", "no_new_privileges", "seccomp",
                                               "landlock",     "rlimits",           "descriptors",
                                               "file_api"};

bool has_layer(const AttackedDriver& driver, std::string_view layer) {
  if (layer == "cgroups" && !driver.has_cgroups) return false;
  return driver.name != "subprocess" ||
         std::ranges::find(kProcessLayers, layer) != std::end(kProcessLayers);
}

// What a driver has nothing of the host's for, or says that it does not stop; tests/security holds
// it to that, by the same names.
constexpr struct {
  std::string_view driver, attack;
  AttackOutcome outcome;
  std::string_view why;
} kExcused[] = {
    {"docker", "terminal_exhaustion", AttackOutcome::not_covered,
     "terminals come from the host's number of them"},
    {"podman", "terminal_exhaustion", AttackOutcome::not_covered,
     "terminals come from the host's number of them"},
    {"docker", "device_in_volume", AttackOutcome::not_covered,
     "the engine shows directories with their device nodes; its control group lets every container "
     "open this one, and no disk"},
    {"podman", "device_in_volume", AttackOutcome::not_covered,
     "the engine shows directories with their device nodes; its control group lets every container "
     "open this one, and no disk"},
    {"gvisor", "host_devices", AttackOutcome::not_applicable, "these devices are gVisor's own"},
    {"gvisor", "terminal_exhaustion", AttackOutcome::not_applicable,
     "terminals are gVisor's own, made of its memory"},
    {"gvisor", "high_priority", AttackOutcome::not_applicable,
     "the number is gVisor's, and the host's scheduler does not see it"},
    {"gvisor", "oom_score_own", AttackOutcome::not_applicable,
     "the number is gVisor's, and the host's kernel does not see it"},
};

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

void set(AttackRow& row, AttackOutcome outcome, std::string detail) {
  row.outcome = outcome;
  row.detail = std::move(detail);
}

// The last line that tells an outcome: what a guest says is untrusted, and may be anything.
bool take_told(AttackRow& row, const std::string& output) {
  const auto lines = split(output, '\n');
  for (auto text = lines.rbegin(); text != lines.rend(); ++text) {
    const auto told = json::parse(*text);
    if (!told || text_at(*told, "attack") != row.attack.name) continue;
    const std::string outcome = text_at(*told, "outcome");
    std::string detail = text_at(*told, "detail");
    if (const std::string error = text_at(*told, "error"); !error.empty()) detail += ": " + error;
    if (outcome == "denied") {
      set(row, AttackOutcome::denied, detail);
    } else if (outcome == "reached") {
      set(row, AttackOutcome::reached, detail);
    } else if (outcome == "not_applicable") {
      set(row, AttackOutcome::not_applicable, detail);
    } else {
      continue;
    }
    return true;
  }
  return false;
}

size_t count(const std::vector<AttackRow>& rows, AttackOutcome outcome) {
  return static_cast<size_t>(std::ranges::count(rows, outcome, &AttackRow::outcome));
}

}  // namespace

std::string_view to_string(AttackOutcome outcome) {
  switch (outcome) {
    case AttackOutcome::denied:
      return "denied";
    case AttackOutcome::reached:
      return "REACHED";
    case AttackOutcome::not_applicable:
      return "not applicable";
    case AttackOutcome::not_covered:
      return "not covered";
    case AttackOutcome::broken:
      break;
  }
  return "BROKEN";
}

Result<std::vector<AttackInfo>> parse_catalogue(std::string_view text) {
  auto parsed = json::parse(text);
  if (!parsed) return std::move(parsed).error().with("reading the list of attacks");
  std::vector<AttackInfo> attacks;
  for (const json::Value& one : list_at(*parsed, "attacks")) {
    AttackInfo attack{.name = text_at(one, "name"),
                      .title = text_at(one, "title"),
                      .cve = text_at(one, "cve"),
                      .user = text_at(one, "user"),
                      .setting = text_at(one, "setting"),
                      .stopped_by = strings_of(list_at(one, "stopped_by")),
                      .rootless = strings_of(list_at(one, "rootless"))};
    if (attack.name.empty() || attack.setting.empty()) {
      return Error(Code::internal, "the list of attacks has one without name or setting");
    }
    attacks.push_back(std::move(attack));
  }
  if (attacks.empty()) return Error(Code::internal, "the list of attacks is empty");
  return attacks;
}

void judge_run(AttackRow& row, const json::Value& result) {
  const int code = static_cast<int>(number_at(result, "exit_code"));
  const std::string reason = text_at(result, "reason");
  if (code == 0 || code == kSaysReached) {
    if (take_told(row, text_at(result, "stdout"))) {
      // The exit code counts, too: whoever reached something cannot talk it away.
      if (code == kSaysReached) row.outcome = AttackOutcome::reached;
      return;
    }
    return set(row, AttackOutcome::broken, "it did not tell its outcome");
  }
  if (reason == "oom") return set(row, AttackOutcome::denied, "killed for its memory");
  if (code == 128 + SIGSYS) return set(row, AttackOutcome::denied, "killed by the filter");
  set(row, AttackOutcome::broken,
      fmt::format("exit code {}, {}: {}", code, reason, text_at(result, "stderr").substr(0, 200)));
}

std::vector<std::string> claimed_layers(const AttackInfo& attack, const AttackedDriver& driver) {
  std::vector<std::string> layers;
  for (const auto& layer : driver.name == "rootless" ? attack.rootless : attack.stopped_by) {
    if (has_layer(driver, layer)) layers.push_back(layer);
  }
  return layers;
}

void settle_claim(AttackRow& row, const AttackedDriver& driver) {
  const auto layers = claimed_layers(row.attack, driver);
  row.claim = joined(layers);
  for (const auto& excuse : kExcused) {
    if (row.outcome != AttackOutcome::reached || excuse.driver != driver.name ||
        excuse.attack != row.attack.name)
      continue;
    return set(row, excuse.outcome, row.detail + "; " + std::string(excuse.why));
  }
  if (!layers.empty()) return;
  // Made without root, what needs root of the host is stopped by the host's own permissions.
  if (driver.name == "rootless" && row.attack.rootless.empty()) {
    row.claim = "permissions of the host";
    return;
  }
  row.claim = "nothing";
  if (row.outcome == AttackOutcome::reached) {
    set(row, AttackOutcome::not_covered,
        "it gets through, and " + driver.name + " claims nothing against it: " + row.detail);
  }
}

bool holds(const std::vector<AttackRow>& rows) {
  return count(rows, AttackOutcome::reached) == 0 && count(rows, AttackOutcome::broken) == 0 &&
         count(rows, AttackOutcome::denied) > 0;
}

std::string format_card(const std::vector<AttackRow>& rows, const AttackedDriver& driver) {
  Table table{{"ATTACK", "OUTCOME", "CLAIMED BY", "DETAIL"}};
  for (const AttackRow& row : rows) {
    table.push_back({single_line(row.attack.name), std::string(to_string(row.outcome)),
                     single_line(row.claim), single_line(row.detail)});
  }
  std::string totals;
  for (const AttackOutcome outcome : kOutcomes) {
    totals += fmt::format("{}{} {}", totals.empty() ? "" : ", ", count(rows, outcome),
                          to_string(outcome));
  }
  return fmt::format("{} attacks on {}, isolation {}\n\n", rows.size(), driver.name,
                     driver.isolation) +
         format_table(table) + "\n" + totals + "\n";
}

std::string card_to_json(const std::vector<AttackRow>& rows, const AttackedDriver& driver) {
  static constexpr std::string_view kWords[] = {"denied", "reached", "not_applicable",
                                                "not_covered", "broken"};
  const auto word = [](AttackOutcome outcome) { return kWords[static_cast<int>(outcome)]; };
  std::string out;
  api::ObjectWriter object(out);
  object.member("ok", holds(rows));
  object.member("driver", driver.name);
  object.member("isolation", driver.isolation);
  api::ObjectWriter totals(object.key("totals"));
  for (const AttackOutcome outcome : kOutcomes) totals.member(word(outcome), count(rows, outcome));
  totals.close();
  object.key("attacks") += '[';
  for (const AttackRow& row : rows) {
    if (out.back() != '[') out += ',';
    api::ObjectWriter entry(out);
    entry.member("attack", row.attack.name);
    entry.member("title", row.attack.title);
    if (!row.attack.cve.empty()) entry.member("cve", row.attack.cve);
    entry.member("outcome", word(row.outcome));
    entry.member("claimed_by", row.claim);
    entry.member("detail", row.detail);
    entry.close();
  }
  out += ']';
  object.close();
  return out;
}

}  // namespace atl::cli
