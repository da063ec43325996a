// `atoll serve`: becomes the daemon.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "base/time_words.h"
#include "cli/profile_source.h"
#include "cli/sandbox_flags.h"
#include "cli/serve_admission.h"
#include "cli/target.h"
#include "cli/verbs.h"
#include "json/describe.h"
#include "policy/driver_capacity.h"
#include "policy/driver_labels.h"

namespace atl::cli {
namespace {

constexpr size_t kMostParked = 64;
constexpr size_t kMostSandboxes = 10'000;
constexpr std::chrono::seconds kLongestTtl{7 * 24 * 3600};
constexpr size_t kMostRequests = 1'000'000;
constexpr size_t kMostSandboxesOfATenant = 10'000;
constexpr size_t kMostHistory = 1'000'000;
constexpr int64_t kMostWeight = 10'000;

constexpr Flag kFlags[] = {
    {"listen", 0, "HOST:PORT",
     "where to serve the API; none = the Unix socket only (127.0.0.1:7070)"},
    {"user", 0, "NAME", "started as root: the user to become (atoll, if there is one)"},
    {"launcher", 0, "SOCKET", "a launcher that runs as a service; none is started then"},
    {"local-users", 0, "",
     "every user of this host may use the Unix socket, each with sandboxes of their own"},
    {"rate", 0, "N", "requests per second of each key, admins' aside; 0 = no limit (500)"},
    {"tenant-sandboxes", 0, "N", "most sandboxes of a tenant at a time (10000)"},
    {"cors-origin", 0, "ORIGIN", "web pages from there may call, e.g. https://console.example"},
    {"otlp-endpoint", 0, "URL",
     "the OTLP/HTTP collector that spans go to (OTEL_EXPORTER_OTLP_ENDPOINT); none = nowhere"},
    {"profiles", 0, "PATH", "a file or a directory with profiles of the operator's own"},
    {"strategy", 0, "HOW",
     "which of the drivers that would do is asked first: priority (default), fastest, cheapest, "
     "round_robin, weighted"},
    {"driver-weight", 0, "NAME=N",
     "for weighted: a driver's part, 0 to 10000 (1); may be repeated"},
    {"driver-price", 0, "NAME=PRICE",
     "for cheapest: what a driver costs in US dollars an hour, such as 0.05 or "
     "0.01+0.05/cpu+0.02/gib; may be repeated"},
    {"driver-labels", 0, "NAME=LABELS",
     "what is said of a driver, for requests that ask for it: NAME=zone=eu,gpu=a100"},
    {"driver-capacity", 0, "NAME=SIZE",
     "what all sandboxes on a driver may have together: NAME=20, or "
     "NAME=sandboxes=20,cpus=8,memory=16g,disk=100g; a full one is passed over"},
    {"parked", 0, "N", "most sandboxes of a kind to make before they are asked for (64)"},
    {"default-ttl", 0, "TIME", "how long a sandbox lives whose request says nothing (1h)"},
    {"longest-ttl", 0, "TIME", "the longest that a request may ask for (7d, which is the most)"},
    {"most-sandboxes", 0, "N", "how many may live at a time (10000, which is the most)"},
    {"history", 0, "N", "how many that have ended are remembered, for a week at most (10000)"},
};

Result<std::chrono::seconds> ttl_from(const Args& args, std::string_view flag,
                                      std::chrono::seconds usual) {
  const auto text = args.find(flag);
  if (!text) return usual;
  TRY(const int64_t seconds, parse_seconds(flag, *text));
  if (std::chrono::seconds(seconds) > kLongestTtl)
    return usage_error(
        fmt::format("--{}: {}", flag,
                    too_long(std::chrono::seconds(seconds), kLongestTtl, "a sandbox may live")));
  return std::chrono::seconds(seconds);
}

struct OfDriver {
  std::string name;
  std::string value;
};

// NAME=VALUE, of a driver that there is; `form` says what is expected.
Result<OfDriver> of_driver(std::string_view flag, const std::string& text, std::string_view form,
                           const std::vector<std::string>& drivers) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos)
    return usage_error(fmt::format("--{}: '{}' is not {}", flag, to_printable(text), form));
  OfDriver given{text.substr(0, equals), text.substr(equals + 1)};
  if (std::ranges::find(drivers, given.name) != drivers.end()) return given;
  const std::string near = did_you_mean(given.name, drivers);
  return usage_error(fmt::format("--{}: no driver is called {}{}", flag, to_printable(given.name),
                                 near.empty() ? "" : " (did you mean " + near + "?)"));
}

