#include "tests/conformance/table.h"

#include <fcntl.h>

#include <algorithm>

#include "base/text.h"
#include "drivers/registry.h"
#include "os/file.h"
#include "tests/support/driver_world.h"

namespace atl::conformance {
namespace {

constexpr const char* kSource = ATOLL_SOURCE_DIRECTORY;
constexpr const char* kReadme = "README.md";
constexpr std::string_view kBegin = "<!-- conformance:begin -->\n";
constexpr std::string_view kEnd = "<!-- conformance:end -->";
constexpr std::string_view kDoesNotApply = "does not apply: ";
// How the table is read.
constexpr std::string_view kLegend =
    "✓ shown by the suite; – the driver cannot, does not declare it, and refuses it in words where "
    "there is something to refuse;\n· does not apply: there is nothing to show, and it is not "
    "counted. Each – and · has its reason in the second list.\n";
constexpr size_t kLargestText = 1 << 20;

std::string_view symbol(Cell cell) {
  switch (cell) {
    case Cell::shown:
      return "✓";
    case Cell::not_promised:
      return "–";
    case Cell::not_applicable:
      return "·";
    case Cell::failed:
      return "✗";
    case Cell::skipped:
      return "skipped";
    case Cell::not_run:
      return "not run";
  }
  return "";
}

Cell cell_of(const Gap& gap) { return gap.applies ? Cell::not_promised : Cell::not_applicable; }

std::string heading(std::string_view first, const std::vector<std::string>& drivers) {
  std::string text = "| " + std::string(first) + " |";
  std::string rule = "|---|";
  for (const auto& driver : drivers) {
    text += " `" + driver + "` |";
    rule += ":-:|";
  }
  return text + "\n" + rule + "\n";
}

// One line per group: how many of its behaviours each driver shows, of those that apply to it.
std::string to_summary(const std::vector<std::string>& drivers, const std::vector<Group>& groups,
                       const CellOf& cell) {
  std::string text = heading("behaviours shown", drivers);
  for (const auto& group : groups) {
    text += "| " + std::string(group.name) + " |";
    for (const auto& driver : drivers) {
      size_t shown = 0, all = 0;
      for (const auto& behaviour : group.behaviours) {
        const Cell one = cell(driver, behaviour.name);
        if (one == Cell::shown) ++shown;
        if (one != Cell::not_applicable) ++all;
      }
      text += " " + std::to_string(shown) + " of " + std::to_string(all) + " |";
    }
    text += "\n";
  }
  return text;
}

std::string as_sentence(std::string_view name) {
  std::string sentence(name);
  std::ranges::replace(sentence, '_', ' ');
  return sentence;
}

// Both kinds of file: lines without comments, the empty ones left out.
Result<std::vector<std::string>> read_lines(const std::string& path) {
  TRY(auto text, os::read_file(AT_FDCWD, std::string(kSource) + "/" + path, kLargestText));
  std::vector<std::string> lines;
  for (const auto& line : split(text, '\n')) {
    if (!line.empty() && line.front() != '#') lines.push_back(line);
  }
  return lines;
}

Error unsound(const std::string& path, const std::string& why) {
  return Error(Code::invalid_argument, path + ": " + why);
}

Result<> add_gaps(const std::string& path, Row& row) {
  TRY(const auto lines, read_lines(path));
  for (const auto& line : lines) {
    const size_t colon = line.find(": ");
    if (colon == std::string::npos || colon + 2 == line.size())
      return unsound(path, "a line is not `behaviour: reason`: " + line);
    std::string reason = line.substr(colon + 2);
    const bool applies = !reason.starts_with(kDoesNotApply);
    if (!applies) reason.erase(0, kDoesNotApply.size());
    const auto name = line.substr(0, colon);
    if (!row.gaps.try_emplace(name, Gap{applies, std::move(reason)}).second)
      return unsound(path, name + " has a reason already");
  }
  return {};
}

// Every behaviour is shown or has a reason, and there are no others.
Result<> check_row(std::string_view driver, std::string_view variant, const Row& row) {
  std::set<std::string> known;
  for (const auto& group : all_groups())
    for (const auto& behaviour : group.behaviours) known.emplace(behaviour.name);
  for (const auto& name : known) {
    const bool is_shown = row.shown.contains(name);
    if (is_shown && row.gaps.contains(name))
      return unsound(path_of_gaps(driver, variant), name + " is required, and has a reason");
    if (!is_shown && !row.gaps.contains(name)) {
      return unsound(path_of_gaps(driver, variant),
                     name + " is neither required nor has a reason why it is not shown; write `" +
                         name + ": reason`");
    }
  }
  for (const auto& name : row.shown) {
    if (!known.contains(name))
      return unsound(path_of_required(driver), "there is no behaviour " + name);
  }
  for (const auto& [name, gap] : row.gaps) {
    if (!known.contains(name))
      return unsound(path_of_gaps(driver, variant), "there is no behaviour " + name);
  }
  return {};
}

// What a driver does not show, one line per reason, in the order of the table.
std::string to_reasons(std::string_view driver, const Row& row) {
  struct Reason {
    const Gap* gap;
    std::string names;
  };
  std::vector<Reason> reasons;
  for (const auto& group : all_groups()) {
    for (const auto& behaviour : group.behaviours) {
      const auto found = row.gaps.find(std::string(behaviour.name));
      if (found == row.gaps.end()) continue;
      const Gap& gap = found->second;
      auto known = std::ranges::find_if(reasons, [&](const Reason& one) {
        return one.gap->applies == gap.applies && one.gap->reason == gap.reason;
      });
      if (known == reasons.end()) {
        reasons.push_back({&gap, ""});
        known = reasons.end() - 1;
      }
      known->names += (known->names.empty() ? "" : "; ") + as_sentence(behaviour.name);
    }
  }
  std::string text;
  for (const auto& one : reasons) {
    text += "| `" + std::string(driver) + "` | " + std::string(symbol(cell_of(*one.gap))) + " | " +
            one.gap->reason + " | " + one.names + " |\n";
  }
  return text;
}

}  // namespace

Cell Findings::at(std::string_view driver, std::string_view behaviour) const {
  const auto found = cells_.find({std::string(driver), std::string(behaviour)});
  return found == cells_.end() ? Cell::not_run : found->second;
}

std::string path_of_required(std::string_view driver) {
  return "src/drivers/" + std::string(driver) + "/behaviours.txt";
}

std::string path_of_gaps(std::string_view driver, std::string_view variant) {
  return "src/drivers/" + std::string(driver) + "/gaps" +
         (variant.empty() ? "" : "-" + std::string(variant)) + ".txt";
}

Result<Row> read_row(std::string_view driver, std::string_view variant) {
  Row row;
  TRY(const auto lines, read_lines(path_of_required(driver)));
  row.shown.insert(lines.begin(), lines.end());
  TRY_OK(add_gaps(path_of_gaps(driver), row));
  TRY_OK(check_row(driver, "", row));
  if (variant.empty()) return row;
  Row less;
  TRY_OK(add_gaps(path_of_gaps(driver, variant), less));
  for (auto& [name, gap] : less.gaps) {
    if (row.shown.erase(name) == 0)
      return unsound(path_of_gaps(driver, variant), name + " is not shown without it, either");
    row.gaps[name] = std::move(gap);
  }
  return row;
}

std::vector<std::string> driver_names() {
  std::vector<std::string> names;
  for (const auto& entry : drivers::all()) names.emplace_back(entry.name);
  names.emplace_back(test::kExtension);
  return names;
}

std::string to_markdown(const std::vector<std::string>& drivers, const std::vector<Group>& groups,
                        const CellOf& cell) {
  std::string text = heading("behaviour", drivers);
  for (const auto& group : groups) {
    text += "| **" + std::string(group.name) + "** |";
    for (size_t i = 0; i < drivers.size(); ++i) text += " |";
    text += "\n";
    for (const auto& behaviour : group.behaviours) {
      text += "| " + as_sentence(behaviour.name) + " |";
      for (const auto& driver : drivers)
        text += " " + std::string(symbol(cell(driver, behaviour.name))) + " |";
      text += "\n";
    }
  }
  return text;
}

Result<std::string> required_table() {
  std::map<std::string, Row> rows;
  for (const auto& driver : driver_names()) {
    TRY(rows[driver], read_row(driver));
  }
  const auto cell = [&](std::string_view driver, std::string_view behaviour) {
    const auto& gaps = rows[std::string(driver)].gaps;
    const auto gap = gaps.find(std::string(behaviour));
    return gap == gaps.end() ? Cell::shown : cell_of(gap->second);
  };
  const auto drivers = driver_names();
  const auto groups = all_groups();
  std::string text = to_summary(drivers, groups, cell) + "\n" + std::string(kLegend) +
                     "\n<details>\n<summary>Every behaviour</summary>\n\n" +
                     to_markdown(drivers, groups, cell) +
                     "\n</details>\n\n<details>\n<summary>What is not shown, and why</summary>\n\n"
                     "| driver | | why | behaviours |\n|---|:-:|---|---|\n";
  for (const auto& driver : drivers) text += to_reasons(driver, rows[driver]);
  return text + "\n</details>\n";
}

Result<std::string> read_readme() {
  return os::read_file(AT_FDCWD, std::string(kSource) + "/" + kReadme, kLargestText);
}

Result<std::string> with_table(const std::string& readme, const std::string& table) {
  const size_t begin = readme.find(kBegin);
  const size_t end = begin == std::string::npos ? begin : readme.find(kEnd, begin);
  if (end == std::string::npos)
    return Error(Code::not_found, "README.md has lost its marks for the table");
  const size_t from = begin + kBegin.size();
  return readme.substr(0, from) + table + readme.substr(end);
}

Result<> write_readme(const std::string& text) {
  TRY(auto source, os::open_at(AT_FDCWD, kSource, O_RDONLY | O_DIRECTORY));
  return os::replace_file(source.get(), kReadme, text, 0644);
}

}  // namespace atl::conformance
