// Configuration files of the kind that people have: each is understood.
#include <gmock/gmock.h>

#include "config/migrate.h"
#include "config/settings.h"
#include "json/encode.h"

namespace atl::config {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::optional<std::string> environment(std::string_view name) {
  if (name == "E2B_API_KEY") return "e2b_0123456789";
  return std::nullopt;
}

const std::vector<std::string> kBuilt = {"native", "rootless", "subprocess", "local"};

// As `config check` sees it, on an Atoll that has a driver for everything.
Settings read(std::string_view text) {
  auto settings = read_settings(text, "atoll.yaml", environment);
  std::vector<std::string> every = {"lambda",  "ecs_fargate", "eks_fargate", "docker",
                                    "browser", "codespaces",  "wasm",        "local"};
  check_settings(settings, every);
  return settings;
}

std::vector<std::string> problems_of(const Settings& settings) {
  std::vector<std::string> problems;
  for (const Finding& finding : settings.findings) {
    if (finding.severity == Severity::error) problems.push_back(to_text(finding));
  }
  return problems;
}

std::string value_of(const Settings& settings, std::string_view path) {
  const Setting* setting = settings.find(path);
  if (setting == nullptr) return "(nothing)";
  if (const auto* text = setting->value.if_string()) return {text->data(), text->size()};
  return json::encode(setting->value);
}

struct Sample {
  std::string_view name;
  std::string_view text;
  std::string_view path;  // one of its settings, and what it means
  std::string_view value;
};

constexpr Sample kSamples[] = {
    {"lambda", R"(run_mode: lambda
sandbox:
  type: aws_lambda
  runtime: python3.11
  timeout: 900  # in seconds
  memory: 10240  # the most

# a comment at the end
)",
     "sandbox.timeout", "15m"},
    {"ecs_fargate", R"(run_mode: ecs_fargate
sandbox:
  type: aws_ecs_fargate
  cpu: 1024
  memory: 2048
  storage: 20

)",
     "sandbox.cpus", "1"},
    {"eks_fargate", R"(run_mode: eks_fargate
sandbox:
  type: aws_eks_fargate
  namespace: cognition-workspaces
  service_account: cognition-runner
)",
     "sandbox.driver", "eks_fargate"},
    {"wasm", R"(run_mode: wasm
sandbox:
  type: wasm_runtime
  runtime: wasmtime
  capabilities: [filesystem, networking]

)",
     "sandbox.capabilities", R"(["filesystem","networking"])"},
    {"codespaces", R"(run_mode: codespaces
sandbox:
  type: github_codespaces
  prebuild: true
  dotfiles_repo: user/dotfiles

)",
     "sandbox.prebuild", "true"},
    {"browser", R"(run_mode: browser
sandbox:
  type: web_assembly
  compile_target: wasm32-wasi

)",
     "sandbox.driver", "wasm"},
    {"local", R"(# cognition.yaml in workspace
run_mode: local
)",
     "sandbox.driver", "local"},
    {"docker", R"(run_mode: docker
sandbox:
  image: cognition/sandbox:latest
  volumes:
    - .:/workspace
    - /var/run/docker.sock:/var/run/docker.sock
)",
     "sandbox.image", "cognition/sandbox:latest"},
    {"production", R"(run_mode: ecs_fargate
sandbox:
  type: aws_ecs
  cluster: cognition-production
  task_definition: cognition-sandbox
  subnets: [subnet-xxx]
  security_groups: [sg-yyy]

storage:
  type: efs
  file_system_id: fs-zzz

auto_scaling:
  min_tasks: 1
  max_tasks: 10
  target_cpu: 70
)",
     "auto_scaling.max_tasks", "10"},
    {"webcontainer", R"(webcontainer:
  enabled: true
  workdir: "/workspace"
  coep: "credentialless"
  forward_errors: true
  resources:
    memory_mb: 2048
    cpu_cores: 2
)",
     "webcontainer.memory", "2g"},
    {"e2b", R"(e2b:
  enabled: true
  api_key: ${E2B_API_KEY}
  default_template: "python3"
  timeout_seconds: 600
  resources:
    memory_mb: 4096
    cpu_cores: 4
)",
     "e2b.timeout", "10m"},
    {"manager", R"({
docker: { socketPath: '/var/run/docker.sock' },
pool: { maxSize: 10, idleTimeoutMs: 60_000 },
defaults: {
timeout: 30_000,
resources: { memory: '256m', cpus: 0.5, pidsLimit: 100 },
network: { mode: 'none' },
},
})",
     "sandbox.timeout", "30s"},
    {"executor", R"(sandbox:
  { type: 'docker', image: 'node:20-alpine', resources: { memory: '128m', cpus: 0.5, pidsLimit: 50 }, network: { mode: 'none' } }
)",
     "sandbox.memory", "128m"},
    {"module", R"(wasm: { cacheSize: 10 }
sandbox: { type: 'wasm', wasmModule: 'https://example.com/sandbox.wasm', wasi: true }
)",
     "wasm.cache_size", "10"},
};

