// Messages of the extension protocol: a line of JSON each, at most 1 MiB. docs/extensions.md tells
// what they mean.
//
// What an extension says is untrusted input: a line that is too long, is no JSON, has a field that
// the protocol does not have or a value of another type is refused as a whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/extension/claim.h"
#include "json/value.h"

namespace atl::extension {

constexpr size_t kLongestLine = 1 << 20;

struct AskedResources {
  std::optional<double> cpu;
  std::optional<int64_t> memory_mb;
  std::optional<int64_t> pids;
  std::optional<int64_t> disk_mb;
};
BOOST_DESCRIBE_STRUCT(AskedResources, (), (cpu, memory_mb, pids, disk_mb))

// What we say. Fields that a call does not have are absent.
struct Call {
  std::string call;
  std::optional<int64_t> protocol;                // of all but hello
  std::optional<std::vector<int64_t>> protocols;  // hello: those that we speak
  std::optional<std::string> id;                  // a sandbox's
  std::optional<std::string> instance;            // create: whose it is
  std::optional<std::string> agent;               // create: the agent's program, on our host
  std::optional<std::string> image;               // create
  std::optional<AskedResources> resources;        // create, resize
  std::optional<json::Value> configuration;       // hello, create
};
BOOST_DESCRIBE_STRUCT(Call, (),
                      (call, protocol, protocols, id, instance, agent, image, resources,
                       configuration))

// With its newline.
std::string encode_line(const Call& call);

struct HelloAnswer {
  int64_t protocol = 0;
  std::string name;
  std::string version;
  Claim capabilities;
};
BOOST_DESCRIBE_STRUCT(HelloAnswer, (), (protocol, name, version, capabilities))

// How the agent of a sandbox is reached: it calls (agent/caller.h), or it is spoken to through a
// relay (agent/answerer.h).
enum class Reached : uint8_t { calls, answers };
BOOST_DESCRIBE_ENUM(Reached, calls, answers)

struct OpenAnswer {
  Reached agent = Reached::calls;
};
BOOST_DESCRIBE_STRUCT(OpenAnswer, (), (agent))

struct ListedSandbox {
  std::string id;
  std::string instance;
  std::optional<bool> paused;  // its agent cannot answer
};
BOOST_DESCRIBE_STRUCT(ListedSandbox, (), (id, instance, paused))

struct ListAnswer {
  std::vector<ListedSandbox> sandboxes;
};
BOOST_DESCRIBE_STRUCT(ListAnswer, (), (sandboxes))

struct NoAnswer {};
BOOST_DESCRIBE_STRUCT(NoAnswer, (), ())

// A sandbox that has ended by itself.
struct EndedEvent {
  std::string ended;
  std::optional<int64_t> exit_code;  // of its agent
};
BOOST_DESCRIBE_STRUCT(EndedEvent, (), (ended, exit_code))

// The value of `ok`. An `error` becomes ours: its code, if it is one that an extension may use, and
// its words, made printable and cut. Code::internal for what is neither.
Result<json::Value> parse_answer(std::string_view line);

Result<HelloAnswer> parse_hello(std::string_view line);
Result<OpenAnswer> parse_open(std::string_view line);
// Only what can be an id; an extension that lists something else lists nothing of ours.
Result<ListAnswer> parse_list(std::string_view line);
Result<> parse_done(std::string_view line);
Result<EndedEvent> parse_event(std::string_view line);

}  // namespace atl::extension
