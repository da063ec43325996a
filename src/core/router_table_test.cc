// The router as one table: what is configured, what is asked, and where it leads or why it does
// not. Then many random worlds, in which no route leads below the floor or outside the placement.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <sstream>

#include "base/run_task.h"
#include "core/engine_world_internal.h"
#include "core/router.h"
#include "json/describe.h"

namespace atl {
namespace {

using policy::Strategy;
using ::testing::HasSubstr;

// A driver in words: its name, its isolation, then what else is said of it.
//   "docker container own root images runsc=sentry life=900 -cpu"
std::shared_ptr<FakeHost> to_host(const std::string& words) {
  std::istringstream in(words);
  std::string name;
  std::string isolation;
  in >> name >> isolation;
  auto host = FakeHost::make(name, json::find_enum<Isolation>(isolation).value());
  auto& can = host->capabilities;
  can.host_dir_ro = false;
  const std::map<std::string, bool*> flags = {{"ro", &can.host_dir_ro},
                                              {"rw", &can.host_dir_rw},
                                              {"cow", &can.host_dir_cow},
                                              {"root", &can.root_dir},
                                              {"only-root", &can.needs_root_dir},
                                              {"templates", &can.templates},
                                              {"images", &can.images},
                                              {"keeps", &can.writable_root},
                                              {"users", &can.users},
                                              {"dedicated", &can.dedicated}};
  for (std::string word; in >> word;) {
    const auto equals = word.find('=');
    if (const auto flag = flags.find(word); flag != flags.end()) {
      *flag->second = true;
    } else if (const auto placement = json::find_enum<Placement>(word)) {
      can.placement = *placement;
    } else if (word == "down") {
      host->down();
    } else if (word == "absent") {
      host->fail("probe", Error(Code::unsupported, name + " cannot be had here"));
    } else if (word == "slow") {
      can.typical_start_ms = 60'000;
    } else if (word == "dear") {
      can.price_per_hour = 99;
    } else if (word.starts_with("start=")) {
      can.typical_start_ms = std::stod(word.substr(equals + 1));
    } else if (word.starts_with("price=")) {
      can.price_per_hour = std::stod(word.substr(equals + 1));
    } else if (word == "-cpu") {
      can.limits.cpu = Limit::none;
    } else if (word == "-memory") {
      can.limits.memory = Limit::none;
    } else if (word == "-pids") {
      can.limits.pids = Limit::none;
    } else if (word == "-disk") {
      can.limits.disk = Limit::none;
    } else if (word.starts_with("life=")) {
      can.max_lifetime_s = std::stoll(word.substr(equals + 1));
    } else if (word.starts_with("has=") || word.starts_with("full=") || word.starts_with("room=")) {
      // Of the table, not of the driver: see decide().
    } else if (equals != std::string::npos) {
      can.runtimes.push_back(
          {word.substr(0, equals), json::find_enum<Isolation>(word.substr(equals + 1)).value()});
    } else {
      ADD_FAILURE() << "no driver is " << word;
    }
  }
  return host;
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// "native docker", or "unsupported: message; hint".
std::string decide(const std::vector<std::string>& drivers, const RouteWish& wish) {
  asio::io_context loop;
  std::vector<EngineDriver> given;
  for (const auto& words : drivers) given.push_back({make_fake_driver(to_host(words)), ""});
  // What an operator says of it: "has=zone=eu", and room for "room=2" sandboxes, or for none of
  // "full=3" that are there.
  RoutingOptions routing;
  std::map<std::string, policy::Amounts> used;
  for (const auto& words : drivers) {
    std::istringstream in(words);
    std::string name;
    in >> name;
    for (std::string word; in >> word;) {
      const std::string said = word.substr(word.find('=') + 1);
      if (word.starts_with("has="))
        routing.labels[name] = policy::parse_driver_labels(said).value();
      if (word.starts_with("room=")) routing.capacities[name].sandboxes = std::stoll(said);
      if (!word.starts_with("full=")) continue;
      routing.capacities[name].sandboxes = used[name].sandboxes = std::stoll(said);
    }
  }
  DriverTable table(std::move(given), Asking::at_once, routing);
  table.count_by([&](const std::string& name) -> const policy::Amounts& { return used[name]; });
  EXPECT_TRUE(run_task(loop, table.probe_all()));
  const auto route = find_route(table, wish);
  if (!route) {
    return std::string(to_string(route.error().code())) + ": " + route.error().message() + "; " +
           route.error().hint();
  }
  std::vector<std::string> names;
  for (const DriverSlot* slot : *route) names.push_back(slot->name());
  return join(names);
}

struct Row {
  std::vector<std::string> drivers;
  RouteWish asked;
  std::string leads_to;  // a route, or what the refusal has in it
};

const std::string kNear = "native container ro cow root";
const std::string kDocker = "docker container images templates keeps runsc=sentry lite=process";
const std::string kVm = "microvm vm own";
const std::string kVm2 = "vm2 vm own";
const std::string kVm3 = "vm3 vm own";
const std::string kFar = "e2b vm third_party life=3600";
const std::string kPlain = "subprocess process -cpu -disk";
const std::string kLocal = "local none";
const std::vector<std::string> kNobody;

std::vector<Row> rows() {
  using std::chrono::seconds;
  using enum Isolation;
  const std::vector<std::string> all = {kNear, kDocker, kVm, kFar, kPlain, kLocal};
  return {
      // The order is that of the configuration, and isolation is a floor, not a wish.
      {all, {}, "native docker microvm subprocess"},
      {all, {.min_isolation = process}, "native docker microvm subprocess"},
      {all, {.min_isolation = container}, "native docker microvm"},
      {all, {.min_isolation = sentry}, "microvm"},
      {all, {.min_isolation = vm}, "microvm"},
      {{kPlain, kNear}, {}, "subprocess native"},
      {{kPlain, kNear}, {.min_isolation = container}, "native"},
      {{kNear, kDocker}, {.min_isolation = vm}, "unsupported: no driver can serve this request"},
      {{kNear}, {.min_isolation = vm}, "native offers container, vm was asked"},
      {{}, {}, "no driver is configured"},
      {{}, {.driver = "native"}, "not_found: no driver is called native"},
      // What has no isolation is taken only by name.
      {{kLocal}, {}, "local offers none and is used only when it is named"},
      {{kLocal}, {.driver = "local"}, "local"},
      {{kLocal}, {.min_isolation = none}, "local offers none and is used only when it is named"},
      {{kLocal, kPlain}, {.driver = "local", .min_isolation = process}, "subprocess can"},
      // Drivers that do not answer.
      {{kNear + " down", kDocker}, {}, "docker"},
      {{kNear + " down"}, {}, "unavailable: no driver can serve this request"},
      {{kNear + " down"}, {}, "native does not answer"},
      {{kNear + " down"}, {.driver = "native"}, "start native"},
      {{kVm + " down", kDocker}, {.min_isolation = vm}, "unavailable: "},
      {{kVm + " down", kDocker}, {.min_isolation = vm}, "docker offers container, vm was asked"},
      {{kDocker + " down", kNear}, {.min_isolation = vm}, "unsupported: "},
      {{kVm + " absent", kDocker}, {.min_isolation = vm}, "unsupported: "},
      {{kVm + " absent"}, {.driver = "microvm"}, "microvm cannot be had here"},
      {{kNear, kDocker + " down", kVm}, {}, "native microvm"},
      // Neither speed nor price decides unless it is asked to.
      {{kVm + " slow", kNear}, {}, "microvm native"},
      {{kVm + " dear", kNear}, {}, "microvm native"},
      // Strategies change the order and never the set.
      {{kVm + " slow", kNear + " start=4"}, {.strategy = Strategy::fastest}, "native microvm"},
      {{kNear, kVm + " slow"}, {.strategy = Strategy::fastest}, "microvm native"},
      {{kVm + " slow", kNear + " start=4"},
       {.min_isolation = vm, .strategy = Strategy::fastest},
       "microvm"},
      {{kVm + " start=1 down", kNear + " slow"}, {.strategy = Strategy::fastest}, "native"},
      {{kVm + " start=9", kNear + " start=9"}, {.strategy = Strategy::fastest}, "microvm native"},
      {{kVm + " dear", kNear}, {.strategy = Strategy::cheapest}, "native microvm"},
      {{kVm, kVm2 + " price=3", kVm3 + " price=2"},
       {.strategy = Strategy::cheapest},
       "vm3 vm2 microvm"},
      {{kFar + " price=0", kVm + " dear"}, {.strategy = Strategy::cheapest}, "microvm"},
      {{kFar + " price=0", kVm + " dear"},
       {.placement = Placement::third_party, .strategy = Strategy::cheapest},
       "e2b microvm"},
      {{kLocal, kNear + " dear"}, {.strategy = Strategy::cheapest}, "native"},
      {{kPlain + " start=1", kNear + " slow"},
       {.floor = container, .strategy = Strategy::fastest},
       "native"},
      {{kNear, kDocker, kVm}, {.strategy = Strategy::round_robin}, "native docker microvm"},
      {{kNear, kDocker, kVm}, {.strategy = Strategy::weighted}, "native docker microvm"},
      {{kNear}, {.min_isolation = vm, .strategy = Strategy::weighted}, "vm was asked"},
      {{kNear + " start=9", kDocker + " start=1"},
       {.driver = "native", .strategy = Strategy::fastest},
       "native"},
      // What is preferred stays before what may follow, whatever the strategy.
      {{kNear + " start=1", kDocker + " start=5", kVm + " start=3"},
       {.preferred = {"docker", "microvm"}, .strategy = Strategy::fastest},
       "microvm docker native"},
      {{kNear + " start=1", kDocker + " start=5"},
       {.preferred = {"docker"},
        .fallback = std::vector<std::string>{"native"},
        .strategy = Strategy::fastest},
       "docker native"},
      {{kNear + " start=1", kDocker + " start=5"},
       {.preferred = {"docker"}, .fallback = kNobody, .strategy = Strategy::fastest},
       "docker"},
      {{kNear, kLocal},
       {.preferred = {"local"}, .fallback = kNobody, .strategy = Strategy::cheapest},
       "local"},
      {{kNear},
       {.preferred = {"wasm", "docker"}, .fallback = kNobody},
       "wasm is not configured here; docker is not configured here"},
      // Where code may go.
      {all, {.placement = Placement::host}, "native docker subprocess"},
      {all, {.placement = Placement::own}, "native docker microvm subprocess"},
      {all, {.placement = Placement::third_party}, "native docker microvm e2b subprocess"},
      {all, {.min_isolation = vm, .placement = Placement::third_party}, "microvm e2b"},
      {all, {.min_isolation = vm, .placement = Placement::host}, "unsupported: "},
      {{kFar}, {}, "e2b runs at third_party, own was asked"},
      {{kFar}, {.driver = "e2b"}, "e2b runs at third_party, own was asked"},
      {{kFar}, {.driver = "e2b", .placement = Placement::third_party}, "e2b"},
      {{kVm}, {.placement = Placement::host}, "microvm runs at own, host was asked"},
      {{kVm + " down", kFar}, {.min_isolation = vm}, "e2b runs at third_party, own was asked"},
      // What others than administrators may not go below.
      {all, {.floor = container}, "native docker microvm"},
      {all, {.min_isolation = process, .floor = container}, "native docker microvm"},
      {all, {.driver = "subprocess", .floor = container}, "permission_denied: subprocess offers"},
      {all, {.driver = "local", .floor = process}, "permission_denied: local offers none"},
      {{kPlain}, {.floor = container}, "only administrators may have less than container here"},
      {{kPlain + " down"}, {.floor = container}, "unsupported: "},
      // What a tenant has at least, whoever asks.
      {all, {.tenant_floor = vm}, "microvm"},
      {all, {.min_isolation = process, .tenant_floor = container}, "native docker microvm"},
      {all, {.driver = "docker", .tenant_floor = vm}, "permission_denied: docker offers container"},
      {{kNear}, {.tenant_floor = vm}, "this tenant has nothing below vm"},
      {{kNear + " down"}, {.tenant_floor = vm}, "unsupported: "},
      {all, {.tenant_placement = Placement::host}, "native docker subprocess"},
      {all,
       {.tenant_placement = Placement::own, .placement = Placement::third_party},
       "native docker microvm subprocess"},
      {{kFar},
       {.driver = "e2b", .tenant_placement = Placement::own, .placement = Placement::third_party},
       "permission_denied: e2b runs at third_party, and this tenant has nothing beyond own"},
      // Labels that operators give.
      {{kNear, kDocker + " has=zone=eu"}, {.driver_labels = {{"zone", "eu"}}}, "docker"},
      {{kNear + " has=gpu,zone=eu", kDocker + " has=zone=eu"},
       {.driver_labels = {{"zone", "eu"}}},
       "native docker"},
      {{kNear + " has=zone=us"},
       {.driver_labels = {{"zone", "eu"}}},
       "unsupported: no driver can serve this request; native has the label zone=us, zone=eu was "
       "asked"},
      {{kNear}, {.driver_labels = {{"gpu", ""}}}, "native has no label gpu"},
      {{kNear, kDocker + " has=gpu"},
       {.driver = "native", .driver_labels = {{"gpu", ""}}},
       "docker can"},
      {{kNear + " down"}, {.driver_labels = {{"gpu", ""}}}, "unsupported: "},
      // Full drivers are passed over, and have room later.
      {{kNear + " full=3", kDocker}, {}, "docker"},
      {{kNear + " room=1", kDocker}, {}, "native docker"},
      {{kNear + " full=3"},
       {},
       "unavailable: no driver can serve this request; native is full: it has 3 of "
       "3 sandboxes, and 1 more is asked"},
      {{kNear + " full=3"}, {.driver = "native"}, "unavailable: native is full"},
      {{kNear + " full=3", kDocker}, {.driver = "native"}, "unavailable: native is full"},
      {{kNear + " full=3", kPlain}, {.min_isolation = container}, "unavailable: "},
      {{kNear + " full=3"}, {.min_isolation = vm}, "unsupported: "},
      {{kNear + " full=3", kDocker + " has=gpu full=1"},
       {.driver_labels = {{"gpu", ""}}},
       "unavailable: "},
      // Runtimes decide what is offered.
      {all, {.runtime = "runsc"}, "docker"},
      {all, {.min_isolation = sentry, .runtime = "runsc"}, "docker"},
      {all, {.min_isolation = vm, .runtime = "runsc"}, "docker offers sentry, vm was asked"},
      {all,
       {.min_isolation = container, .runtime = "lite"},
       "docker offers process, container was"},
      {all, {.driver = "docker", .floor = container, .runtime = "lite"}, "permission_denied: "},
      {{kDocker},
       {.driver = "docker", .runtime = "kata"},
       "docker has no runtime kata, but runsc and lite"},
      {{kNear}, {.runtime = "runsc"}, "native has no runtime runsc"},
      // Limits that cannot be held.
      {all, {.resources = {.cpu = 1}}, "native docker microvm"},
      {all, {.resources = {.memory_mb = 64}}, "native docker microvm subprocess"},
      {all, {.driver = "subprocess", .resources = {.cpu = 1}}, "subprocess cannot limit cpu"},
      {all, {.driver = "subprocess", .resources = {.disk_mb = 1}}, "subprocess cannot limit disk"},
      {{kPlain}, {.resources = {.cpu_weight = 200}}, "subprocess cannot limit cpu"},
      {{"a container -memory"}, {.resources = {.memory_mb = 1}}, "a cannot limit memory"},
      {{"a container -pids"}, {.resources = {.pids = 9}}, "a cannot limit pids"},
      {{kNear, "big container dedicated"},
       {.resources = {.cpu = 1, .sharing = Sharing::dedicated}},
       "big"},
      {{kNear},
       {.resources = {.cpu = 1, .sharing = Sharing::dedicated}},
       "native cannot dedicate processors and memory"},
      // Directories of the host.
      {all, {.host_directories = {HostAccess::ro}}, "native"},
      {all, {.host_directories = {HostAccess::cow}}, "native"},
      {all, {.host_directories = {HostAccess::rw}}, "cannot show a directory of the host writable"},
      {{kNear, "both container ro rw"},
       {.host_directories = {HostAccess::ro, HostAccess::rw}},
       "both"},
      {{kDocker},
       {.host_directories = {HostAccess::cow}},
       "docker cannot show a directory of the host copy-on-write"},
      // Root file systems.
      {all, {.root = true}, "native"},
      {all, {.root = true, .is_template = true}, "docker"},
      {all, {.image = true}, "docker"},
      {all, {.persistence = Persistence::persistent}, "docker"},
      {{kNear}, {.image = true}, "native takes no images by name"},
      {{kNear}, {.root = true, .is_template = true}, "cannot take a template as the root"},
      {{kDocker}, {.root = true}, "docker cannot take a directory of the host as the root"},
      {{kNear}, {.persistence = Persistence::persistent}, "native cannot keep what is changed"},
      {{"jail process root only-root"}, {}, "jail needs a root file system (rootfs)"},
      {{"jail process root only-root"}, {.root = true}, "jail"},
      // Users.
      {{kNear, "boxes container users"}, {.user = "root"}, "boxes"},
      {{kNear, "boxes container users"}, {.user = "1000"}, "native boxes"},
      {{kNear, "boxes container users"}, {.user = "user"}, "native boxes"},
      {{kNear}, {.user = "root"}, "native cannot run as user root"},
      // Lifetimes.
      {{kFar, kVm}, {.placement = Placement::third_party, .ttl = seconds(3601)}, "microvm"},
      {{kFar, kVm}, {.placement = Placement::third_party, .ttl = seconds(3600)}, "e2b microvm"},
      {{kFar},
       {.placement = Placement::third_party, .ttl = seconds(7200)},
       "e2b keeps a sandbox for at most 3600 s, 7200 s was asked"},
      // Names.
      {all, {.driver = "dokcer"}, "did you mean docker?"},
      {all, {.driver = "docker"}, "docker"},
      {{kDocker, kVm}, {.driver = "docker", .min_isolation = vm}, "microvm can"},
      {{kDocker + " down", kNear}, {.driver = "docker"}, "unavailable: docker does not answer"},
      {{kDocker + " down", kNear},
       {.driver = "docker", .driver_labels = {{"zone", "eu"}}},
       "unsupported: docker has no label zone=eu"},
      {{kDocker + " has=zone=eu down", kNear},
       {.driver = "docker", .driver_labels = {{"zone", "eu"}}},
       "unavailable: docker does not answer"},
  };
}

// Whether it is nothing but names of drivers.
bool is_route(const Row& row) {
  std::istringstream in(row.leads_to);
  for (std::string word; in >> word;) {
    const auto is_word = [&](const std::string& driver) { return driver.starts_with(word + " "); };
    if (std::ranges::none_of(row.drivers, is_word)) return false;
  }
  return true;
}

TEST(RouterTable, EveryRowLeadsWhereItSays) {
  const auto table = rows();
  ASSERT_GE(table.size(), 60U);
  for (size_t i = 0; i < table.size(); ++i) {
    const Row& row = table[i];
    SCOPED_TRACE("row " + std::to_string(i + 1) + ": " + join(row.drivers));
    const std::string decision = decide(row.drivers, row.asked);
    if (is_route(row)) {
      EXPECT_EQ(decision, row.leads_to);
    } else {
      EXPECT_THAT(decision, HasSubstr(": ")) << "it is a route";
      EXPECT_THAT(decision, HasSubstr(row.leads_to));
    }
  }
}

// What becomes of a request when drivers on its route fail to create, each in its way.
struct Failover {
  std::vector<std::pair<std::string, std::optional<Code>>> drivers;  // and how create fails there
  std::optional<Isolation> floor;
  std::string lands_on;  // a driver, or the code of the refusal
};

TEST(RouterTable, AFailureThatMayPassLeadsToTheNextAndNoOtherDoes) {
  using enum Isolation;
  const Failover table[] = {
      {{{"a container", std::nullopt}, {"b container", std::nullopt}}, container, "a"},
      {{{"a container", Code::unavailable}, {"b container", std::nullopt}}, container, "b"},
      {{{"a container", Code::resource_exhausted}, {"b container", std::nullopt}}, container, "b"},
      {{{"a container", Code::deadline_exceeded}, {"b vm", std::nullopt}},
       container,
       "deadline_exceeded"},
      {{{"a container", Code::invalid_argument}, {"b vm", std::nullopt}},
       container,
       "invalid_argument"},
      {{{"a container", Code::permission_denied}, {"b vm", std::nullopt}},
       container,
       "permission_denied"},
      {{{"a vm", Code::unavailable}, {"b container", std::nullopt}}, vm, "unavailable"},
      {{{"a vm", Code::unavailable}, {"b process", std::nullopt}, {"c vm", std::nullopt}}, vm, "c"},
      {{{"a vm", Code::unavailable}, {"b vm third_party", std::nullopt}}, vm, "unavailable"},
      {{{"a container", Code::unavailable}, {"b container", Code::unavailable}},
       container,
       "unavailable"},
      {{{"a container", Code::unavailable}, {"b container down", std::nullopt}},
       container,
       "unavailable"},
  };
  for (const auto& row : table) {
    EngineWorld world;
    std::string said;
    for (const auto& [words, fault] : row.drivers) {
      const auto said_of = to_host(words);
      FakeHost& host = world.add(said_of->name());
      host.capabilities = said_of->capabilities;
      if (said_of->is_down()) host.down();
      if (fault) host.fail("create", Error(*fault, "it cannot"), 100);
      said += words + " (" + (fault ? std::string(to_string(*fault)) : "well") + ") ";
    }
    SCOPED_TRACE(said);
    world.start();
    CreateRequest request;
    request.min_isolation = row.floor;
    const auto made = world.create(std::move(request));
    EXPECT_EQ(made ? made->driver : std::string(to_string(made.error().code())), row.lands_on);
    size_t boxes = 0;
    for (size_t i = 0; i < row.drivers.size(); ++i) boxes += world.host(i).ids().size();
    EXPECT_EQ(boxes, made ? 1U : 0U);
  }
}

// Ten thousand worlds: a route has only drivers that do, all of them, those that are preferred
// first, in their order or, with a strategy, in any. What does is said once more here, in the
// plainest words.
TEST(RouterTable, NoRandomWorldLeadsBelowTheFloorOrOutsideThePlacement) {
  std::mt19937 dice(1);
  const auto below = [&](int count) {
    return static_cast<int>(dice() % static_cast<unsigned>(count));
  };
  size_t routes = 0;
  size_t refusals = 0;
  const auto draw_names = [&](int least) {
    std::vector<std::string> names;
    for (int i = least + below(3); i > 0; --i) names.push_back("d" + std::to_string(below(7)));
    return names;
  };
  for (int world = 0; world < 10'000; ++world) {
    asio::io_context loop;
    std::vector<std::shared_ptr<FakeHost>> hosts;
    std::vector<EngineDriver> given;
    RoutingOptions routing;
    std::map<std::string, policy::Amounts> used;
    for (int i = below(6); i >= 0; --i) {
      auto host = FakeHost::make("d" + std::to_string(i), static_cast<Isolation>(below(5)));
      host->capabilities.placement = static_cast<Placement>(below(3));
      host->capabilities.limits.cpu = static_cast<Limit>(below(3));
      host->capabilities.images = below(2) == 0;
      if (below(3) == 0) host->capabilities.runtimes = {{"r", static_cast<Isolation>(below(5))}};
      host->capabilities.typical_start_ms = below(3);
      if (below(2) == 0) host->capabilities.price_per_hour = below(3);
      if (below(5) == 0) host->down();
      if (below(2) == 0) routing.labels[host->name()]["zone"] = below(2) == 0 ? "eu" : "us";
      if (below(3) == 0) {
        routing.capacities[host->name()].sandboxes = 1 + below(3);
        used[host->name()].sandboxes = below(4);
      }
      given.push_back({make_fake_driver(host), ""});
      hosts.push_back(std::move(host));
    }
    RouteWish wish;
    if (below(4) == 0) wish.driver = "d" + std::to_string(below(6));
    if (below(2) == 0) wish.min_isolation = static_cast<Isolation>(below(5));
    if (below(3) == 0) wish.floor = static_cast<Isolation>(below(5));
    if (below(2) == 0) wish.placement = static_cast<Placement>(below(3));
    if (below(4) == 0) wish.resources.cpu = 1;
    if (below(4) == 0) wish.runtime = "r";
    wish.image = below(6) == 0;
    wish.strategy = static_cast<Strategy>(below(5));
    if (below(4) == 0) wish.tenant_floor = static_cast<Isolation>(below(5));
    if (below(4) == 0) wish.tenant_placement = static_cast<Placement>(below(3));
    if (below(6) == 0) wish.driver_labels["zone"] = "eu";
    if (below(3) == 0) wish.preferred = draw_names(1);
    if (below(4) == 0) wish.fallback = draw_names(0);

    // Who is asked, in order, and how many of them come before all others; who is named may be as
    // weak as is allowed.
    std::vector<std::string> order;
    std::set<std::string> named;
    const auto take = [&](const std::string& name) {
      const bool is_there =
          std::ranges::any_of(hosts, [&](const auto& host) { return host->name() == name; });
      if (is_there && std::ranges::find(order, name) == order.end()) order.push_back(name);
    };
    size_t first = 0;
    if (!wish.driver.empty()) {
      take(wish.driver);
      named.insert(wish.driver);
    } else {
      for (const auto& name : wish.preferred) take(name);
      first = order.size();
      for (const auto& name : wish.fallback.value_or(std::vector<std::string>())) take(name);
      named.insert(order.begin(), order.end());
      if (!wish.fallback) {
        for (const auto& host : hosts) take(host->name());
      }
    }

    std::vector<std::string> expected;
    size_t preferred = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      const auto host =
          *std::ranges::find_if(hosts, [&](const auto& one) { return one->name() == order[i]; });
      const auto& can = host->capabilities;
      const auto labels = routing.labels[host->name()];
      const auto most = routing.capacities[host->name()].sandboxes;
      const bool has_room = !most || used[host->name()].sandboxes < *most;
      const bool has_runtime = wish.runtime.empty() || !can.runtimes.empty();
      const Isolation level =
          wish.runtime.empty() || can.runtimes.empty() ? can.isolation : can.runtimes[0].isolation;
      const bool does =
          !host->is_down() && has_runtime &&
          level >= wish.min_isolation.value_or(Isolation::none) && level >= wish.floor &&
          level >= wish.tenant_floor && can.placement <= wish.placement.value_or(Placement::own) &&
          can.placement <= wish.tenant_placement.value_or(Placement::third_party) && has_room &&
          (wish.driver_labels.empty() || labels == wish.driver_labels) &&
          (!wish.resources.cpu || can.limits.cpu != Limit::none) && (!wish.image || can.images) &&
          (level != Isolation::none || named.contains(host->name()));
      if (!does) continue;
      expected.push_back(host->name());
      if (i < first) ++preferred;
    }
    DriverTable table(std::move(given), Asking::at_once, routing);
    table.count_by([&](const std::string& name) -> const policy::Amounts& { return used[name]; });
    ASSERT_TRUE(run_task(loop, table.probe_all()));
    std::vector<std::string> found;
    if (const auto route = take_route(table, wish)) {
      for (const DriverSlot* slot : *route) found.push_back(slot->name());
      ++routes;
    } else {
      EXPECT_FALSE(route.error().message().empty() || route.error().hint().empty());
      ++refusals;
    }
    if (wish.strategy != Strategy::priority && found.size() == expected.size()) {
      for (auto* names : {&found, &expected}) {
        std::ranges::sort(names->begin(), names->begin() + static_cast<ptrdiff_t>(preferred));
        std::ranges::sort(names->begin() + static_cast<ptrdiff_t>(preferred), names->end());
      }
    }
    ASSERT_EQ(found, expected) << "world " << world;
  }
  EXPECT_GT(routes, 2'000U);
  EXPECT_GT(refusals, 2'000U);
}

}  // namespace
}  // namespace atl
