// Every spelling of every value that docs/configuration.md lists means what it says there.
#include <gmock/gmock.h>

#include "config/kinds.h"
#include "config/settings.h"
#include "json/encode.h"

namespace atl::config {
namespace {

using ::testing::HasSubstr;

std::optional<std::string> nothing(std::string_view) { return std::nullopt; }

std::string value_at(std::string_view text, std::string_view path) {
  const auto settings = read_settings(text, "atoll.yaml", nothing);
  if (has_errors(settings.findings)) return to_text(settings.findings.front());
  const Setting* setting = settings.find(path);
  if (setting == nullptr) return "(nothing)";
  if (const auto* word = setting->value.if_string()) return {word->data(), word->size()};
  return json::encode(setting->value);
}

struct Case {
  std::string_view text;
  std::string_view path;
  std::string_view value;
};

TEST(Spellings, MeanOneThing) {
  constexpr Case kCases[] = {
      {"sandbox: {memory: 256m}", "sandbox.memory", "256m"},
      {"sandbox: {memory: 256M}", "sandbox.memory", "256m"},
      {"sandbox: {memory: 512Mi}", "sandbox.memory", "512m"},
      {"sandbox: {memory: 2GiB}", "sandbox.memory", "2g"},
      {"sandbox: {memory: 2048}", "sandbox.memory", "2g"},
      {"sandbox: {memory: '2048'}", "sandbox.memory", "2g"},
      {"sandbox: {memory: 2_048}", "sandbox.memory", "2g"},
      {"sandbox: {memory: 268435456b}", "sandbox.memory", "256m"},
      {"sandbox: {memory_mb: 300}", "sandbox.memory", "300m"},
      {"sandbox: {memoryMb: 300}", "sandbox.memory", "300m"},
      {"sandbox: {memory_gb: 1.5}", "sandbox.memory", "1536m"},
      {"sandbox: {mem: 64}", "sandbox.memory", "64m"},
      {"sandbox: {resources: {memory: 1g}}", "sandbox.memory", "1g"},
      {"sandbox: {cpus: 0.5}", "sandbox.cpus", "0.5"},
      {"sandbox: {cpus: 1024}", "sandbox.cpus", "1024"},
      {"sandbox: {cpu: 1024}", "sandbox.cpus", "1"},
      {"sandbox: {cpu: 256}", "sandbox.cpus", "0.25"},
      {"sandbox: {cpu: 2}", "sandbox.cpus", "2"},
      {"sandbox: {cpu: 500m}", "sandbox.cpus", "0.5"},
      {"sandbox: {cpu_cores: 4}", "sandbox.cpus", "4"},
      {"sandbox: {cpuCores: 4}", "sandbox.cpus", "4"},
      {"sandbox: {vcpus: 4}", "sandbox.cpus", "4"},
      {"sandbox: {pids: 64}", "sandbox.pids", "64"},
      {"sandbox: {pidsLimit: 64}", "sandbox.pids", "64"},
      {"sandbox: {pids_limit: 64}", "sandbox.pids", "64"},
      {"sandbox: {disk: 10g}", "sandbox.disk", "10g"},
      {"sandbox: {disk_mb: 512}", "sandbox.disk", "512m"},
      {"sandbox: {disk_gb: 2}", "sandbox.disk", "2g"},
      {"sandbox: {storage: 20}", "sandbox.disk", "20g"},
      {"sandbox: {timeout: 900}", "sandbox.timeout", "15m"},
      {"sandbox: {timeout: 500ms}", "sandbox.timeout", "500ms"},
      {"sandbox: {timeout_seconds: 30}", "sandbox.timeout", "30s"},
      {"sandbox: {timeout_s: 30}", "sandbox.timeout", "30s"},
      {"sandbox: {timeoutMs: 1500}", "sandbox.timeout", "1500ms"},
      {"defaults: {timeout: 30_000}", "sandbox.timeout", "30s"},
      {"defaults: {timeout: 30s}", "sandbox.timeout", "30s"},
      {"sandbox: {cpu_time: 5s}", "sandbox.cpu_time", "5s"},
      {"sandbox: {cpu_time_ms: 5000}", "sandbox.cpu_time", "5s"},
      {"sandbox: {ttl: 2h}", "sandbox.ttl", "2h"},
      {"sandbox: {ttl_seconds: 60}", "sandbox.ttl", "1m"},
      {"sandbox: {ttl_s: 60}", "sandbox.ttl", "1m"},
      {"sandbox: {idle: 10m}", "sandbox.idle", "10m"},
      {"sandbox: {idle_timeout: 60}", "sandbox.idle", "1m"},
      {"sandbox: {idle_timeout_seconds: 60}", "sandbox.idle", "1m"},
      {"sandbox: {idle_s: 60}", "sandbox.idle", "1m"},
      {"sandbox: {idleTimeoutMs: 60_000}", "sandbox.idle", "1m"},
      {"pool: {idleTimeoutMs: 60_000}", "pool.idle_timeout", "1m"},
      {"pool: {idle_timeout_seconds: 60}", "pool.idle_timeout", "1m"},
      {"pool: {maxSize: 10}", "pool.max_size", "10"},
      {"docker: {socketPath: /run/docker.sock}", "docker.socket", "/run/docker.sock"},
      {"wasm: {cacheSize: 10}", "wasm.cache_size", "10"},
      {"sandbox: {use_for: [git]}", "sandbox.use_for", R"(["git"])"},
      {"sandbox: {for: git}", "sandbox.use_for", R"(["git"])"},
      {"sandbox: {network: none}", "sandbox.network", "none"},
      {"sandbox: {network: {mode: none}}", "sandbox.network", "none"},
      {"sandbox: {network: deny}", "sandbox.network", "none"},
      {"sandbox: {network: off}", "sandbox.network", "none"},
      {"sandbox: {network: false}", "sandbox.network", "none"},
      {"sandbox: {min_isolation: vm}", "sandbox.min_isolation", "vm"},
      {"sandbox: {isolation_level: vm}", "sandbox.min_isolation", "vm"},
      {"sandbox: {isolation: vm}", "sandbox.min_isolation", "vm"},
      {"sandbox: {min-isolation: vm}", "sandbox.min_isolation", "vm"},
      {"sandbox: {env: {A: 1, B: true, C: text}}", "sandbox.env",
       R"({"A":"1","B":"true","C":"text"})"},
      {"sandbox: {environment: [A=1, B=x=y]}", "sandbox.env", R"({"A":"1","B":"x=y"})"},
      {"sandbox: {envs: {A: 1}}", "sandbox.env", R"({"A":"1"})"},
      {"sandbox: {workdir: /srv}", "sandbox.workdir", "/srv"},
      {"sandbox: {cwd: /srv}", "sandbox.workdir", "/srv"},
      {"sandbox: {working_dir: /srv}", "sandbox.workdir", "/srv"},
      {"sandbox: {workingDirectory: /srv}", "sandbox.workdir", "/srv"},
      {"sandbox: {mounts: ['.:/workspace:ro']}", "sandbox.volumes", R"([".:/workspace:ro"])"},
      {"sandbox: {driver: native}", "sandbox.driver", "native"},
      {"sandbox: {type: native}", "sandbox.driver", "local"},
      {"run_mode: native", "sandbox.driver", "native"},
      {"run_mode: local", "sandbox.driver", "local"},
      {"serve: {parked: 8}", "serve.parked", "8"},
      {"serve: {longest_ttl: 1d}", "serve.longest_ttl", "1d"},
      {"serve: {cors_origin: https://a}", "serve.cors_origins", R"(["https://a"])"},
      {"webcontainer: {cpu: 2}", "webcontainer.cpus", "2"},
      {"webcontainer: {resources: {cpu_cores: 2}}", "webcontainer.cpus", "2"},
      {"webcontainer: {memory_mb: 2048}", "webcontainer.memory", "2g"},
      {"e2b: {timeout_seconds: 600}", "e2b.timeout", "10m"},
      {"e2b: {timeoutMs: 600000}", "e2b.timeout", "10m"},
      {"e2b: {memory_mb: 4096}", "e2b.memory", "4g"},
      {"e2b: {cpu_cores: 4}", "e2b.cpus", "4"},
      {"e2b: {cpu: 1024}", "e2b.cpus", "1"},
  };
  for (const Case& one : kCases) EXPECT_EQ(value_at(one.text, one.path), one.value) << one.text;
}

// Whoever adds a spelling to the table adds it to the test above.
TEST(Spellings, OfTheTableAreAllTaken) {
  for (const Key& key : all_keys()) {
    for (const Spelling& spelling : key.spellings) {
      if (spelling.name.empty()) continue;
      EXPECT_EQ(find_key(key.section, spelling.name).key, &key) << spelling.name;
    }
  }
}

TEST(Spellings, KindsHaveManyNames) {
  constexpr std::pair<std::string_view, std::string_view> kCases[] = {
      {"aws_ecs", "ecs_fargate"},
      {"aws_ecs_fargate", "ecs_fargate"},
      {"ecs_fargate", "ecs_fargate"},
      {"lambda", "lambda"},
      {"aws_lambda", "lambda"},
      {"wasm_runtime", "wasm"},
      {"web_assembly", "wasm"},
      {"github_codespaces", "codespaces"},
      {"aws_eks_fargate", "eks_fargate"},
      {"k8s", "kubernetes"},
      {"cloud-hypervisor", "cloud_hypervisor"},
      {"awsLambda", "lambda"},
  };
  for (const auto& [word, name] : kCases) {
    EXPECT_EQ(value_at(std::string("sandbox: {type: ") + std::string(word) + "}", "sandbox.driver"),
              name);
  }
  for (const Kind& kind : all_kinds()) {
    EXPECT_EQ(find_kind(kind.name), &kind);
    for (const std::string_view alias : kind.aliases) {
      if (!alias.empty()) EXPECT_EQ(find_kind(alias), &kind) << alias;
    }
  }
}

TEST(Spellings, NonsenseIsSaidToBeSo) {
  constexpr std::pair<std::string_view, std::string_view> kCases[] = {
      {"sandbox: {memory: lots}", "expected a size such as 256m"},
      {"sandbox: {memory: [1]}", "got a list"},
      {"sandbox: {memory: 0}", "it is between 1 and"},
      {"sandbox: {memory: -5}", "it is between 1 and"},
      {"sandbox: {memory: 268435456}", "for bytes write the unit"},
      {"sandbox: {memory: }", "it has no value"},
      {"sandbox: {cpus: 0}", "more than 0"},
      {"sandbox: {cpus: 2000}", "at most 1024"},
      {"sandbox: {cpus: many}", "expected a number of processors"},
      {"sandbox: {pids: 1.5}", "got a fraction"},
      {"sandbox: {pids: 0}", "it is between 1 and"},
      {"sandbox: {timeout: soon}", "expected a time"},
      {"sandbox: {timeout: 0}", "it must be more than zero"},
      {"sandbox: {ttl: 8d}", "8 days is longer than 7 days, which is the most"},
      {"sandbox: {ttl: 999d}", "999 days is longer than 7 days"},
      {"sandbox: {ttl: 500ms}", "500 ms is shorter than 1 second"},
      {"sandbox: {timeout: 40d}", "40 days is longer than 30 days"},
      {"sandbox: {network: bridge}", "is not built yet"},
      {"sandbox: {network: {mode: none, allow: x}}", "nothing else"},
      {"sandbox: {min_isolation: contaner}", "did you mean container?"},
      {"sandbox: {driver: dokcer}", "did you mean docker?"},
      {"sandbox: {here: writable}", "known: auto, cow, ro, rw"},
      {"sandbox: {env: [NOVALUE]}", "not NAME=value"},
      {"sandbox: {env: {A: [1]}}", "expected text, got a list"},
      {"sandbox: {env: {'A B': 1}}", "neither '=' nor blanks"},
      {"sandbox: {volumes: ['a:b:c:d']}", "too many parts"},
      {"sandbox: {volumes: ['a:b']}", "no absolute path"},
      {"sandbox: {prebuild: maybe}", "expected true or false"},
      {"sandbox: 5", "it holds settings"},
      {"serve: {parked: 65}", "it is between 0 and 64"},
      {"version: 2", "is the file made for a newer Atoll?"},
      {"sandbox: {image: \"a\\nb\"}", "control characters"},
  };
  for (const auto& [text, why] : kCases) {
    const auto settings = read_settings(text, "atoll.yaml", nothing);
    ASSERT_TRUE(has_errors(settings.findings)) << text;
    EXPECT_THAT(to_text(settings.findings.front()), HasSubstr(why)) << text;
  }
}

}  // namespace
}  // namespace atl::config
