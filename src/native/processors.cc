#include "native/processors.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "base/text.h"
#include "os/file.h"

namespace atl::native {
namespace {

constexpr const char* kSlice = "/atoll";
constexpr const char* kShared = "/shared";
constexpr int kMostProcessors = 8192;

Result<std::string> read_line(const std::string& path) {
  TRY(auto text, os::read_file(AT_FDCWD, path, 4096));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

// A v1 group is of no use before it has processors and memory nodes.
Result<> make_group(const std::string& path, const std::string& processors) {
  if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return os_error("making the cgroup", path);
  const std::string parent = path.substr(0, path.rfind('/'));
  TRY(const auto nodes, read_line(parent + "/cpuset.mems"));
  TRY_OK(os::write_value(AT_FDCWD, path + "/cpuset.mems", nodes));
  return os::write_value(AT_FDCWD, path + "/cpuset.cpus", processors);
}

}  // namespace

Result<ProcessorSet> parse_processors(std::string_view text) {
  ProcessorSet set;
  const Error malformed(Code::invalid_argument,
                        "'" + to_printable(text.substr(0, 80)) + "' is no list of processors");
  const auto number = [](std::string_view part) {
    int value = -1;
    const auto [end, trouble] = std::from_chars(part.data(), part.data() + part.size(), value);
    const bool fine = trouble == std::errc() && end == part.data() + part.size();
    return fine && value < kMostProcessors ? value : -1;
  };
  for (const auto& part : split(text, ',')) {
    if (part.empty()) continue;
    const size_t dash = part.find('-');
    const int first = number(std::string_view(part).substr(0, dash));
    const int last =
        dash == std::string::npos ? first : number(std::string_view(part).substr(dash + 1));
    if (first < 0 || last < first) return malformed;
    for (int i = first; i <= last; ++i) set.insert(i);
  }
  return set;
}

std::string to_text(const ProcessorSet& processors) {
  std::string text;
  for (const int processor : processors) {
    text += (text.empty() ? "" : ",") + std::to_string(processor);
  }
  return text;
}

Result<> Processors::check() const {
  if (!slice_.cpuset().empty()) return {};
  return Error(Code::unsupported, "this host has no cpuset controller for dedicated processors")
      .with_hint("enable the cgroup controller cpuset, or ask for shared processors");
}

ProcessorSet Processors::all() const {
  const std::string base = slice_.cpuset();
  const bool v1 = slice_.version() == CgroupVersion::v1;
  auto text = read_line(base + (v1 ? "/cpuset.cpus" : "/cpuset.cpus.effective"));
  auto set = text ? parse_processors(*text) : Result<ProcessorSet>(ProcessorSet());
  return set ? *set : ProcessorSet();
}

// Other launchers give processors away too; on v1 their groups tell.
ProcessorSet Processors::shared() const {
  ProcessorSet rest = all();
  if (slice_.version() == CgroupVersion::v1) {
    const std::string slice = slice_.cpuset() + kSlice;
    for (const auto& name : os::names_in(AT_FDCWD, slice)) {
      if (!name.starts_with("sbx")) continue;
      std::string path = slice;
      const auto text = read_line(path.append("/").append(name).append("/cpuset.cpus"));
      const auto taken = text ? parse_processors(*text) : Result<ProcessorSet>(ProcessorSet());
      for (const int processor : taken ? *taken : ProcessorSet()) rest.erase(processor);
    }
  }
  for (const auto& [id, processors] : owned_) {
    for (const int processor : processors) rest.erase(processor);
  }
  return rest;
}

Result<ProcessorSet> Processors::take(const std::string& id, size_t count) {
  TRY_OK(check());
  ProcessorSet free = shared();
  if (free.size() < count + 1) {
    return Error(Code::resource_exhausted, std::to_string(count) +
                                               " dedicated processors are asked for, and " +
                                               std::to_string(free.empty() ? 0 : free.size() - 1) +
                                               " can be given: one always stays for all others");
  }
  // The last ones: the first processor is where a host does most of its own work.
  ProcessorSet taken;
  while (taken.size() < count) {
    taken.insert(*free.rbegin());
    free.erase(*free.rbegin());
  }
  owned_[id] = taken;
  if (auto applied = apply(); !applied) {
    give_back(id);
    return std::move(applied).error();
  }
  return taken;
}

void Processors::adopt(const std::string& id, ProcessorSet processors) {
  if (!processors.empty()) owned_[id] = std::move(processors);
}

void Processors::give_back(const std::string& id) {
  if (owned_.erase(id) == 0) return;
  if (slice_.version() == CgroupVersion::v1) {
    rmdir((slice_.cpuset() + kSlice + "/" + id).c_str());
  }
  static_cast<void>(apply());
}

void Processors::remove_if_empty() const {
  if (slice_.version() != CgroupVersion::v1 || slice_.cpuset().empty()) return;
  rmdir((slice_.cpuset() + kSlice + kShared).c_str());
  rmdir((slice_.cpuset() + kSlice).c_str());
}

// Everybody who shares is moved off what somebody owns.
Result<> Processors::apply() {
  const std::string rest = to_text(shared());
  if (slice_.version() == CgroupVersion::v1) {
    TRY_OK(make_group(slice_.cpuset() + kSlice, to_text(all())));
    return make_group(slice_.cpuset() + kSlice + kShared, rest);
  }
  for (const auto& tree : slice_.trees()) {
    for (const auto& name : os::names_in(AT_FDCWD, tree.path)) {
      if (!name.starts_with("sbx") || owned_.contains(name)) continue;
      static_cast<void>(os::write_value(AT_FDCWD, tree.path + "/" + name + "/cpuset.cpus",
                                        owned_.empty() ? "\n" : rest));
    }
  }
  return {};
}

Result<Fd> Processors::join(const std::string& id) {
  if (slice_.version() != CgroupVersion::v1 || slice_.cpuset().empty()) return Fd();
  const auto found = owned_.find(id);
  // Also while nobody owns any: who comes later must be able to move this one.
  const std::string name = found == owned_.end() ? kShared : "/" + id;
  const std::string group = slice_.cpuset() + kSlice + name;
  if (found != owned_.end()) TRY_OK(make_group(group, to_text(found->second)));
  // Another launcher may be making the shared one just now: nobody can join it without processors.
  const auto given = read_line(group + "/cpuset.cpus");
  if (!given || given->empty()) TRY_OK(apply());
  return os::open_at(AT_FDCWD, group + "/" + join_file(CgroupVersion::v1), O_WRONLY);
}

Result<> Processors::pin(const std::string& id) const {
  if (slice_.version() != CgroupVersion::v2 || owned_.empty()) return {};
  const auto found = owned_.find(id);
  const std::string wanted = to_text(found == owned_.end() ? shared() : found->second);
  for (const auto& tree : slice_.trees()) {
    TRY_OK(os::write_value(AT_FDCWD, tree.path + "/" + id + "/cpuset.cpus", wanted));
  }
  return {};
}

}  // namespace atl::native
