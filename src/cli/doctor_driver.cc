#include "cli/doctor_driver.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "api/object_writer.h"
#include "cli/doctor_page.h"
#include "cli/format.h"
#include "cli/json_view.h"
#include "config/kinds.h"
#include "json/encode.h"

namespace atl::cli {
namespace {

using native::HostCheck;

// Of checks that belong to one kind or another; every other check is about this host, which all of
// our own run on.
struct Needs {
  std::string_view check;
  std::array<std::string_view, 5> kinds;
};

constexpr Needs kNeeds[] = {
    {"docker", {"docker", "swarm"}},
    {"podman", {"podman"}},
    {"containerd", {"containerd", "kata"}},
    {"runc", {"docker", "podman", "containerd"}},
    {"runsc", {"gvisor"}},
    {"kvm", {"firecracker", "qemu", "cloud_hypervisor", "kata"}},
    {"firecracker", {"firecracker"}},
    {"qemu", {"qemu", "kata"}},
    {"atoll-oci", {"gvisor"}},
    {"cgroups", {"native", "rootless", "gvisor"}},
    {"overlay", {"native", "rootless", "gvisor"}},
    {"owner_mapping", {"native", "rootless", "gvisor"}},
    {"storage_pool", {"native", "rootless", "gvisor"}},
    {"atoll-pool", {"native", "rootless", "gvisor"}},
    {"user_namespaces", {"native", "rootless", "gvisor", "chroot"}},
    {"security_modules", {"native", "rootless", "gvisor", "subprocess", "chroot"}},
    {"landlock", {"native", "rootless", "gvisor", "subprocess", "chroot"}},
    {"seccomp", {"native", "rootless", "gvisor", "subprocess", "chroot"}},
    {"file_watches", {"native", "rootless", "local"}},  // the others have no inotify
};
// What our own sandboxes are made of.
constexpr std::string_view kOwn[] = {"native",     "rootless", "gvisor",
                                     "subprocess", "local",    "chroot"};

bool is_own(std::string_view kind) { return std::ranges::find(kOwn, kind) != std::end(kOwn); }

const Needs* find_needs(std::string_view check) {
  const auto found = std::ranges::find(kNeeds, check, &Needs::check);
  return found != std::end(kNeeds) ? found : nullptr;
}

void add_verdict(DoctorPage& page, const DriverReport& report) {
  if (!report.is_built) {
    page.line(Mark::absent, report.name, "this Atoll has no driver for it");
    if (!report.level.empty()) page.below("it would isolate as: " + report.level);
    if (!report.instead.empty()) {
      page.below("until then: atoll run --driver " + report.instead + " -- COMMAND");
    }
    return;
  }
  if (!report.trouble.empty()) {
    page.line(Mark::missing, report.name, report.trouble);
    if (!report.hint.empty()) page.below("hint: " + report.hint);
    return;
  }
  if (report.driver.is_null()) {
    page.line(Mark::missing, report.name, report.where + " does not offer it");
    page.below("hint: it is built in; that daemon may be older than this program");
    return;
  }
  page.driver(report.driver);
  if (!flag_at(report.driver, "available")) return;
  for (const json::Value& sentence : list_at(at(report.driver, "capabilities"), "not_protected"))
    if (sentence.is_string())
      page.below("not protected: " + single_line(std::string(sentence.get_string())));
  if (report.needs_root) {
    page.below("not tried: it needs a root file system, --rootfs DIR");
    return;
  }
  if (report.tryout.ran) {
    page.line(Mark::fine, "tried", "ran a command in " + format_ms(report.tryout.ms));
    return;
  }
  page.line(Mark::missing, "tried", "could not run a command: " + report.tryout.trouble);
  if (!report.tryout.hint.empty()) page.below("hint: " + report.tryout.hint);
}

}  // namespace

bool DriverReport::is_fit() const {
  return is_built && flag_at(driver, "available") && (needs_root || tryout.ran);
}

std::optional<std::string> find_driver_kind(const std::string& word,
                                            const std::vector<std::string>& built) {
  if (std::ranges::find(built, word) != built.end()) return word;
  if (const config::Kind* kind = config::find_kind(word)) return std::string(kind->name);
  return std::nullopt;
}

std::vector<HostCheck> checks_for(const std::string& kind, const std::vector<HostCheck>& all) {
  std::vector<HostCheck> chosen;
  const bool own = is_own(kind);
  for (const HostCheck& check : all) {
    const Needs* needs = find_needs(check.name);
    const bool belongs =
        needs != nullptr ? std::ranges::find(needs->kinds, kind) != needs->kinds.end() : own;
    if (belongs) chosen.push_back(check);
  }
  return chosen;
}

std::string to_text(const DriverReport& report, Paint paint, std::optional<size_t> columns) {
  DoctorPage page(paint, columns);
  page.heading(fmt::format("{}, as {}{}", report.name, report.user,
                           report.where.empty() ? "" : " (" + report.where + ")"));
  add_verdict(page, report);
  if (report.checks.empty()) return page.take();
  page.blank();
  page.heading("what it needs of this host");
  for (HostCheck check : report.checks) {
    check.need = native::Need::useful;  // for this driver it is not optional
    page.host_check(check);
  }
  page.repairs(report.checks);
  return page.take();
}

std::string to_json(const DriverReport& report) {
  std::string out;
  api::ObjectWriter object(out);
  object.member("ok", report.is_fit());
  object.member("version", report.version);
  object.member("user", report.user);
  object.member("name", report.name);
  object.member("built", report.is_built);
  if (!report.level.empty()) object.member("level", report.level);
  object.member("checks", report.checks);
  if (!report.trouble.empty()) {
    object.member("trouble", report.trouble);
    if (!report.hint.empty()) object.member("hint", report.hint);
  }
  if (!report.driver.is_null()) object.member("driver", report.driver);
  if (flag_at(report.driver, "available") && !report.needs_root) {
    append_tryout(object.key("tryout"), report.tryout);
  }
  object.close();
  return out;
}

}  // namespace atl::cli
