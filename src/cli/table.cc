#include "cli/table.h"

#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "cli/text_width.h"

namespace atl::cli {
namespace {

constexpr size_t kGap = 3;
// What is shortened keeps so much, which tells apart most of what people name.
constexpr size_t kLeast = 6;

size_t sum_of(const std::vector<size_t>& widths) {
  return std::accumulate(widths.begin(), widths.end(), size_t{0}) + kGap * (widths.size() - 1);
}

// Takes from the widest, until all of it fits or nothing more can be taken.
void shrink(std::vector<size_t>& widths, size_t first, size_t columns) {
  while (sum_of(widths) > columns) {
    const auto widest =
        std::max_element(widths.begin() + static_cast<ptrdiff_t>(first), widths.end());
    if (widest == widths.end() || *widest <= kLeast) return;
    --*widest;
  }
}

std::vector<size_t> widths_of(const Table& rows, std::optional<size_t> columns) {
  std::vector<size_t> widths;
  for (const TableRow& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(row[i].text));
    }
  }
  if (columns && !widths.empty()) {
    shrink(widths, 1, *columns);
    shrink(widths, 0, *columns);
  }
  return widths;
}

}  // namespace

std::string format_table(const Table& rows, std::optional<size_t> columns, Paint paint) {
  const std::vector<size_t> widths = widths_of(rows, columns);
  std::string text;
  for (size_t number = 0; number < rows.size(); ++number) {
    const TableRow& row = rows[number];
    std::string line;
    size_t blanks = 0, used = 0;
    for (size_t i = 0; i < row.size(); ++i) {
      std::string word = columns ? shortened(row[i].text, widths[i]) : row[i].text;
      const size_t width = width_of(word);
      if (width > 0) {
        // A screen that is too narrow for anything gets what fits on it.
        if (columns && used + blanks >= *columns) break;
        if (columns) word = shortened(word, *columns - used - blanks);
        used += blanks + width_of(word);
        line.append(blanks, ' ');
        blanks = 0;
        const Ink ink = number == 0 ? Ink::dim : row[i].ink;
        line += paint == Paint::coloured ? inked(word, ink) : word;
      }
      blanks += widths[i] - width + kGap;
    }
    text += line + "\n";
  }
  return text;
}

std::string table_for_stdout(const Table& rows) {
  return format_table(rows, columns_of(STDOUT_FILENO), paint_for(STDOUT_FILENO));
}

}  // namespace atl::cli
