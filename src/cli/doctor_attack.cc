// `atoll doctor --attack`: tries to break out of sandboxes of this host, and prints how it went.
#include <signal.h>
#include <unistd.h>

#include "cli/attack_canaries.h"
#include "cli/attack_card.h"
#include "cli/doctor.h"
#include "cli/format.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "cli/report.h"

namespace atl::cli {
namespace {

using api::v1::WireCreate;
using api::v1::WireExec;
using api::v1::WireHostDir;

constexpr int64_t kAttackPatienceMs = 60'000;
constexpr int kFirstDescriptor = 3, kLastDescriptor = 31;

// Small, so that twice of it hurts nobody; and what the attack is told of it.
struct LimitOf {
  std::string_view attack;
  Resources resources;
  std::map<std::string, std::string> told;
};

const std::vector<LimitOf>& all_limits() {
  static const std::vector<LimitOf> kLimits = [] {
    Resources pids, memory, disk, pool, little_pool, cpu;
    pids.pids = 64;
    memory.memory_mb = 64;
    disk.disk_mb = 16;
    // A disk of more than half the memory is in the storage pool.
    pool.memory_mb = 64;
    pool.disk_mb = 40;
    little_pool.memory_mb = 8;
    little_pool.disk_mb = 5;
    cpu.cpu = 0.2;
    const std::map<std::string, std::string> of_disk{{"ATOLL_ATTACK_LIMIT_DISK_MIB", "16"},
                                                     {"ATOLL_ATTACK_LIMIT_INODES", "4096"}};
    return std::vector<LimitOf>{
        {"fork_bomb", pids, {{"ATOLL_ATTACK_LIMIT_PIDS", "64"}}},
        {"sudo_fork_bomb", pids, {{"ATOLL_ATTACK_LIMIT_PIDS", "64"}}},
        {"memory_bomb", memory, {{"ATOLL_ATTACK_LIMIT_MEMORY_MIB", "64"}}},
        {"tmpfs_bomb", memory, {{"ATOLL_ATTACK_LIMIT_MEMORY_MIB", "64"}}},
        {"disk_fill", disk, of_disk},
        {"inode_fill", disk, of_disk},
        {"pool_fill", pool, {{"ATOLL_ATTACK_LIMIT_DISK_MIB", "40"}}},
        {"pool_files", little_pool, {{"ATOLL_ATTACK_LIMIT_DISK_MIB", "5"}}},
        {"pool_subvolume", pool, {}},
        {"cpu_spin", cpu, {{"ATOLL_ATTACK_LIMIT_CPU_PERCENT", "20"}}},
    };
  }();
  return kLimits;
}

Result<AttackedDriver> choose_driver(SandboxRunner& runner, const Args& args) {
  TRY(const auto drivers, runner.drivers());
  const std::string name = args.find("driver").value_or(find_default_driver(drivers));
  if (name.empty()) {
    return Error(Code::unavailable,
                 "no driver here isolates anything, so there is nothing to attack")
        .with_hint("atoll doctor tells what is missing");
  }
  for (const json::Value& driver : drivers) {
    if (text_at(driver, "name") != name) continue;
    if (!flag_at(driver, "available")) {
      return Error(Code::unavailable,
                   name + " is not available: " + text_at(driver, "unavailable_because"))
          .with_hint(text_at(driver, "hint"));
    }
    AttackedDriver chosen{name, text_at(driver, "capabilities.isolation"),
                          flag_at(driver, "capabilities.users"),
                          text_at(driver, "capabilities.kill_tree") == "sure"};
    if (chosen.isolation == "none") {
      return Error(Code::unsupported,
                   name + " isolates nothing: the attacks would run on the host itself");
    }
    // Only a daemon, whose engines show what its operator has named.
    if (!flag_at(driver, "capabilities.host_dir_ro")) {
      return Error(Code::unsupported, name +
                                          " shows sandboxes no directory of the host, and the "
                                          "attacks come in one")
          .with_hint(
              "leave the daemon out of it: atoll doctor --attack --state DIR, with an empty "
              "directory; or start it with ATOLL_ENGINE_MOUNT_ROOTS=/var/lib");
    }
    return chosen;
  }
  return Error(Code::not_found, "no driver is called " + name)
      .with_hint("atoll drivers lists them");
}

// Holds back what would end us, so that what was put out is taken in again. Made after the engine:
// its launcher must not inherit this.
class HeldSignals final {
 public:
  HeldSignals() {
    sigemptyset(&held_);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&held_, number);
    sigprocmask(SIG_BLOCK, &held_, &before_);
  }
  ~HeldSignals() {
    // Whoever has been told, has been told.
    timespec at_once{};
    while (sigtimedwait(&held_, nullptr, &at_once) > 0) {
    }
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  // The one that came, or 0.
  static int arrived() {
    sigset_t pending;
    sigemptyset(&pending);
    sigpending(&pending);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
      if (sigismember(&pending, number) == 1) return number;
    }
    return 0;
  }

