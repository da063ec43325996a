#include "config/kinds.h"

#include <algorithm>
#include <cctype>

namespace atl::config {
namespace {

constexpr int64_t kGib = 1024;  // in MiB

constexpr std::array<std::string_view, 5> kLevels = {"none", "process", "container", "sentry",
                                                     "vm"};

constexpr Kind kKinds[] = {
    {"native", {}, "container"},
    {"rootless", {}, "container"},
    {"subprocess", {}, "process"},
    {"local", {"local_directory"}, "none"},
    {"chroot", {}, "process"},
    {"docker", {}, "container"},
    {"podman", {}, "container"},
    {"containerd", {}, "container"},
    {"kubernetes", {"k8s"}, "container"},
    {"nomad", {}, "container"},
    {"swarm", {"docker_swarm"}, "container"},
    {"gvisor", {"runsc"}, "sentry"},
    // A 32-bit address space has 65,536 pages of 64 KiB.
    {"wasm", {"wasm_runtime", "web_assembly", "wasmtime"}, "sentry", Place::ours, {4 * kGib}},
    {"firecracker", {"firecracker_microvm", "microvm"}, "vm"},
    {"qemu", {"kvm", "qemu_kvm"}, "vm"},
    {"cloud_hypervisor", {}, "vm"},
    {"kata", {}, "vm"},
    {"lambda", {"aws_lambda"}, "", Place::third_party, {10 * kGib, {}, 10 * kGib, 900}},
    {"ecs_fargate",
     {"aws_ecs_fargate", "aws_ecs", "ecs", "fargate"},
     "",
     Place::third_party,
     {120 * kGib, 16, 200 * kGib, {}}},
    {"eks_fargate", {"aws_eks_fargate"}, "", Place::third_party, {120 * kGib, 16, {}, {}}},
    {"cloud_run", {"google_cloud_run"}, "", Place::third_party},
    {"azure_container_instances", {"aci"}, "", Place::third_party},
    {"codespaces", {"github_codespaces"}, "", Place::third_party},
    {"e2b", {}, "", Place::third_party},
    {"webcontainer", {"web_container"}, "", Place::third_party},
    {"browser", {}, "", Place::third_party},
};

}  // namespace

std::span<const Kind> all_kinds() { return kKinds; }

const Kind* find_kind(std::string_view word) {
  const std::string name = to_snake_case(word);
  if (name.empty()) return nullptr;
  for (const Kind& kind : kKinds) {
    if (kind.name == name || std::ranges::find(kind.aliases, name) != kind.aliases.end()) {
      return &kind;
    }
  }
  return nullptr;
}

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const Kind& kind : kKinds) names.emplace_back(kind.name);
  return names;
}

int level_rank(std::string_view level) {
  const auto found = std::ranges::find(kLevels, level);
  return found == kLevels.end() ? -1 : static_cast<int>(found - kLevels.begin());
}

bool is_hybrid(std::string_view run_mode) {
  return run_mode == "hybrid" || run_mode.starts_with("hybrid_");
}

std::string to_snake_case(std::string_view word) {
  std::string out;
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '-') {
      out += '_';
    } else if (byte < 0x80 && std::isupper(byte) != 0) {
      if (!out.empty() && out.back() != '_') out += '_';
      out += static_cast<char>(std::tolower(byte));
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace atl::config
