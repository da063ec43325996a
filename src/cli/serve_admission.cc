#include "cli/serve_admission.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/text.h"
#include "cli/sandbox_flags.h"
#include "cli/target.h"
#include "core/request_check.h"
#include "policy/quota_reader.h"

namespace atl::cli {
namespace {

constexpr size_t kMostCreations = 10'000;
constexpr size_t kLongestQueue = 100'000;
constexpr size_t kMostCreates = 1'000'000;
constexpr size_t kMostAtOnce = 10'000;
constexpr double kMostCpus = 1'000'000;
constexpr Millis kUsualQueueTimeout{10'000};
constexpr size_t kUsualCreations = 256;

constexpr Flag kFlags[] = {
    {"tenant-cpus", 0, "N", "most processors of a tenant's sandboxes together (no limit)"},
    {"tenant-memory", 0, "SIZE", "most memory of them together (no limit)"},
    {"tenant-disk", 0, "SIZE", "most disk of them together (no limit)"},
    {"tenant-creates", 0, "N", "most creates and runs of a tenant in a second (no limit)"},
    {"tenant-at-once", 0, "N",
     "creates and runs of a tenant under way at a time; more wait (no limit)"},
    {"quotas", 0, "FILE", "the same for single tenants, and for this host, in YAML"},
    {"creations", 0, "N", "sandboxes that are made at a time; more wait; 0 = no limit (256)"},
    {"queue", 0, "N", "how many creates and runs may wait for their turn (1000)"},
    {"queue-timeout", 0, "TIME", "how long one waits that does not say; 0 = not at all (10s)"},
    {"policy-url", 0, "URL",
     "ask this decision of an OPA server before something is made; none = nobody"},
    {"policy-timeout", 0, "TIME", "how long its answer may take, 10s at most (1s)"},
    {"policy-cache", 0, "TIME", "how long an answer holds for the same question, 60s at most (0)"},
};

Result<> read_limit(const Args& args, std::string_view flag, size_t most,
                    std::optional<int64_t>& limit) {
  if (!args.has(flag)) return {};
  size_t number = 0;
  TRY_OK(read_number(args, flag, 1, most, number));
  limit = static_cast<int64_t>(number);
  return {};
}

Result<> read_size(const Args& args, std::string_view flag, std::optional<int64_t>& limit) {
  const auto text = args.find(flag);
  if (!text) return {};
  TRY(limit, parse_mib(flag, *text));
  return {};
}

Result<> read_cpus(const Args& args, std::optional<int64_t>& milli_cpus) {
  const auto text = args.find("tenant-cpus");
  if (!text) return {};
  double cpus = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, trouble] = std::from_chars(text->data(), end, cpus);
  if (trouble != std::errc() || stop != end || !(cpus > 0) || cpus > kMostCpus) {
    return usage_error(
        fmt::format("--tenant-cpus: '{}' is no number of processors", to_printable(*text)));
  }
  milli_cpus = static_cast<int64_t>(std::ceil(cpus * 1'000));
  return {};
}

Result<> read_time(const Args& args, std::string_view flag, Millis least, Millis most,
                   Millis& time) {
  const auto text = args.find(flag);
  if (!text) return {};
  const auto parsed = parse_duration(*text);
  if (!parsed) return usage_error(fmt::format("--{}: {}", flag, parsed.error().message()));
  if (*parsed < least || *parsed > most) {
    return usage_error(
        fmt::format("--{}: it is from {} ms to {} ms", flag, least.count(), most.count()));
  }
  time = *parsed;
  return {};
}

Result<> read_policy(const Args& args, policy::OpaOptions& policy) {
  policy.url = args.find("policy-url").value_or("");
  if (policy.url == "none") policy.url.clear();
  policy.token = find_variable("ATOLL_POLICY_TOKEN").value_or("");
  for (const char c : policy.token) {
    if (static_cast<unsigned char>(c) <= 0x20 || static_cast<unsigned char>(c) > 0x7e)
      return usage_error("ATOLL_POLICY_TOKEN: it has characters that no token has");
  }
  TRY_OK(read_time(args, "policy-timeout", Millis(1), policy::kLongestOpaTimeout, policy.timeout));
  return read_time(args, "policy-cache", Millis(0), policy::kLongestOpaCache, policy.remember);
}

}  // namespace

constinit const std::span<const Flag> kAdmissionFlags = kFlags;

Result<> read_number(const Args& args, std::string_view flag, size_t least, size_t most,
                     size_t& number) {
  const auto text = args.find(flag);
  if (!text) return {};
  const char* const end = text->data() + text->size();
  const auto [stop, trouble] = std::from_chars(text->data(), end, number);
  if (trouble == std::errc() && stop == end && number >= least && number <= most) return {};
  return usage_error(
      fmt::format("--{}: '{}' is no number from {} to {}", flag, to_printable(*text), least, most));
}

Result<> read_admission(const Args& args, ServeOptions& options) {
  AdmissionOptions& admission = options.admission;
  admission.most_creations = kUsualCreations;
  admission.queue_timeout = kUsualQueueTimeout;
  policy::Quota& usual = admission.quotas.usual;
  TRY_OK(read_cpus(args, usual.milli_cpus));
  TRY_OK(read_size(args, "tenant-memory", usual.memory_mb));
  TRY_OK(read_size(args, "tenant-disk", usual.disk_mb));
  std::optional<int64_t> creates;
  TRY_OK(read_limit(args, "tenant-creates", kMostCreates, creates));
  if (creates) usual.creates_per_s = static_cast<double>(*creates);
  TRY_OK(read_limit(args, "tenant-at-once", kMostAtOnce, usual.at_once));
  TRY_OK(read_number(args, "creations", 0, kMostCreations, admission.most_creations));
  TRY_OK(read_number(args, "queue", 1, kLongestQueue, admission.longest_queue));
  TRY_OK(read_time(args, "queue-timeout", Millis(0), admission.longest_queue_timeout,
                   admission.queue_timeout));
  if (const auto path = args.find("quotas")) {
    auto read = policy::read_quota_file(*path, std::move(admission.quotas));
    if (!read) return std::move(read).error().with("--quotas");
    admission.quotas = *std::move(read);
  }
  return read_policy(args, options.policy);
}

}  // namespace atl::cli
