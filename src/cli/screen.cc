#include "cli/screen.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace atl::cli {
namespace {

std::string_view variable(const char* name) {
  const char* value = getenv(name);
  return value != nullptr ? value : "";
}

std::string_view code_of(Ink ink) {
  switch (ink) {
    case Ink::plain:
      return "";
    case Ink::strong:
      return "\033[1m";
    case Ink::dim:
      return "\033[2m";
    case Ink::good:
      return "\033[32m";
    case Ink::warning:
      return "\033[33m";
    case Ink::bad:
      return "\033[31m";
    case Ink::accent:
      return "\033[36m";
  }
  return "";
}

}  // namespace

bool can_redraw(int fd) {
  const std::string_view kind = variable("TERM");
  return isatty(fd) == 1 && !kind.empty() && kind != "dumb";
}

bool takes_colour(int fd) { return can_redraw(fd) && variable("NO_COLOR").empty(); }

Paint paint_for(int fd) { return takes_colour(fd) ? Paint::coloured : Paint::plain; }

std::optional<size_t> columns_of(int fd) {
  winsize told{};
  if (isatty(fd) != 1 || ioctl(fd, TIOCGWINSZ, &told) != 0 || told.ws_col == 0) return std::nullopt;
  return told.ws_col;
}

std::string inked(std::string_view text, Ink ink) {
  if (ink == Ink::plain || text.empty()) return std::string(text);
  return std::string(code_of(ink)) + std::string(text) + "\033[0m";
}

std::string inked_for(int fd, std::string_view text, Ink ink) {
  return takes_colour(fd) ? inked(text, ink) : std::string(text);
}

}  // namespace atl::cli
