// The conformance suite: every driver × every behaviour, one case each, named
// `local/exec_reports_the_exit_code`.
//
//   conformance_test [--gtest_filter='*subprocess/*'] …   runs, and ends with the table
//   conformance_test --drivers=native,local               only these
//   conformance_test --drivers=docker --variant=relay     one that shows less: gaps-relay.txt
//   conformance_test --write-readme                       puts the required table into README.md
//
// A driver joins by standing in drivers::all(); `extension` is the example of examples/extension,
// which tests/support/extension.py starts. What it must show is checked in beside it, in
// behaviours.txt, and why it does not show the rest in gaps.txt.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>

#include "base/text.h"
#include "tests/conformance/behaviour.h"
#include "tests/conformance/box.h"
#include "tests/conformance/table.h"
#include "tests/support/host_census.h"
#include "tests/support/products.h"
#include "tests/support/require.h"

namespace atl::conformance {
namespace {

using test::DriverWorld;
using test::HostCensus;
using namespace std::chrono_literals;

// One driver's world, shared by its cases for speed and made anew after a case that failed.
struct Scene {
  std::unique_ptr<DriverWorld> world;
  bool is_under_launcher = false;
  HostCensus clean;  // as every case finds the host, and leaves it
};

class Stage final {
 public:
  Findings& findings() { return findings_; }

  // One at a time: another driver's world would show in the census.
  Result<Scene*> scene(const std::string& driver) {
    if (!scene_.world || scene_.world->name() != driver) {
      drop();
      TRY(scene_.world, DriverWorld::open(driver));
      scene_.is_under_launcher = scene_.world->is_under_launcher();
      scene_.clean = HostCensus::take(scene_.world->root());
    }
    return &scene_;
  }
  void drop() { scene_ = {}; }

 private:
  Findings findings_;
  Scene scene_;
};

// What tests/support/engines.py could not give to its engine, and a behaviour needs; "" = nothing.
std::string lacking_for(std::string_view behaviour) {
  const char* const criu = getenv("ATOLL_TEST_LACKS_CRIU");
  const bool takes_criu = behaviour == "a_snapshot_of_memory_keeps_processes" ||
                          behaviour == "children_of_memory_go_on_and_go_their_own_way";
  return criu != nullptr && takes_criu ? criu : "";
}

class BehaviourCase final : public testing::Test {
 public:
  BehaviourCase(Stage& stage, std::string driver, const Behaviour& behaviour, std::string gap)
      : stage_(stage), driver_(std::move(driver)), behaviour_(behaviour), gap_(std::move(gap)) {}

  void TestBody() override {
    auto scene = stage_.scene(driver_);
    if (!scene) {
      stage_.findings().record(driver_, behaviour_.name, Cell::skipped);
      ATOLL_REQUIRE(scene.has_value(), "driver " + driver_ + ": " + scene.error().message());
    }
    const Subject subject{(*scene)->world->can(), (*scene)->is_under_launcher};
    const bool is_promised = behaviour_.is_promised == nullptr || behaviour_.is_promised(subject);
    if (is_promised && !gap_.empty()) {
      std::printf("not shown: %s\n", gap_.c_str());
      stage_.findings().record(driver_, behaviour_.name, Cell::not_promised);
      return;
    }
    if (const auto lacking = lacking_for(behaviour_.name); !is_promised && !lacking.empty()) {
      stage_.findings().record(driver_, behaviour_.name, Cell::skipped);
      ATOLL_REQUIRE(false, lacking);
    }
    if (const auto check = is_promised ? behaviour_.check : behaviour_.refusal) run(check, **scene);

    const Cell good = is_promised ? Cell::shown : Cell::not_promised;
    const Cell cell = HasFailure() ? Cell::failed : IsSkipped() ? Cell::skipped : good;
    stage_.findings().record(driver_, behaviour_.name, cell);
    if (HasFailure()) stage_.drop();
  }

 private:
  static void run(void (*check)(DriverWorld& world), Scene& scene) {
    try {
      check(*scene.world);
    } catch (const CaseStopped&) {
      return;
    }
    std::string left;
    scene.world->eventually(
        [&] { return (left = HostCensus::take(scene.world->root()).since(scene.clean)).empty(); },
        5s);
    EXPECT_EQ(left, "") << "the case has left something behind";
  }

  Stage& stage_;
  const std::string driver_;
  const Behaviour& behaviour_;
  const std::string gap_;  // why a variant does not show what the driver declares; "" = it does
};

// What a driver has shown is what its checked-in row says, no less and no more; what it has not
// shown has a reason.
class RequiredRow final : public testing::Test {
 public:
  RequiredRow(const Findings& findings, std::string driver, std::string variant)
      : findings_(findings), driver_(std::move(driver)), variant_(std::move(variant)) {}

