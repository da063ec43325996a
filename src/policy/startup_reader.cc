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

// `usual_ms` is how long it may take if it does not say.
Result<SetupStep> to_step(std::string_view field, const Value& value, int64_t usual_ms) {
  SetupStep step{.command = {}, .timeout_ms = usual_ms};
  const json::Object* object = value.if_object();
  if (object == nullptr) {
    TRY(step.command, to_command(field, value));
    return step;
  }
  TRY_OK(check_members(field, *object, {"run", "timeout"}, "a command, or {run, timeout}"));
  const Value* run = object->if_contains("run");
  if (run == nullptr) return wrong(field, "a step without `run` does nothing");
  TRY(step.command, to_command(field, *run));
  if (const Value* timeout = object->if_contains("timeout")) {
    TRY(step.timeout_ms, to_ms(field, *timeout));
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

// A list, or one alone.
Result<std::vector<SetupStep>> to_hooks(std::string_view moment, const Value& value) {
  const std::string field = "hooks." + std::string(moment);
  std::vector<SetupStep> hooks;
  if (!value.is_array()) {
    TRY(auto hook, to_step(field, value, kUsualHookMs));
    hooks.push_back(std::move(hook));
  } else {
    TRY(const json::Array* list, to_list(field, value, kMostHooks));
    for (const Value& one : *list) {
      TRY(auto hook, to_step(field, one, kUsualHookMs));
      hooks.push_back(std::move(hook));
    }
  }
  int64_t sum = 0;
  for (const SetupStep& hook : hooks) {
    if (hook.timeout_ms <= kLongestHooksMs) sum += hook.timeout_ms;
    if (hook.timeout_ms > kLongestHooksMs || sum > kLongestHooksMs)
      return wrong(field, "together they may take 10 minutes at most");
  }
  return hooks;
}

Result<> read_hooks(const Value& value, Startup& startup) {
  const json::Object* object = value.if_object();
  constexpr std::string_view kExpected =
      "after_start or before_stop: a command, {run, timeout}, or a list of them";
  if (object == nullptr) return wrong("hooks", "expected " + std::string(kExpected));
  TRY_OK(check_members("hooks", *object, {"after_start", "before_stop"}, kExpected));
  if (const Value* hooks = object->if_contains("after_start")) {
    TRY(startup.after_start, to_hooks("after_start", *hooks));
  }
  if (const Value* hooks = object->if_contains("before_stop")) {
    TRY(startup.before_stop, to_hooks("before_stop", *hooks));
  }
  return {};
}

}  // namespace

Result<Startup> read_startup(const std::optional<Value>& setup,
                             const std::optional<Value>& requirements,
                             const std::optional<Value>& readiness,
                             const std::optional<Value>& hooks) {
  Startup startup;
  if (hooks) TRY_OK(read_hooks(*hooks, startup));
  if (setup) {
    TRY(const json::Array* steps, to_list("setup", *setup, kMostSteps));
    startup.setup.emplace();
    for (const Value& one : *steps) {
      TRY(auto step, to_step("setup", one, SetupStep().timeout_ms));
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
