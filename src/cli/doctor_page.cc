#include "cli/doctor_page.h"

#include <fmt/core.h>

#include "base/text.h"
#include "cli/format.h"
#include "cli/json_view.h"
#include "cli/text_width.h"

namespace atl::cli {
namespace {

using native::HostCheck;
using native::Need;
using native::Verdict;

constexpr size_t kIndent = 30;  // of what was found
// What is narrower is not worth breaking lines for.
constexpr size_t kFewestColumns = 60;

struct Shown {
  std::string_view sign;
  std::string_view word;
  Ink ink;
};

Shown shown_for(Mark mark) {
  switch (mark) {
    case Mark::fine:
      return {"✓", "ok", Ink::good};
    case Mark::weak:
      return {"!", "weak", Ink::warning};
    case Mark::missing:
      return {"✗", "missing", Ink::bad};
    case Mark::absent:
      break;
  }
  return {"–", "absent", Ink::dim};
}

}  // namespace

Mark mark_of(const HostCheck& check) {
  if (check.verdict == Verdict::ok) return Mark::fine;
  if (check.need == Need::optional) return Mark::absent;
  return check.verdict == Verdict::weak ? Mark::weak : Mark::missing;
}

std::string DoctorPage::in(Ink ink, std::string_view words) const {
  return paint_ == Paint::coloured ? inked(words, ink) : std::string(words);
}

std::string DoctorPage::broken(std::string_view text) const {
  const std::string line = single_line(text);
  return columns_ && *columns_ >= kFewestColumns ? wrapped(line, *columns_, kIndent) : line;
}

void DoctorPage::heading(std::string_view words) {
  text_ += in(Ink::strong, single_line(words)) + "\n";
}

void DoctorPage::remark(std::string_view words) { text_ += in(Ink::dim, words) + "\n"; }

void DoctorPage::line(Mark mark, std::string_view name, std::string_view text) {
  const Shown shown = shown_for(mark);
  text_ +=
      fmt::format("  {}{:<17} {}\n", in(shown.ink, fmt::format("{} {:<8}", shown.sign, shown.word)),
                  name, broken(text));
}

void DoctorPage::below(std::string_view text) {
  text_ += fmt::format("{:<{}}{}\n", "", kIndent, broken(text));
}

void DoctorPage::host_check(const HostCheck& check) {
  line(mark_of(check), check.name, check.found);
  if (check.verdict != Verdict::ok && check.need != Need::optional)
    below("for: " + check.needed_for);
}

void DoctorPage::driver(const json::Value& driver) {
  const std::string name = single_line(text_at(driver, "name"));
  if (!flag_at(driver, "available")) {
    line(Mark::absent, name, "not here: " + text_at(driver, "unavailable_because"));
    const std::string hint = text_at(driver, "hint");
    if (!hint.empty()) below("hint: " + hint);
    return;
  }
  const json::Value& can = at(driver, "capabilities");
  const std::string isolation = text_at(can, "isolation");
  line(isolation == "none" ? Mark::weak : Mark::fine, name,
       "isolation " + isolation + ": " + text_at(driver, "summary"));
  below("limits: " + describe_limits(can));
  std::string more = "network " + text_at(can, "network") + ", ends of process trees " +
                     text_at(can, "kill_tree") + ", pause " + text_at(can, "pause");
  if (flag_at(can, "resize")) more += ", resize";
  if (flag_at(can, "snapshot")) more += ", snapshot";
  if (flag_at(can, "fork")) more += ", fork";
  below(more);
}

void DoctorPage::repairs(const std::vector<HostCheck>& checks) {
  bool any = false;
  for (const HostCheck& check : checks) {
    if (check.verdict == Verdict::ok || check.repair.empty()) continue;
    if (!std::exchange(any, true)) {
      blank();
      heading("to repair:");
    }
    text_ += "\n" + in(Ink::dim, fmt::format("# {}, for {}", check.name, check.needed_for)) + "\n";
    for (const auto& command : split(check.repair, '\n')) text_ += to_printable(command) + "\n";
  }
  if (!any) text_ += "\nnothing to repair\n";
}

std::string describe_limits(const json::Value& capabilities) {
  std::string held, not_held;
  for (const char* name :
       {"cpu", "memory", "pids", "disk", "open_files", "output", "wall_time", "cpu_time"}) {
    const std::string how = text_at(capabilities, std::string("limits.") + name);
    std::string& list = how == "enforced" || how == "per_process" ? held : not_held;
    if (!list.empty()) list += ", ";
    list += name;
    if (how == "per_process") list += " (each process)";
  }
  if (not_held.empty()) return held;
  return (held.empty() ? "none" : held) + "; not " + not_held;
}

}  // namespace atl::cli
