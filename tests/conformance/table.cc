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
constexpr size_t kLargestText = 1 << 20;

std::string_view symbol(Cell cell) {
  switch (cell) {
    case Cell::shown:
      return "✓";
    case Cell::not_promised:
      return "–";
    case Cell::failed:
      return "✗";
    case Cell::skipped:
      return "skipped";
    case Cell::not_run:
      return "not run";
  }
  return "";
}

std::string heading(std::string_view first, const std::vector<std::string>& drivers) {
  std::string text = "| " + std::string(first) + " |";
  std::string rule = "|---|";
  for (const auto& driver : drivers) {
    text += " `" + driver + "` |";
    rule += ":-:|";
  }
  return text + "\n" + rule + "\n";
}

// One line per group: how many of its behaviours each driver shows.
std::string to_summary(const std::vector<std::string>& drivers, const std::vector<Group>& groups,
                       const CellOf& cell) {
  std::string text = heading("behaviours shown", drivers);
  for (const auto& group : groups) {
    text += "| " + std::string(group.name) + " |";
    for (const auto& driver : drivers) {
      const auto shown = std::ranges::count_if(group.behaviours, [&](const Behaviour& behaviour) {
        return cell(driver, behaviour.name) == Cell::shown;
      });
      text += " " + std::to_string(shown) + " of " + std::to_string(group.behaviours.size()) + " |";
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

}  // namespace

Cell Findings::at(std::string_view driver, std::string_view behaviour) const {
  const auto found = cells_.find({std::string(driver), std::string(behaviour)});
  return found == cells_.end() ? Cell::not_run : found->second;
}

std::string path_of_required(std::string_view driver) {
  return "src/drivers/" + std::string(driver) + "/behaviours.txt";
}

Result<std::set<std::string>> read_required(std::string_view driver) {
  TRY(auto text,
      os::read_file(AT_FDCWD, std::string(kSource) + "/" + path_of_required(driver), kLargestText));
  std::set<std::string> names;
  for (const auto& line : split(text, '\n')) {
    const std::string name = line.substr(0, line.find_first_of("# "));
    if (!name.empty()) names.insert(name);
  }
  return names;
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
  std::map<std::string, std::set<std::string>> required;
  for (const auto& driver : driver_names()) {
    TRY(required[driver], read_required(driver));
  }
  const auto cell = [&](std::string_view driver, std::string_view behaviour) {
    return required[std::string(driver)].contains(std::string(behaviour)) ? Cell::shown
                                                                          : Cell::not_promised;
  };
  const auto drivers = driver_names();
  const auto groups = all_groups();
  return to_summary(drivers, groups, cell) + "\n<details>\n<summary>Every behaviour</summary>\n\n" +
         to_markdown(drivers, groups, cell) + "\n</details>\n";
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