Result<int64_t> to_weight(const std::string& text) {
  int64_t weight = -1;
  const char* const end = text.data() + text.size();
  const auto [stop, trouble] = std::from_chars(text.data(), end, weight);
  if (trouble == std::errc() && stop == end && weight >= 0 && weight <= kMostWeight) return weight;
  return usage_error(fmt::format("--driver-weight: '{}' is no number from 0 to {}",
                                 to_printable(text), kMostWeight));
}

Result<RoutingOptions> routing_from(const Args& args, const std::vector<std::string>& drivers) {
  RoutingOptions routing;
  if (const auto text = args.find("strategy")) {
    const auto strategy = json::find_enum<policy::Strategy>(*text);
    if (!strategy) {
      return usage_error(fmt::format(
          "--strategy: '{}' is none of priority, fastest, cheapest, round_robin, weighted",
          to_printable(*text)));
    }
    routing.strategy = *strategy;
  }
  for (const std::string& text : args.all("driver-weight")) {
    TRY(const auto given, of_driver("driver-weight", text, "NAME=N", drivers));
    TRY(routing.weights[given.name], to_weight(given.value));
  }
  for (const std::string& text : args.all("driver-price")) {
    TRY(const auto given, of_driver("driver-price", text, "NAME=PRICE", drivers));
    const auto price = policy::parse_price(given.value);
    if (!price) {
      return usage_error(
          fmt::format("--driver-price: {} ({})", price.error().message(), price.error().hint()));
    }
    routing.prices[given.name] = *price;
  }
  for (const std::string& text : args.all("driver-labels")) {
    TRY(const auto given, of_driver("driver-labels", text, "NAME=LABELS", drivers));
    const auto labels = policy::parse_driver_labels(given.value);
    if (!labels) return usage_error("--driver-labels: " + labels.error().message());
    routing.labels[given.name].insert(labels->begin(), labels->end());
  }
  for (const std::string& text : args.all("driver-capacity")) {
    TRY(const auto given, of_driver("driver-capacity", text, "NAME=SIZE", drivers));
    const auto capacity = policy::parse_capacity(given.value);
    if (!capacity) {
      return usage_error(fmt::format("--driver-capacity: {} ({})", capacity.error().message(),
                                     capacity.error().hint()));
    }
    routing.capacities[given.name] = *capacity;
  }
  return routing;
}

Result<int> serve(Context& context) {
  const Args& args = context.args;
  ServeOptions options;
  options.listen = args.find("listen").value_or("127.0.0.1:7070");
  options.user = args.find("user").value_or("");
  options.launcher = args.find("launcher").value_or("");
  TRY_OK(read_number(args, "parked", 0, kMostParked, options.most_parked));
  TRY_OK(read_number(args, "most-sandboxes", 1, kMostSandboxes, options.most_sandboxes));
  TRY_OK(read_number(args, "history", 0, kMostHistory, options.most_history));
  TRY_OK(read_number(args, "rate", 0, kMostRequests, options.requests_per_s));
  TRY_OK(read_number(args, "tenant-sandboxes", 1, kMostSandboxesOfATenant,
                     options.sandboxes_per_tenant));
  options.local_users = args.has("local-users");
  options.origins = args.all("cors-origin");
  TRY_OK(read_admission(args, options));
  TRY(options.longest_ttl, ttl_from(args, "longest-ttl", options.longest_ttl));
  TRY(options.default_ttl,
      ttl_from(args, "default-ttl", std::min(options.default_ttl, options.longest_ttl)));
  if (options.default_ttl > options.longest_ttl)
    return usage_error("--default-ttl: it is longer than --longest-ttl");
  options.otlp_url = args.find("otlp-endpoint")
                         .value_or(find_variable("OTEL_EXPORTER_OTLP_ENDPOINT").value_or(""));
  if (options.otlp_url == "none") options.otlp_url.clear();
  options.otlp_headers = find_variable("OTEL_EXPORTER_OTLP_HEADERS").value_or("");
  TRY(options.routing, routing_from(args, context.program.driver_names()));
  TRY(options.profiles, load_profiles(args, Asking::for_daemon));
  TRY(options.state_directory, state_directory_from(args, find_variable));
  TRY_OK(context.program.serve(std::move(options)));
  return 0;
}

}  // namespace

const Verb kServeVerb{
    .grammar = {.verb = "serve",
                .usage = "[FLAGS]",
                .flags = {kFlags, kAdmissionFlags, kEverywhereFlags}},
    .group = kDaemonGroup,
    .summary = "Serve the API until told to stop",
    .more =
        "Everything is kept in the state directory: the first key in admin.key, the socket "
        "atoll.sock.\n"
        "SIGTERM leaves every sandbox running for the next daemon; Ctrl-C and `atoll down` end "
        "them.",
    .run = serve};

}  // namespace atl::cli
