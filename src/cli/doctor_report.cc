#include "cli/doctor_report.h"

#include <fmt/core.h>

#include "api/object_writer.h"
#include "base/text.h"
#include "cli/format.h"
#include "cli/json_view.h"
#include "json/encode.h"

namespace atl::cli {
namespace {

using native::HostCheck;
using native::Need;
using native::Verdict;

struct Mark {
  std::string_view sign;
  std::string_view word;
  std::string_view colour;
};

constexpr Mark kFine{"✓", "ok", "\033[32m"};
constexpr Mark kWeak{"!", "weak", "\033[33m"};
constexpr Mark kMissing{"✗", "missing", "\033[31m"};
constexpr Mark kAbsent{"–", "absent", "\033[2m"};

Mark mark_of(const HostCheck& check) {
  switch (check.verdict) {
    case Verdict::ok:
      return kFine;
    case Verdict::weak:
      return kWeak;
    case Verdict::missing:
      break;
  }
  return check.need == Need::optional ? kAbsent : kMissing;
}

std::string line(Mark mark, Colour colour, std::string_view name, std::string_view text) {
  const bool plain = colour == Colour::plain;
  return fmt::format("  {}{} {:<8}{}{:<17} {}\n", plain ? "" : mark.colour, mark.sign, mark.word,
                     plain ? "" : "\033[0m", name, text);
}

std::string below(std::string_view text) { return fmt::format("{:<30}{}\n", "", text); }

std::string host_part(const DoctorReport& report, Colour colour) {
  std::string text = "host\n";
  for (const HostCheck& check : report.checks) {
    text += line(mark_of(check), colour, check.name, single_line(check.found));
    if (check.verdict != Verdict::ok && check.need != Need::optional) {
      text += below("for: " + check.needed_for);
    }
  }
  return text;
}

std::string driver_part(const json::Value& driver, Colour colour) {
  const std::string name = single_line(text_at(driver, "name"));
  if (!flag_at(driver, "available")) {
    std::string text = line(kAbsent, colour, name,
                            "not here: " + single_line(text_at(driver, "unavailable_because")));
    const std::string hint = text_at(driver, "hint");
    return hint.empty() ? text : text + below("hint: " + single_line(hint));
  }
  const json::Value& can = at(driver, "capabilities");
  const std::string isolation = text_at(can, "isolation");
  const Mark mark = isolation == "none" ? kWeak : kFine;
  std::string text =
      line(mark, colour, name,
           "isolation " + single_line(isolation) + ": " + single_line(text_at(driver, "summary")));
  text += below("limits: " + describe_limits(can));
  std::string more = "network " + text_at(can, "network") + ", ends of process trees " +
                     text_at(can, "kill_tree") + ", pause " + text_at(can, "pause");
  if (flag_at(can, "resize")) more += ", resize";
  if (flag_at(can, "snapshot")) more += ", snapshot";
  if (flag_at(can, "fork")) more += ", fork";
  return text + below(single_line(more));
}

std::string drivers_part(const DoctorReport& report, Colour colour) {
  std::string text = "\nwhat each driver gives";
  if (!report.trouble.empty()) {
    text += "\n" + line(kMissing, colour, "drivers", single_line(report.trouble));
    return report.hint.empty() ? text : text + below("hint: " + single_line(report.hint));
  }
  text += " (" + single_line(report.where) + ")\n";
  for (const json::Value& driver : report.drivers) text += driver_part(driver, colour);

  text += "\n";
  if (report.default_driver.empty()) {
    return text + line(kMissing, colour, "default", "none: no driver here isolates anything");
  }
  const Tryout& tryout = report.tryout;
  if (tryout.ran) {
    return text + line(kFine, colour, "default",
                       report.default_driver + ", ran a command in " + format_ms(tryout.ms));
  }
  text += line(kMissing, colour, "default",
               report.default_driver + " could not run a command: " + single_line(tryout.trouble));
  return tryout.hint.empty() ? text : text + below("hint: " + single_line(tryout.hint));
}

std::string repair_part(const DoctorReport& report) {
  std::string text;
  for (const HostCheck& check : report.checks) {
    if (check.verdict == Verdict::ok || check.repair.empty()) continue;
    text += fmt::format("\n# {}, for {}\n", check.name, check.needed_for);
    for (const auto& command : split(check.repair, '\n')) text += to_printable(command) + "\n";
  }
  return text.empty() ? "\nnothing to repair\n" : "\nto repair:\n" + text;
}

}  // namespace

std::string find_default_driver(const json::Array& drivers) {
  for (const json::Value& driver : drivers) {
    if (!flag_at(driver, "available")) continue;
    if (text_at(driver, "capabilities.isolation") == "none") continue;
    if (text_at(driver, "capabilities.placement") == "third_party") continue;
    return text_at(driver, "name");
  }
  return "";
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

std::string to_text(const DoctorReport& report, Colour colour) {
  return fmt::format("atoll {}, as {}\n\n", report.version, report.user) +
         host_part(report, colour) + drivers_part(report, colour) + repair_part(report);
}

std::string to_json(const DoctorReport& report) {
  std::string out;
  api::ObjectWriter object(out);
  object.member("ok", report.is_fit());
  object.member("version", report.version);
  object.member("user", report.user);
  object.member("checks", report.checks);
  if (report.trouble.empty()) {
    object.member("drivers_of", report.where);
    object.member("drivers", json::Value(report.drivers));
  } else {
    object.member("trouble", report.trouble);
    if (!report.hint.empty()) object.member("hint", report.hint);
  }
  if (report.default_driver.empty()) {
    object.null("default_driver");
  } else {
    object.member("default_driver", report.default_driver);
    api::ObjectWriter tryout(object.key("tryout"));
    tryout.member("ok", report.tryout.ran);
    if (report.tryout.ran) {
      tryout.member("ms", report.tryout.ms);
    } else {
      tryout.member("trouble", report.tryout.trouble);
      if (!report.tryout.hint.empty()) tryout.member("hint", report.tryout.hint);
    }
    tryout.close();
  }
  object.close();
  return out;
}

}  // namespace atl::cli
