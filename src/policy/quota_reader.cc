#include "policy/quota_reader.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cmath>

#include "base/text.h"
#include "json/yaml.h"
#include "os/file.h"
#include "policy/written_value.h"

namespace atl::policy {
namespace {

constexpr double kMostNumber = 1e9;

struct WrittenQuota {
  static constexpr auto kRequired = json::required();
  std::optional<json::Value> sandboxes;
  std::optional<json::Value> cpus;
  std::optional<json::Value> memory;
  std::optional<json::Value> disk;
  std::optional<json::Value> creates_per_s;
  std::optional<json::Value> at_once;
  std::optional<Isolation> min_isolation;
  std::optional<Placement> placement;
};
BOOST_DESCRIBE_STRUCT(WrittenQuota, (),
                      (sandboxes, cpus, memory, disk, creates_per_s, at_once, min_isolation,
                       placement))

// All tenants share the host, and whose turn it is the queue decides.
struct WrittenHost {
  static constexpr auto kRequired = json::required();
  std::optional<json::Value> cpus;
  std::optional<json::Value> memory;
  std::optional<json::Value> disk;
};
BOOST_DESCRIBE_STRUCT(WrittenHost, (), (cpus, memory, disk))

struct WrittenQuotas {
  static constexpr auto kRequired = json::required();
  WrittenQuota default_;
  std::map<std::string, WrittenQuota> tenants;
  WrittenHost host;
  WrittenHost assumed;
};
BOOST_DESCRIBE_STRUCT(WrittenQuotas, (), (default_, tenants, host, assumed))

bool is_none(const json::Value& value) { return text_of(value) == "none"; }

// In units of 1/`parts`.
Result<int64_t> to_number(std::string_view field, const json::Value& value, int64_t parts) {
  const auto number = number_of(value);
  if (!number) return wrong(field, "expected a number, or none for no limit");
  if (!(*number > 0) || *number > kMostNumber)
    return wrong(field, "it is more than 0 and at most 1000000000; none is no limit");
  const double counted = *number * static_cast<double>(parts);
  if (parts == 1 && counted != std::floor(counted)) return wrong(field, "expected a whole number");
  return static_cast<int64_t>(std::ceil(counted));
}

Result<int64_t> to_size(std::string_view field, const json::Value& value) {
  TRY(const int64_t mib, to_mib(field, value));
  if (mib <= 0) return wrong(field, "it must be more than zero; none is no limit");
  return mib;
}

Result<> set_number(std::string_view field, const std::optional<json::Value>& written,
                    int64_t parts, std::optional<int64_t>& limit) {
  if (!written) return {};
  limit.reset();
  if (is_none(*written)) return {};
  TRY(limit, to_number(field, *written, parts));
  return {};
}

Result<> set_size(std::string_view field, const std::optional<json::Value>& written,
                  std::optional<int64_t>& limit) {
  if (!written) return {};
  limit.reset();
  if (is_none(*written)) return {};
  TRY(limit, to_size(field, *written));
  return {};
}

Result<> set_rate(const std::optional<json::Value>& written, std::optional<double>& rate) {
  if (!written) return {};
  rate.reset();
  if (is_none(*written)) return {};
  const auto number = number_of(*written);
  if (!number || !(*number > 0) || *number > kMostNumber)
    return wrong("creates_per_s", "expected a number of more than 0, or none for no limit");
  rate = number;
  return {};
}

Result<> set(const WrittenQuota& written, Quota& quota) {
  TRY_OK(set_number("sandboxes", written.sandboxes, 1, quota.sandboxes));
  TRY_OK(set_number("cpus", written.cpus, 1'000, quota.milli_cpus));
  TRY_OK(set_size("memory", written.memory, quota.memory_mb));
  TRY_OK(set_size("disk", written.disk, quota.disk_mb));
  TRY_OK(set_rate(written.creates_per_s, quota.creates_per_s));
  if (written.min_isolation) quota.min_isolation = written.min_isolation;
  if (written.placement) quota.placement = written.placement;
  return set_number("at_once", written.at_once, 1, quota.at_once);
}

Result<> set(const WrittenHost& written, Quota& quota) {
  TRY_OK(set_number("cpus", written.cpus, 1'000, quota.milli_cpus));
  TRY_OK(set_size("memory", written.memory, quota.memory_mb));
  return set_size("disk", written.disk, quota.disk_mb);
}

Result<> set(const WrittenHost& written, Amounts& assumed) {
  if (written.cpus) {
    TRY(assumed.milli_cpus, to_number("cpus", *written.cpus, 1'000));
  }
  if (written.memory) {
    TRY(assumed.memory_mb, to_size("memory", *written.memory));
  }
  if (written.disk) {
    TRY(assumed.disk_mb, to_size("disk", *written.disk));
  }
  return {};
}

// Names of users at the socket, "uid:1000", too.
bool is_tenant(std::string_view name) {
  return !name.empty() && name.size() <= 64 &&
         name.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:") ==
             std::string_view::npos;
}

}  // namespace

Result<Quotas> read_quotas(std::string_view text, std::string_view file_name, Quotas quotas) {
  TRY(const auto document, json::parse_yaml(text, file_name, {.max_bytes = kLargestQuotaFile}));
  TRY(const auto written, json::decode_document<WrittenQuotas>(document));
  const auto at = [&](const std::string& path, Result<> done) -> Result<> {
    if (done) return done;
    return document.locate(path, std::move(done).error().with(path));
  };
  TRY_OK(at("default", set(written.default_, quotas.usual)));
  TRY_OK(at("host", set(written.host, quotas.host)));
  TRY_OK(at("assumed", set(written.assumed, quotas.assumed)));
  if (written.tenants.size() > kMostQuotas)
    return at("tenants", wrong("tenants", "there are more than 10000")).error();
  for (const auto& [name, quota] : written.tenants) {
    const std::string path = "tenants." + name;
    if (!is_tenant(name))
      return at("tenants", wrong(to_printable(name), "no tenant is called so")).error();
    Quota whole = quotas.usual;
    TRY_OK(at(path, set(quota, whole)));
    quotas.tenants[name] = whole;
  }
  return quotas;
}

Result<Quotas> read_quota_file(const std::string& path, Quotas quotas) {
  TRY(const auto file, os::open_at(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat info{};
  if (fstat(file.get(), &info) != 0) return os_error("looking at", to_printable(path));
  if (!S_ISREG(info.st_mode)) {
    return Error(Code::invalid_argument, to_printable(path) + " is no plain file");
  }
  auto text = os::read_open_file(file.get(), kLargestQuotaFile);
  if (!text) return std::move(text).error().with(to_printable(path));
  return read_quotas(*text, to_printable(path), std::move(quotas));
}

}  // namespace atl::policy
