#include <algorithm>
#include <charconv>
#include <cmath>
#include <exception>
#include <string>
#include <vector>

#include <boost/json/basic_parser_impl.hpp>

#include "base/text.h"
#include "json/parse_into.h"
#include "json/path.h"

namespace atl::json {
namespace {

using boost::json::error_code;
using boost::json::string_view;

// Builds the tree from the parser's events. Boost's own builder lets the last of two equal keys
// win, which is how two readers of one request come to disagree about it; this one refuses the
// second.
class TreeBuilder final {
 public:
  // Limits that the parser reads off its handler. They bound hash collisions, and what a small text
  // can grow into.
  static constexpr size_t max_object_size = 10'000;
  static constexpr size_t max_array_size = 65'536;
  static constexpr size_t max_key_size = static_cast<size_t>(-1);
  static constexpr size_t max_string_size = static_cast<size_t>(-1);

  explicit TreeBuilder(Value& root) : root_(root) {}

  const std::string& problem() const { return problem_; }

  // Where the innermost list or object is that has been begun: "sandbox.labels"; "" at the top.
  std::string path_of_open() const {
    std::string path;
    for (size_t i = 0; i + 1 < open_.size(); ++i) {
      if (const auto* array = open_[i]->if_array()) {
        path += step_to_string(array->size() - 1);
      } else {
        const auto key = std::prev(open_[i]->get_object().end())->key();
        path += step_to_string({key.data(), key.size()}, path);
      }
    }
    return path;
  }

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }

  bool on_object_begin(error_code&) {
    Value& here = next();
    here.emplace_object();
    open_.push_back(&here);
    return true;
  }
  bool on_array_begin(error_code&) {
    Value& here = next();
    here.emplace_array();
    open_.push_back(&here);
    return true;
  }
  bool on_object_end(size_t, error_code&) { return close(); }
  bool on_array_end(size_t, error_code&) { return close(); }

  bool on_key_part(string_view part, size_t, error_code&) { return append(part); }
  bool on_key(string_view part, size_t, error_code& problem) {
    append(part);
    const auto [at, fresh] = open_.back()->get_object().emplace(text_, nullptr);
    if (!fresh)
      return refuse(path_of_open() + step_to_string(text_, path_of_open()) + ": given twice",
                    problem);
    member_ = &at->value();
    text_.clear();
    return true;
  }

  bool on_string_part(string_view part, size_t, error_code&) { return append(part); }
  bool on_string(string_view part, size_t, error_code&) {
    append(part);
    next().emplace_string().assign(text_.data(), text_.size());
    text_.clear();
    return true;
  }

  bool on_number_part(string_view part, error_code&) { return append(part); }
  bool on_int64(int64_t number, string_view, error_code&) {
    text_.clear();
    next().emplace_int64() = number;
    return true;
  }
  bool on_uint64(uint64_t number, string_view, error_code&) {
    text_.clear();
    next().emplace_uint64() = number;
    return true;
  }
  // The parser's own conversion may be off by one in the last place, so that a number would not
  // survive a round trip.
  bool on_double(double rough, string_view part, error_code& problem) {
    append(part);
    double exact = 0;
    const auto end = text_.data() + text_.size();
    const auto [stop, failure] = std::from_chars(text_.data(), end, exact);
    if (failure == std::errc::result_out_of_range && std::abs(rough) > 1) {
      return refuse("a number is out of range", problem);
    }
    text_.clear();
    next().emplace_double() = failure == std::errc() ? exact : 0.0;
    return true;
  }
  bool on_bool(bool value, error_code&) {
    next().emplace_bool() = value;
    return true;
  }
  bool on_null(error_code&) {
    next().emplace_null();
    return true;
  }
  bool on_comment_part(string_view, error_code&) { return true; }
  bool on_comment(string_view, error_code&) { return true; }

 private:
  bool append(string_view part) {
    text_.append(part.data(), part.size());
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }
  bool refuse(std::string problem, error_code& code) {
    problem_ = std::move(problem);
    code = boost::json::error::syntax;
    return false;
  }

  // Where the next value goes. Pointers into a parent stay good: it does not grow while a child is
  // open.
  Value& next() {
    if (open_.empty()) return root_;
    if (auto* array = open_.back()->if_array()) return array->emplace_back(nullptr);
    return *member_;
  }

  Value& root_;
  std::vector<Value*> open_;
  Value* member_ = nullptr;
  std::string text_;  // of the key, string or number that is being read
  std::string problem_;
};

std::string position(std::string_view text, size_t at) {
  const std::string_view before = text.substr(0, std::min(at, text.size()));
  const auto line = 1 + std::ranges::count(before, '\n');
  const size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  return "line " + std::to_string(line) + ", column " +
         std::to_string(before.size() - line_begin + 1);
}

Error too_many(const std::string& path, std::string_view what, size_t most) {
  return Error(Code::too_large, (path.empty() ? std::string("the JSON text") : path) +
                                    ": it has more than " + std::to_string(most) + " " +
                                    std::string(what));
}

Error explain(const error_code& code, std::string_view text, size_t at, const Limits& limits,
              const std::string& path) {
  using boost::json::error;
  const auto is = [&](error which) { return code == make_error_code(which); };
  const std::string where = "not valid JSON: " + position(text, at) + ": ";
  if (is(error::too_deep)) {
    return Error(Code::invalid_argument,
                 "nested deeper than " + std::to_string(limits.max_depth) + " levels");
  }
  if (is(error::array_too_large)) return too_many(path, "entries", TreeBuilder::max_array_size);
  if (is(error::object_too_large)) return too_many(path, "fields", TreeBuilder::max_object_size);
  if (is(error::incomplete))
    return Error(Code::invalid_argument, where + "the text ends too early");
  if (is(error::extra_data)) {
    return Error(Code::invalid_argument, where + "something follows the value");
  }
  return Error(Code::invalid_argument, where + code.message());
}

}  // namespace

namespace detail {

Result<> parse_into(Value& out, std::string_view text, const Limits& limits) {
  if (text.size() > limits.max_bytes) {
    return Error(Code::too_large, "the JSON text has " + std::to_string(text.size()) +
                                      " bytes, at most " + std::to_string(limits.max_bytes) +
                                      " are taken");
  }
  if (text.empty()) return Error(Code::invalid_argument, "not valid JSON: the text is empty");
  if (!is_utf8(text)) return Error(Code::invalid_argument, "not valid JSON: malformed UTF-8");

  boost::json::parse_options options;
  options.max_depth = limits.max_depth;
  options.allow_invalid_utf8 = true;  // looked at above, where the message can say it
  try {
    boost::json::basic_parser<TreeBuilder> parser(options, out);
    error_code problem;
    const size_t used = parser.write_some(false, text.data(), text.size(), problem);
    if (!problem && used < text.size()) problem = boost::json::error::extra_data;
    if (!problem) return {};
    if (!parser.handler().problem().empty()) {
      return Error(Code::invalid_argument, parser.handler().problem());
    }
    return explain(problem, text, used, limits, parser.handler().path_of_open());
  } catch (const std::exception& failure) {
    return Error(Code::internal, std::string("parsing JSON: ") + failure.what());
  }
}

}  // namespace detail

Result<Value> parse(std::string_view text, const Limits& limits) {
  Value value;
  TRY_OK(detail::parse_into(value, text, limits));
  return value;
}

}  // namespace atl::json
