// The driver × behaviour table: what each driver must show, what it has shown, and how README.md
// says it.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tests/conformance/behaviour.h"

namespace atl::conformance {

enum class Cell : uint8_t {
  not_run,
  shown,
  not_promised,    // the driver does not declare it, and says so where it is asked for it
  not_applicable,  // the same, and there is nothing to show: gaps.txt says why
  failed,
  skipped,  // this host lacks what the check needs
};

// What a run has seen.
class Findings final {
 public:
  void record(std::string_view driver, std::string_view behaviour, Cell cell) {
    cells_[{std::string(driver), std::string(behaviour)}] = cell;
  }
  Cell at(std::string_view driver, std::string_view behaviour) const;

 private:
  std::map<std::pair<std::string, std::string>, Cell> cells_;
};

// Why a driver does not show a behaviour.
struct Gap {
  bool applies = true;  // false = there is nothing to show: it has no launcher, or no outside
  std::string reason;
};

// What is checked in beside a driver: what it must show and why it does not show the rest, in
// src/drivers/<name>/behaviours.txt and gaps.txt. One per line, `#` begins a comment; a gap is
// `behaviour: reason` or `behaviour: does not apply: reason`.
struct Row {
  std::set<std::string> shown;
  std::map<std::string, Gap> gaps;
};
// A variant is the same driver in other circumstances ("relay"), which shows less, for the reasons
// in gaps-<variant>.txt. Code::invalid_argument unless every behaviour is in exactly one of the
// two.
Result<Row> read_row(std::string_view driver, std::string_view variant = "");
std::string path_of_required(std::string_view driver);
std::string path_of_gaps(std::string_view driver, std::string_view variant = "");

using CellOf = std::function<Cell(std::string_view driver, std::string_view behaviour)>;
std::string to_markdown(const std::vector<std::string>& drivers, const std::vector<Group>& groups,
                        const CellOf& cell);

// What README.md shows: the table of what is required, folded below its summary, and the reasons of
// what is not. A green run shows exactly that.
Result<std::string> required_table();

// README.md with `table` between its two marks.
Result<std::string> read_readme();
Result<std::string> with_table(const std::string& readme, const std::string& table);
Result<> write_readme(const std::string& text);

std::vector<std::string> driver_names();

}  // namespace atl::conformance