  void TestBody() override {
    const auto row = read_row(driver_, variant_);
    ASSERT_TRUE(row) << row.error().message();
    for (const auto& group : all_groups()) {
      for (const auto& behaviour : group.behaviours) {
        const std::string name(behaviour.name);
        const Cell cell = findings_.at(driver_, name);
        if (cell == Cell::not_promised && !row->gaps.contains(name)) {
          ADD_FAILURE() << driver_ << " must show " << name
                        << " and does not declare it any more. Make it work again, "
                        << "or write an ADR (docs/adr), take the line out of "
                        << path_of_required(driver_) << " and give the reason in "
                        << path_of_gaps(driver_, variant_);
        }
        if (cell == Cell::shown && row->gaps.contains(name)) {
          ADD_FAILURE() << driver_ << " shows " << name << ", which has a reason why not in "
                        << path_of_gaps(driver_, variant_) << ". Take that out, add the line to "
                        << path_of_required(driver_) << ", then build the target update_readme";
        }
      }
    }
  }

 private:
  const Findings& findings_;
  const std::string driver_;
  const std::string variant_;
};

class ReadmeTable final : public testing::Test {
 public:
  void TestBody() override {
    auto table = required_table();
    ASSERT_TRUE(table) << table.error().message();
    auto readme = read_readme();
    ASSERT_TRUE(readme) << readme.error().message();
    auto wanted = with_table(*readme, *table);
    ASSERT_TRUE(wanted) << wanted.error().message();

    EXPECT_TRUE(*readme == *wanted)
        << "the table in README.md is not the one that the suite generates; build the "
        << "target update_readme (./dev build dev update_readme)";
  }
};

void register_cases(Stage& stage, const std::vector<Group>& groups,
                    const std::vector<std::string>& drivers, const std::string& variant) {
  const auto add = [](const std::string& name, auto make) {
    testing::RegisterTest("conformance", name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [make]() -> testing::Test* { return make(); });
  };
  for (const auto& driver : drivers) {
    // What is wrong with a row shows_its_required_row tells.
    const auto row = variant.empty() ? Row() : read_row(driver, variant).value_or(Row());
    for (const auto& group : groups) {
      for (const auto& behaviour : group.behaviours) {
        const auto found = row.gaps.find(std::string(behaviour.name));
        const std::string gap = found == row.gaps.end() ? "" : found->second.reason;
        add(driver + "/" + std::string(behaviour.name), [&stage, driver, &behaviour, gap] {
          return new BehaviourCase(stage, driver, behaviour, gap);
        });
      }
    }
    // Last, when the row is known.
    add(driver + "/shows_its_required_row",
        [&stage, driver, variant] { return new RequiredRow(stage.findings(), driver, variant); });
  }
  add("readme_shows_the_table", [] { return new ReadmeTable; });
}

int write_readme_table() {
  const auto write = []() -> Result<> {
    TRY(auto table, required_table());
    TRY(auto readme, read_readme());
    TRY(auto text, with_table(readme, table));
    return text == readme ? Result<>() : write_readme(text);
  };
  if (auto written = write(); !written) {
    std::fprintf(stderr, "conformance_test: %s\n", written.error().message().c_str());
    return 1;
  }
  return 0;
}

int run(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc == 2 && std::strcmp(argv[1], "--write-readme") == 0) return write_readme_table();
  const auto groups = all_groups();
  int result = 0;
  Stage stage;
  std::vector<std::string> drivers = driver_names();
  std::string variant;
  constexpr std::string_view kDrivers = "--drivers=", kVariant = "--variant=";
  for (const std::string_view word : std::vector<std::string_view>(argv + 1, argv + argc)) {
    if (word.starts_with(kDrivers)) drivers = split(word.substr(kDrivers.size()), ',');
    if (word.starts_with(kVariant)) variant = word.substr(kVariant.size());
  }
  register_cases(stage, groups, drivers, variant);
  result = RUN_ALL_TESTS();
  if (testing::GTEST_FLAG(list_tests)) return result;
  const auto table =
      to_markdown(drivers, groups, [&](std::string_view driver, std::string_view behaviour) {
        return stage.findings().at(driver, behaviour);
      });
  std::ofstream(test::own_directory() + "/conformance.md") << table;
  std::printf("\n%s", table.c_str());
  return result;
}

}  // namespace
}  // namespace atl::conformance

int main(int argc, char** argv) { return atl::conformance::run(argc, argv); }
