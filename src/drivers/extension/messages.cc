#include "drivers/extension/messages.h"

#include <algorithm>
#include <iterator>

#include "base/ids.h"
#include "base/text.h"
#include "json/json.h"

namespace atl::extension {
namespace {

constexpr size_t kLongestText = 1000;
constexpr size_t kLongestVersion = 64;
constexpr size_t kLongestInstance = 64;
constexpr json::Limits kLimits{.max_bytes = kLongestLine, .max_depth = 16};

struct ToldError {
  std::string code;
  std::string message;
  std::string hint;

  static constexpr auto kRequired = json::required("code", "message");
};
BOOST_DESCRIBE_STRUCT(ToldError, (), (code, message, hint))

// Those that somebody who makes sandboxes can have a reason for.
constexpr Code kTheirs[] = {Code::invalid_argument, Code::permission_denied,  Code::not_found,
                            Code::already_exists,   Code::conflict,           Code::unsupported,
                            Code::too_large,        Code::resource_exhausted, Code::internal,
                            Code::unavailable,      Code::deadline_exceeded,  Code::out_of_space};

std::string cut(const std::string& text) { return to_printable(text.substr(0, kLongestText)); }

Error nonsense(const Error& why) {
  return Error(Code::internal, "the extension answers nonsense: " + cut(why.message()));
}

Error to_error(const ToldError& told) {
  const auto code =
      std::ranges::find_if(kTheirs, [&](Code one) { return to_string(one) == told.code; });
  return Error(code != std::end(kTheirs) ? *code : Code::internal, cut(told.message))
      .with_hint(cut(told.hint));
}

template <typename T>
Result<T> decode_answer(std::string_view line) {
  TRY(const auto value, parse_answer(line));
  auto answer = json::decode_value<T>(value);
  if (!answer) return nonsense(answer.error());
  return answer;
}

}  // namespace

std::string encode_line(const Call& call) { return json::encode(call) + "\n"; }

Result<json::Value> parse_answer(std::string_view line) {
  auto parsed = json::parse(line, kLimits);
  if (!parsed) return nonsense(parsed.error());
  const json::Object* answer = parsed->if_object();
  if (answer == nullptr || answer->size() != 1)
    return nonsense(Error(Code::internal, "expected an object with ok or error"));
  if (const json::Value* ok = answer->if_contains("ok")) return *ok;
  const json::Value* error = answer->if_contains("error");
  if (error == nullptr)
    return nonsense(Error(Code::internal, "expected an object with ok or error"));
  auto told = json::decode_value<ToldError>(*error);
  if (!told) return nonsense(told.error());
  return to_error(*told);
}

Result<HelloAnswer> parse_hello(std::string_view line) {
  TRY(auto hello, decode_answer<HelloAnswer>(line));
  if (hello.version.size() > kLongestVersion)
    return nonsense(Error(Code::internal, "version: it has at most 64 bytes"));
  if (auto checked = check_claim(hello.capabilities); !checked) return nonsense(checked.error());
  return hello;
}

Result<OpenAnswer> parse_open(std::string_view line) { return decode_answer<OpenAnswer>(line); }

Result<ListAnswer> parse_list(std::string_view line) {
  TRY(auto list, decode_answer<ListAnswer>(line));
  std::erase_if(list.sandboxes, [](const ListedSandbox& one) {
    return !is_sandbox_id(one.id) || one.instance.size() > kLongestInstance;
  });
  return list;
}

Result<> parse_done(std::string_view line) {
  TRY_OK(decode_answer<NoAnswer>(line));
  return {};
}

Result<EndedEvent> parse_event(std::string_view line) {
  auto parsed = json::parse(line, kLimits);
  if (!parsed) return nonsense(parsed.error());
  auto event = json::decode_value<EndedEvent>(*parsed);
  if (!event) return nonsense(event.error());
  if (!is_sandbox_id(event->ended))
    return nonsense(Error(Code::internal, "ended: it is no sandbox's id"));
  return event;
}

}  // namespace atl::extension
