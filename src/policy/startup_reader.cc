#include "policy/startup_reader.h"

#include <algorithm>

#include "policy/written_value.h"

namespace atl::policy {
namespace {

using json::Value;

Result<std::string> to_command(std::string_view field, const Value& value) {
  const auto text = text_of(value);
  if (!text || text->empty() || text->find('\0') != std::string_view::npos)
    return wrong(field, "expected a command for sh -c");
  if (text->size() > kLongestCommand) return wrong(field, "it is longer than 16384 bytes");
  return std::string(*text);
}

// Every member must be one of these.
Result<> check_members(std::string_view field, const json::Object& object,
                       std::initializer_list<std::string_view> known, std::string_view expected) {
  for (const auto& member : object) {
    const std::string_view key(member.key().data(), member.key().size());
    if (std::find(known.begin(), known.end(), key) == known.end())
      return wrong(field, "expected " + std::string(expected));
  }
  return {};
}

Result<SetupStep> to_step(const Value& value) {
  SetupStep step;
  const json::Object* object = value.if_object();
  if (object == nullptr) {
    TRY(step.command, to_command("setup", value));
    return step;
  }
  TRY_OK(check_members("setup", *object, {"run", "timeout"}, "a command, or {run, timeout}"));
  const Value* run = object->if_contains("run");
  if (run == nullptr) return wrong("setup", "a step without `run` does nothing");
  TRY(step.command, to_command("setup", *run));
  if (const Value* timeout = object->if_contains("timeout")) {
    TRY(step.timeout_ms, to_ms("setup", *timeout));
  }
  return step;
}

Result<Readiness> to_readiness(const Value& value) {
  Readiness readiness;
  const json::Object* object = value.if_object();
  if (object == nullptr) {
    TRY(readiness.command, to_command("readiness", value));
    return readiness;
  }
  TRY_OK(check_members("readiness", *object, {"run", "port", "interval", "timeout"},
                       "a command, or {run or port, interval, timeout}"));
  const Value* run = object->if_contains("run");
  const Value* port = object->if_contains("port");
  if ((run == nullptr) == (port == nullptr))
    return wrong("readiness", "it is a command (`run`) or a `port`, one of the two");
  if (run != nullptr) {
    TRY(readiness.command, to_command("readiness", *run));
  } else {
    const auto number = number_of(*port);
    if (!number || *number < 1 || *number > 65535 || *number != static_cast<uint16_t>(*number))
      return wrong("readiness", "a port is a number from 1 to 65535");
    readiness.port = static_cast<uint16_t>(*number);
  }
  if (const Value* interval = object->if_contains("interval")) {
    TRY(readiness.interval_ms, to_ms("readiness", *interval));
  }
  if (const Value* timeout = object->if_contains("timeout")) {
    TRY(readiness.timeout_ms, to_ms("readiness", *timeout));
  }
  return readiness;
}

Result<const json::Array*> to_list(std::string_view field, const Value& value, size_t most) {
  const json::Array* list = value.if_array();
  if (list == nullptr) return wrong(field, "expected a list");
  if (list->size() > most)
    return wrong(field, "it has more than " + std::to_string(most) + " entries");
  return list;
}

}  // namespace

Result<Startup> read_startup(const std::optional<Value>& setup,
                             const std::optional<Value>& requirements,
                             const std::optional<Value>& readiness) {
  Startup startup;
  if (setup) {
    TRY(const json::Array* steps, to_list("setup", *setup, kMostSteps));
    startup.setup.emplace();
    for (const Value& one : *steps) {
      TRY(auto step, to_step(one));
      startup.setup->push_back(std::move(step));
    }
  }
  if (requirements) {
    TRY(const json::Array* list, to_list("requires", *requirements, kMostRequirements));
    startup.requires_.emplace();
    for (const Value& one : *list) {
      const auto text = text_of(one);
      if (!text) return wrong("requires", "expected a program, or python>=3.11");
      auto requirement = parse_requirement(*text);
      if (!requirement) return std::move(requirement).error().with("requires");
      startup.requires_->push_back(*std::move(requirement));
    }
  }
  if (readiness) {
    TRY(startup.readiness, to_readiness(*readiness));
  }
  return startup;
}

}  // namespace atl::policy