 private:
  sigset_t held_{}, before_{};
};

class Attacker final {
 public:
  Attacker(SandboxRunner& runner, AttackCanaries& canaries, AttackedDriver driver)
      : runner_(runner), canaries_(canaries), driver_(std::move(driver)) {}

  // Errors are only those that end it all; whatever becomes of one attack is in its row.
  Result<> play(AttackRow& row) {
    const AttackInfo& attack = row.attack;
    if (!AttackCanaries::has_canary(attack.name)) {
      cover_not(row, "what it is after needs root of the host: run it as root");
    } else if (attack.setting == "plain") {
      TRY_OK(shoot(row, request_of(attack), {}));
    } else if (attack.setting == "limited") {
      TRY_OK(play_limited(row));
    } else if (attack.setting == "twice") {
      TRY_OK(play_twice(row));
    } else if (attack.setting == "workdir") {
      TRY_OK(play_workdir(row));
    } else {
      cover_not(row,
                "needs more than a run (" + attack.setting + "): only the security suite plays it");
    }
    TRY(const std::string seen, canaries_.take_evidence());
    if (!seen.empty()) {
      row.outcome = AttackOutcome::reached;
      row.detail = seen;
    }
    settle_claim(row, driver_);
    return {};
  }

 private:
  static void cover_not(AttackRow& row, std::string why) {
    row.outcome = AttackOutcome::not_covered;
    row.detail = std::move(why);
  }

  WireExec request_of(const AttackInfo& attack) const {
    WireExec exec;
    exec.argv = std::vector<std::string>{canaries_.program(), attack.name};
    exec.env = canaries_.environment();
    exec.timeout_ms = kAttackPatienceMs;
    if (attack.user == "root" && driver_.has_users) exec.user = "root";
    return exec;
  }

  // One sandbox, one run.
  Result<> shoot(AttackRow& row, WireExec exec, std::optional<Resources> limits) {
    WireCreate sandbox;
    sandbox.driver = driver_.name;
    sandbox.ttl_s = 300;
    sandbox.resources = limits;
    WireHostDir shared;
    shared.path = canaries_.shared();
    shared.access = HostAccess::ro;
    sandbox.host_dirs = std::vector<WireHostDir>{std::move(shared)};
    const auto result = runner_.run(std::move(sandbox), std::move(exec));
    if (result) {
      // Our own Ctrl-C ends the run; the attacks end with it.
      if (text_at(*result, "reason") == "killed") {
        return Error(Code::cancelled, "the attacks were interrupted");
      }
      judge_run(row, *result);
      was_refused_ = row.outcome == AttackOutcome::broken;
      return {};
    }
    const Error& error = result.error();
    if (error.code() == Code::cancelled) return error;
    was_refused_ = error.code() == Code::invalid_argument || error.code() == Code::not_found ||
                   error.code() == Code::permission_denied;
    // It holds no such limit, or none that small.
    if (limits && (error.code() == Code::unsupported || error.code() == Code::invalid_argument)) {
      cover_not(row, error.message());
    } else {
      row.outcome = AttackOutcome::broken;
      row.detail = error.message();
    }
    return {};
  }