constexpr std::string_view kHybrid = R"(run_mode: hybrid_aws
sandbox:
  primary:
    type: ecs_fargate
    use_for: [sessions, streaming, long_running]
  secondary:
    type: lambda
    use_for: [file_ops, git, quick_commands]

)";

constexpr std::string_view kOptimized = R"(run_mode: hybrid_aws
sandbox:
  primary:
    type: ecs_fargate
    for: [sessions, streaming]
  secondary:
    type: lambda
    for: [files, git, validate]
    functions:
      read_file: arn:aws:lambda:region:account:function:read-file
      write_file: arn:aws:lambda:region:account:function:write-file
      git_status: arn:aws:lambda:region:account:function:git-status
)";

TEST(Samples, EachIsUnderstood) {
  for (const Sample& sample : kSamples) {
    const Settings settings = read(sample.text);
    EXPECT_THAT(problems_of(settings), IsEmpty()) << sample.name;
    EXPECT_EQ(value_of(settings, sample.path), sample.value) << sample.name;
  }
}

// A hybrid is understood, too; that one route has two drivers is what is not built.
TEST(Samples, HybridsAreUnderstoodAndNamed) {
  for (const std::string_view text : {kHybrid, kOptimized}) {
    const Settings settings = read(text);
    for (const Finding& finding : settings.findings) {
      if (finding.severity != Severity::error) continue;
      EXPECT_EQ(finding.problem, Problem::not_built) << to_text(finding);
      EXPECT_THAT(finding.message, HasSubstr("hybrid_aws"));
    }
    EXPECT_EQ(value_of(settings, "sandbox.primary.driver"), "ecs_fargate");
    EXPECT_EQ(value_of(settings, "sandbox.secondary.driver"), "lambda");
  }
  EXPECT_EQ(value_of(read(kHybrid), "sandbox.secondary.use_for"),
            R"(["file_ops","git","quick_commands"])");
  EXPECT_EQ(value_of(read(kOptimized), "sandbox.primary.use_for"), R"(["sessions","streaming"])");
}

TEST(Samples, ADriverThatIsNotBuiltIsNamedWithItsLine) {
  for (const Sample& sample : kSamples) {
    auto settings = read_settings(sample.text, "atoll.yaml", environment);
    if (settings.find("sandbox.driver") == nullptr || sample.name == "local") continue;
    const std::string driver =
        sample.name == "browser" ? "browser" : value_of(settings, "sandbox.driver");
    check_settings(settings, kBuilt);
    const auto problems = problems_of(settings);
    ASSERT_EQ(problems.size(), 1u) << sample.name;
    EXPECT_THAT(problems[0], HasSubstr("the driver " + driver + " is not built yet"));
    EXPECT_THAT(problems[0], HasSubstr("native"));
  }
}

TEST(Samples, TheSocketOfDockerIsAWarningWithItsLine) {
  const Settings settings = read(kSamples[7].text);

  std::vector<std::string> warnings;
  for (const Finding& finding : settings.findings) {
    if (finding.problem == Problem::host_control) warnings.push_back(to_text(finding));
  }
  EXPECT_THAT(warnings, Contains(HasSubstr("atoll.yaml:4:3: warning: sandbox.volumes: "
                                           "/var/run/docker.sock rules the host")));
}

TEST(Samples, EachSaysTheSameInOurOwnWords) {
  std::vector<std::string_view> texts{kHybrid, kOptimized};
  for (const Sample& sample : kSamples) texts.push_back(sample.text);
  for (const std::string_view text : texts) {
    const Settings before = read(text);
    const std::string migrated = migrate(before, text);
    const Settings after = read(migrated);

    EXPECT_EQ(before.all.size(), after.all.size()) << migrated;
    for (const Setting& setting : before.all) {
      EXPECT_EQ(value_of(after, setting.path), value_of(before, setting.path)) << migrated;
    }
    EXPECT_EQ(migrate(after, migrated), migrated);
  }
}

}  // namespace
}  // namespace atl::config
