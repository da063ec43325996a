// The page that `atoll doctor` prints: a sign and a word for each verdict, what was found beside
// it, and the commands that repair the rest.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/screen.h"
#include "json/value.h"
#include "native/host_verdicts.h"

namespace atl::cli {

enum class Mark : uint8_t { fine, weak, missing, absent };

// What is optional is never worse than absent.
Mark mark_of(const native::HostCheck& check);

class DoctorPage final {
 public:
  // Lines are broken at so many columns, if that is known.
  DoctorPage(Paint paint, std::optional<size_t> columns) : paint_(paint), columns_(columns) {}

  void heading(std::string_view words);
  void line(Mark mark, std::string_view name, std::string_view text);
  // More about the line above.
  void below(std::string_view text);
  void host_check(const native::HostCheck& check);
  // A driver as GET /v1/drivers tells it.
  void driver(const json::Value& driver);
  void blank() { text_ += "\n"; }
  void remark(std::string_view words);
  // The commands, ready to be copied.
  void repairs(const std::vector<native::HostCheck>& checks);

  std::string take() { return std::move(text_); }

 private:
  std::string in(Ink ink, std::string_view words) const;
  std::string broken(std::string_view text) const;

  Paint paint_;
  std::optional<size_t> columns_;
  std::string text_;
};

// "cpu, memory, pids (each process), …; not: disk", of a driver's capabilities.
std::string describe_limits(const json::Value& capabilities);

}  // namespace atl::cli
