// A described struct with a member of every kind, for the tests and the fuzzer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "json/describe.h"
#include "json/value.h"

namespace atl::json::sample {

enum class Level { none, process, vm, default_ };
BOOST_DESCRIBE_ENUM(Level, none, process, vm, default_)

struct Resources {
  std::optional<double> cpu;
  std::optional<uint32_t> memory_mb;
  int16_t nice = 0;
  static constexpr auto kRequired = required();
};
BOOST_DESCRIBE_STRUCT(Resources, (), (cpu, memory_mb, nice))

struct Mount {
  std::string source;
  std::string target = "/workspace";
  bool read_only = true;
  static constexpr auto kRequired = required("source");
};
BOOST_DESCRIBE_STRUCT(Mount, (), (source, target, read_only))

struct Named {
  std::string name;
};
BOOST_DESCRIBE_STRUCT(Named, (), (name))

struct Spec : Named {
  std::vector<std::string> argv;
  std::optional<Level> level;
  std::optional<Resources> resources;
  std::optional<std::vector<Mount>> mounts;
  std::optional<std::map<std::string, std::string>> labels;
  std::optional<std::map<std::string, std::vector<int8_t>>> tables;
  std::optional<bool> default_;
  std::optional<uint64_t> big;
  std::optional<int64_t> offset;
  std::optional<Value> extra;
};
BOOST_DESCRIBE_STRUCT(Spec, (Named),
                      (argv, level, resources, mounts, labels, tables, default_, big, offset,
                       extra))

}  // namespace atl::json::sample
