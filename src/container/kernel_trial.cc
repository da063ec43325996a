#include "container/kernel_trial.h"

#include <fcntl.h>
#include <sys/utsname.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/tar.h"
#include "base/text.h"
#include "container/container_spec.h"
#include "container/image_supply.h"
#include "os/file.h"
#include "telemetry/log.h"

namespace atl::container {
namespace {

constexpr auto kPatience = std::chrono::seconds(30);
constexpr auto kTryAgain = std::chrono::minutes(1);
constexpr std::string_view kKind = "kernel";
constexpr size_t kLongestView = 1024;
constexpr std::string_view kSharesTheKernel[] = {"runc", "crun", "youki", "nvidia"};

// Enough to be a root file system.
std::string empty_root() {
  std::string archive;
  for (const char* path : {"dev", "etc", "opt", "proc", "sys", "tmp"}) {
    TarEntry entry;
    entry.path = path;
    entry.kind = TarKind::directory;
    entry.mode = 0755;
    archive += tar_header(entry);
  }
  return archive + tar_end();
}

// What is there, once.
Task<std::string> take_all(std::shared_ptr<std::string> left) {
  co_return std::exchange(*left, std::string());
}

}  // namespace

Result<KernelView> parse_kernel_view(std::string_view text) {
  const auto lines = split(text, '\n');
  const bool is_sound = text.size() <= kLongestView && lines.size() >= 3 && !lines[0].empty() &&
                        (lines[2] == "gvisor" || lines[2] == "linux");
  if (!is_sound) {
    return Error(Code::internal,
                 "its container does not tell its kernel: " + to_printable(text.substr(0, 200)));
  }
  return KernelView{lines[0], lines[1], lines[2] == "gvisor"};
}

bool shares_the_kernel(std::string_view runtime) {
  return std::ranges::find(kSharesTheKernel, runtime) != std::end(kSharesTheKernel);
}

std::string find_plain_runtime(const EngineFacts& facts) {
  if (shares_the_kernel(facts.default_runtime)) return facts.default_runtime;
  for (const auto& runtime : facts.runtimes)
    if (shares_the_kernel(runtime.name)) return runtime.name;
  return "";
}

Result<KernelView> view_of_host(const EngineFacts& facts) {
  utsname name{};
  uname(&name);
  if (facts.kernel != name.release) {
    return Error(Code::unsupported, "the engine is in another kernel, " +
                                        to_printable(facts.kernel) + ", which tells nothing here");
  }
  TRY(const auto boot, os::read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", kLongestView));
  return KernelView{std::string(name.release) + " " + name.version, boot.substr(0, boot.find('\n')),
                    false};
}

KernelVerdict judge_kernel(const KernelView& own, const KernelView& seen) {
  const bool is_another = seen.name != own.name;
  if (is_another && seen.is_gvisor) return {Isolation::sentry, "", own.name, false};
  const bool is_another_boot = !seen.boot.empty() && !own.boot.empty() && seen.boot != own.boot;
  if (is_another && is_another_boot) return {Isolation::vm, "", own.name, false};
  return {Isolation::container, "its containers are in the kernel of the engine's host", "", false};
}

void add_runtime(Capabilities& can, const std::string& name, const KernelVerdict& verdict) {
  can.runtimes.push_back({name, verdict.isolation});
  const std::string words = "runtime " + to_printable(name);
  if (verdict.isolation == Isolation::sentry) {
    can.not_protected.push_back("with " + words +
                                " a command can look at the agent and end it, and the sandbox "
                                "too, and the number of processes has no limit");
    can.not_protected.push_back("with " + words +
                                " 256 MiB more memory are allowed than was asked for, and what "
                                "goes beyond ends the sandbox, not the command");
  }
  if (!verdict.why.empty())
    can.not_protected.push_back(words + " is no more than a container: " + verdict.why);
}

const KernelVerdict* KernelTrials::find_known(const EngineFacts::Runtime& runtime) const {
  const auto found = known_.find(runtime.name);
  if (found == known_.end() || found->second.definition != runtime.definition) return nullptr;
  const auto& until = found->second.until;
  if (until && std::chrono::steady_clock::now() > *until) return nullptr;
  return &found->second.verdict;
}

Task<KernelVerdict> KernelTrials::judge(EngineFacts::Runtime runtime, std::string plain) {
  const auto self = shared_from_this();
  if (shares_the_kernel(runtime.name)) co_return KernelVerdict();
  for (;;) {
    if (const auto* verdict = find_known(runtime)) co_return *verdict;
    if (!busy_) break;
    const auto other = busy_;
    CO_TRY_OK(co_await other->wait());
  }
  busy_ = std::make_shared<Event>(fleet_->executor);
  auto verdict = co_await try_runtime(runtime.name, std::move(plain));
  const auto dropped = co_await drop_trial_image(fleet_, std::string(kKind));
  if (!dropped) {
    telemetry::log_warn("the image of a trial stays until the next sweep",
                        {{"engine", fleet_->dialect.name}, {"why", dropped.error().message()}});
  }
  std::exchange(busy_, nullptr)->fire();
  if (!verdict && verdict.error().code() == Code::cancelled) co_return std::move(verdict).error();
  Known known{runtime.definition, {}, std::nullopt};
  if (verdict) {
    known.verdict = *std::move(verdict);
  } else {
    known.verdict.is_untried = true;
    known.verdict.why = "it could not be tried: " + verdict.error().message();
    known.until = std::chrono::steady_clock::now() + kTryAgain;
  }
  known_[runtime.name] = known;
  co_return known.verdict;
}

Task<KernelVerdict> KernelTrials::judge_named(std::string name) {
  const auto self = shared_from_this();
  const Dialect& dialect = fleet_->dialect;
  CO_TRY(const auto facts, co_await fleet_->client.facts());
  // What it lists it can have, and what it is told it does not hear.
  if (!dialect.picks_runtime && name != facts.default_runtime) {
    co_return Error(Code::unsupported, std::string(dialect.name) +
                                           " gives every container the runtime of its service, " +
                                           to_printable(facts.default_runtime) + ", and not " +
                                           to_printable(name))
        .with_hint("leave it out, or take docker, whose runtimes are tried");
  }
  for (const auto& runtime : facts.runtimes) {
    if (runtime.name == name) co_return co_await judge(runtime, find_plain_runtime(facts));
  }
  co_return Error(Code::not_found,
                  std::string(dialect.name) + " has no runtime " + to_printable(name));
}

Task<KernelVerdict> KernelTrials::try_runtime(std::string runtime, std::string plain) {
  KernelView own;
  if (!fleet_->dialect.picks_runtime) {
    CO_TRY(const auto facts, co_await fleet_->client.facts());
    CO_TRY(own, view_of_host(facts));
  } else if (plain.empty()) {
    co_return Error(Code::unsupported, "there is no other to compare it with");
  } else {
    CO_TRY(own, co_await look(std::move(plain)));
  }
  CO_TRY(const auto seen, co_await look(std::move(runtime)));
  co_return judge_kernel(own, seen);
}

Task<KernelView> KernelTrials::look(std::string runtime) {
  const std::string id = make_sandbox_id();
  under_way_.insert(id);
  auto said = co_await ask_container(id, std::move(runtime));
  auto removed = co_await remove_container(fleet_, id);
  under_way_.erase(id);  // what is left the sweeper finds
  if (!said) co_return std::move(said).error();
  if (!removed) co_return std::move(removed).error();
  co_return parse_kernel_view(*said);
}

Task<std::string> KernelTrials::ask_container(std::string id, std::string runtime) {
  SandboxSpec asked;
  asked.id = id;
  asked.runtime = std::move(runtime);
  CO_TRY(auto spec, make_container_spec(asked));
  if (!fleet_->dialect.picks_runtime) spec.runtime.clear();
  make_room_for_sentry(spec);
  spec.instance = fleet_->instance;
  spec.agent = fleet_->agent_on_engine();
  CO_TRY(spec.image, co_await get_trial_image(fleet_, std::string(kKind)));
  const std::string container = container_name(id);
  CO_TRY_OK(co_await fleet_->client.create(container, to_trial_json(spec, fleet_->dialect)));
  CO_TRY_OK(co_await fleet_->copy_agent(container));
  CO_TRY(const auto stream, co_await fleet_->client.listen_to(container));
  stream->set_deadline(std::chrono::steady_clock::now() + kPatience);
  CO_TRY_OK(co_await fleet_->client.start(container));
  std::string said(kLongestView + 1, '\0');
  size_t have = 0;
  while (have < said.size()) {
    CO_TRY(const size_t got, co_await stream->read_some(said.data() + have, said.size() - have));
    if (got == 0) break;
    have += got;
  }
  said.resize(have);
  co_return said;
}

namespace {

std::string trial_image(const Fleet& fleet, const std::string& kind) {
  return std::string(fleet.dialect.local_prefix) + "atoll-trial:" + kind + "-" +
         mark_of_instance(fleet.instance);
}

}  // namespace

Task<std::string> get_trial_image(std::shared_ptr<Fleet> fleet, std::string kind) {
  const std::string name = trial_image(*fleet, kind);
  auto found = co_await fleet->images.inspect(name);
  if (found) co_return name;
  if (found.error().code() != Code::not_found) co_return std::move(found).error();
  const auto left = std::make_shared<std::string>(empty_root());
  Labels labels{{std::string(kLabelInstance), fleet->instance}, {std::string(kLabelTrial), kind}};
  CO_TRY_OK(
      co_await fleet->images.import(name, std::move(labels), [left] { return take_all(left); }));
  co_return name;
}

Task<> drop_trial_image(std::shared_ptr<Fleet> fleet, std::string kind) {
  co_return co_await fleet->images.remove(trial_image(*fleet, kind));
}

Task<> drop_left_trial_images(std::shared_ptr<Fleet> fleet,
                              std::function<bool(const std::string& instance)> is_ended) {
  CO_TRY(auto images, co_await fleet->images.list_labelled(std::string(kLabelTrial)));
  for (auto& image : images) {
    if (!is_ended(image.labels[std::string(kLabelInstance)])) continue;
    auto removed = co_await fleet->images.remove(image.name);
    // One that a container has goes another time.
    if (!removed && removed.error().code() != Code::conflict) co_return removed;
  }
  co_return Result<>();
}

}  // namespace atl::container
