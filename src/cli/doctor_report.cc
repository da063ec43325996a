#include "cli/doctor_report.h"

#include <fmt/core.h>

#include "api/object_writer.h"
#include "cli/doctor_page.h"
#include "cli/format.h"
#include "cli/json_view.h"
#include "json/encode.h"

namespace atl::cli {
namespace {

using native::HostCheck;
using native::Need;

void add_drivers(DoctorPage& page, const DoctorReport& report) {
  if (!report.trouble.empty()) {
    page.heading("what each driver gives");
    page.line(Mark::missing, "drivers", report.trouble);
    if (!report.hint.empty()) page.below("hint: " + report.hint);
    return;
  }
  page.heading("what each driver gives (" + report.where + ")");
  for (const json::Value& driver : report.drivers) page.driver(driver);
  page.blank();
  if (report.default_driver.empty()) {
    page.line(Mark::missing, "default", "none: no driver here isolates anything");
    return;
  }
  const Tryout& tryout = report.tryout;
  if (tryout.ran) {
    page.line(Mark::fine, "default",
              report.default_driver + ", ran a command in " + format_ms(tryout.ms));
    return;
  }
  page.line(Mark::missing, "default",
            report.default_driver + " could not run a command: " + tryout.trouble);
  if (!tryout.hint.empty()) page.below("hint: " + tryout.hint);
}

}  // namespace

std::string find_default_driver(const json::Array& drivers) {
  for (const json::Value& driver : drivers) {
    if (!flag_at(driver, "available")) continue;
    if (text_at(driver, "capabilities.isolation") == "none") continue;
    if (flag_at(driver, "capabilities.needs_root_dir")) continue;
    if (text_at(driver, "capabilities.placement") == "third_party") continue;
    return text_at(driver, "name");
  }
  return "";
}

std::string to_text(const DoctorReport& report, Paint paint, std::optional<size_t> columns) {
  DoctorPage page(paint, columns);
  page.heading(fmt::format("atoll {}, as {}", report.version, report.user));
  page.blank();
  page.heading("host");
  for (const HostCheck& check : report.checks) page.host_check(check);
  page.blank();
  add_drivers(page, report);
  // What only other drivers need is told by `atoll doctor DRIVER`.
  std::vector<HostCheck> needed = report.checks;
  std::erase_if(needed, [](const HostCheck& check) { return check.need == Need::optional; });
  page.repairs(needed);
  page.blank();
  page.remark("what one driver needs: atoll doctor DRIVER");
  return page.take();
}

void append_tryout(std::string& json, const Tryout& tryout) {
  api::ObjectWriter object(json);
  object.member("ok", tryout.ran);
  if (tryout.ran) {
    object.member("ms", tryout.ms);
  } else {
    object.member("trouble", tryout.trouble);
    if (!tryout.hint.empty()) object.member("hint", tryout.hint);
  }
  object.close();
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
    append_tryout(object.key("tryout"), report.tryout);
  }
  object.close();
  return out;
}

}  // namespace atl::cli
