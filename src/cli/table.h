// Columns that line up, for people.
//
// On a terminal every row fits on one line: the widest columns are shortened until it does, the
// first one, by which rows are named, as the last. Elsewhere nothing is shortened.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/screen.h"

namespace atl::cli {

struct Cell {
  Cell(std::string words, Ink its_ink = Ink::plain) : text(std::move(words)), ink(its_ink) {}
  Cell(const char* words) : text(words) {}

  std::string text;  // one line, see single_line
  Ink ink = Ink::plain;
};

using TableRow = std::vector<Cell>;
using Table = std::vector<TableRow>;

// The first row is the heading. The last column is never padded.
std::string format_table(const Table& rows, std::optional<size_t> columns = std::nullopt,
                         Paint paint = Paint::plain);

// As it fits our stdout.
std::string table_for_stdout(const Table& rows);

}  // namespace atl::cli
