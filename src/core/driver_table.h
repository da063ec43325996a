// The drivers that wiring handed over, in the order of preference, with what probing them said.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/engine.h"

namespace atl {

struct DriverSlot {
  std::unique_ptr<Driver> driver;
  std::string summary;
  // Nullopt while it does not answer, and `trouble` says why.
  std::optional<Capabilities> capabilities;
  Error trouble{Code::unavailable, "not probed yet"};
  bool is_asked = true;  // false = not before ask_rest()

  std::string name() const { return std::string(driver->name()); }
};

class DriverTable final {
 public:
  explicit DriverTable(std::vector<EngineDriver> drivers, Asking asking = Asking::at_once);

  // Asks every driver, or only those that did not answer last time.
  Task<> probe_all();
  Task<> probe_missing();
  Task<> probe(DriverSlot& slot);
  // Those that were to be asked late.
  bool has_unasked() const;
  Task<> ask_rest();

  DriverSlot* find(std::string_view name);
  // Code::unavailable when it is not configured any more or does not answer.
  Result<DriverSlot*> get_ready(std::string_view name);

  std::vector<DriverSlot>& slots() { return slots_; }
  const std::vector<DriverSlot>& slots() const { return slots_; }
  std::vector<std::string> names() const;
  std::vector<DriverView> views() const;

  // Code::unsupported: "local cannot pause", and which configured drivers can.
  Error lacking(std::string_view driver, std::string_view verb,
                const std::function<bool(const Capabilities&)>& can) const;

 private:
  std::vector<DriverSlot> slots_;
};

// "a", "a and b", "a, b and c".
std::string enumerate(const std::vector<std::string>& words);

}  // namespace atl