  Result<> play_limited(AttackRow& row) {
    WireExec exec = request_of(row.attack);
    std::optional<Resources> limits;
    for (const LimitOf& limit : all_limits()) {
      if (limit.attack != row.attack.name) continue;
      limits = limit.resources;
      exec.env->insert(limit.told.begin(), limit.told.end());
    }
    return shoot(row, std::move(exec), limits);
  }

  Result<> play_twice(AttackRow& row) {
    for (const char* phase : {"leave", "look"}) {
      WireExec exec = request_of(row.attack);
      exec.env->insert_or_assign("ATOLL_ATTACK_PHASE", phase);
      TRY_OK(shoot(row, std::move(exec), {}));
      if (row.outcome == AttackOutcome::broken) return {};
    }
    return {};
  }

  Result<> play_workdir(AttackRow& row) {
    AttackRow best = row;
    best.outcome = AttackOutcome::denied;
    best.detail = "refused";
    for (int number = kFirstDescriptor; number <= kLastDescriptor; ++number) {
      WireExec exec = request_of(row.attack);
      exec.cwd = "/proc/self/fd/" + std::to_string(number);
      TRY_OK(shoot(row, std::move(exec), {}));
      if (row.outcome == AttackOutcome::reached) return {};
      // A directory that was refused is a denial; a sandbox that could not be made is none.
      if (row.outcome == AttackOutcome::broken && !was_refused_) return {};
      if (row.outcome == AttackOutcome::denied) best.detail = row.detail;
    }
    row = std::move(best);
    return {};
  }

  SandboxRunner& runner_;
  AttackCanaries& canaries_;
  const AttackedDriver driver_;
  // The last run did not come about because of what was asked, not because of the host.
  bool was_refused_ = false;
};

}  // namespace

Result<int> attack_from_inside(Context& context) {
  TRY(const std::string libexec, context.program.find_libexec());
  const std::string program = libexec + "/atoll-attack";
  if (access(program.c_str(), X_OK) != 0) {
    return os_error("looking for the attacks", program)
        .with_hint("install Atoll completely, or name the folder of its programs: ATOLL_LIBEXEC");
  }
  TRY(const std::string list, read_output(program, "--list"));
  TRY(const auto attacks, parse_catalogue(list));
  // What this kernel, or this user, does not even have: being denied that means nothing.
  TRY(const std::string told, read_output(program, "--host"));
  TRY(const json::Value missing, json::parse(told));
  AttackCanaries::let_engines_show();
  TRY(const auto runner, SandboxRunner::open(context));
  if (!runner->takes_directories()) {
    return Error(Code::unsupported, "attacks run on this host only, not on a daemon over TCP")
        .with_hint("run it there, or use the daemon's Unix socket: --state DIR");
  }
  TRY(const AttackedDriver driver, choose_driver(*runner, context.args));

  const HeldSignals held;
  TRY(const auto canaries, AttackCanaries::create(program));
  Attacker attacker(*runner, *canaries, driver);
  const bool tells = !context.json() && !context.quiet() && isatty(STDERR_FILENO) == 1;
  std::vector<AttackRow> rows;
  for (const AttackInfo& attack : attacks) {
    AttackRow row;
    row.attack = attack;
    if (tells) tell("· " + single_line(attack.name) + ": " + single_line(attack.title));
    TRY_OK(attacker.play(row));
    if (const int signal = HeldSignals::arrived(); signal != 0) {
      tell("atoll: interrupted after " + std::to_string(rows.size()) + " attacks");
      return 128 + signal;
    }
    const std::string why = text_at(missing, attack.name);
    if (!why.empty() && row.outcome == AttackOutcome::denied) {
      row.outcome = AttackOutcome::not_applicable;
      row.detail = why;
    }
    rows.push_back(std::move(row));
  }
  if (context.json()) {
    TRY_OK(print(card_to_json(rows, driver) + "\n"));
  } else {
    TRY_OK(print(format_card(rows, driver)));
  }
  return holds(rows) ? 0 : 1;
}

}  // namespace atl::cli
