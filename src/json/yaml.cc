#include "json/yaml.h"

#include <algorithm>
#include <exception>
#include <map>
#include <optional>
#include <sstream>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "base/text.h"
#include "json/yaml_scalar.h"

namespace atl::json {
namespace {

// What the values of one document may cost, copies of aliases included. Aliases of aliases double
// at every step, so that a few hundred bytes of YAML can ask for more memory than there is.
constexpr size_t kMostCost = size_t{8} << 20;
constexpr size_t kCostPerValue = 32;
constexpr size_t kMostChildren = 10'000;

// Leaves yaml-cpp's parser from inside an event; caught in parse_yaml and nowhere else.
struct Refusal {
  int line;
  std::string problem;
};

int line_number(const YAML::Mark& mark) { return std::max(mark.line, 0) + 1; }
int column_number(const YAML::Mark& mark) { return std::max(mark.column, 0) + 1; }

std::string_view view(boost::json::string_view text) { return {text.data(), text.size()}; }

// A value and its lines, as one thing that is placed into its parent.
struct Node {
  Value value;
  Document::Line lines;
};

class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(const Limits& limits) : limits_(limits) {}

  Node take() && { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    scalar(mark, anchor, Value(nullptr));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    const int line = line_number(mark);
    if (expects_key()) return key(mark, anchor, text);
    // "?" marks a plain word and "!" a quoted one; "" comes with explicit empty tags.
    if (tag == "?" || tag.empty()) {
      auto value = detail::plain_scalar(text);
      if (!value) throw Refusal{line, value.error().message()};
      scalar(mark, anchor, std::move(*value));
    } else if (tag == "!" || tag == "tag:yaml.org,2002:str") {
      scalar(mark, anchor, Value(boost::json::string_view(text.data(), text.size())));
    } else {
      throw Refusal{line, "the tag " + quote(tag) + " is not known"};
    }
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Array());
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Object());
  }
  void OnMapEnd() override { close(); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const int line = line_number(mark);
    if (expects_key()) throw Refusal{line, "an alias cannot be a key"};
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw Refusal{line, "an alias stands inside what it names"};
    const Anchored& anchored = found->second;
    if (open_.size() + anchored.depth > limits_.max_depth) refuse_depth(line);
    spend(line, anchored.cost);
    if (!open_.empty()) deepen(open_.back(), anchored.depth);
    place({anchored.node.value, anchored.node.lines});
  }

 private:
  struct Open {
    Node node;
    YAML::anchor_t anchor;
    size_t cost_before;
    size_t depth = 1;  // of the deepest thing in it, itself counted
    std::optional<std::string> key;
    int key_line = 0;
    int key_column = 0;
  };
  struct Anchored {
    Node node;
    size_t cost;
    size_t depth;
  };

  [[noreturn]] void refuse_depth(int line) const {
    throw Refusal{line, "nested deeper than " + std::to_string(limits_.max_depth) + " levels"};
  }

  static void deepen(Open& parent, size_t child_depth) {
    parent.depth = std::max(parent.depth, child_depth + 1);
  }

  void spend(int line, size_t cost) {
    cost_ += cost;
    if (cost_ > kMostCost)
      throw Refusal{line, "the values, with all aliases expanded, are too large"};
  }

  bool expects_key() const {
    return !open_.empty() && open_.back().node.value.is_object() && !open_.back().key;
  }

  void key(const YAML::Mark& mark, YAML::anchor_t anchor, const std::string& text) {
    const int line = line_number(mark);
    if (anchor != 0) throw Refusal{line, "a key cannot have an anchor"};
    if (text == "<<") throw Refusal{line, "merge keys (<<) are not supported"};
    Open& parent = open_.back();
    if (parent.node.value.get_object().contains(text)) {
      throw Refusal{line, path_of_open() + step_to_string(text, path_of_open()) + ": given twice"};
    }
    spend(line, kCostPerValue + text.size());
    parent.key = text;
    parent.key_line = line;
    parent.key_column = column_number(mark);
  }

  void scalar(const YAML::Mark& mark, YAML::anchor_t anchor, Value value) {
    const int line = line_number(mark);
    if (expects_key()) throw Refusal{line, "a key must be text"};
    const size_t cost = kCostPerValue + (value.is_string() ? value.get_string().size() : 0);
    spend(line, cost);
    Node node{std::move(value), {line, column_number(mark), {}}};
    if (anchor != 0) remember(line, anchor, node, cost, 0);
    place(std::move(node));
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Value empty) {
    const int line = line_number(mark);
    // yaml-cpp takes a bracket that is never closed for the beginning of a key.
    if (expects_key()) {
      throw Refusal{line, "a key must be text; is a { or [ opened and not closed?"};
    }
    if (!(tag.empty() || tag == "?" || tag == "!")) {
      throw Refusal{line, "the tag " + quote(tag) + " is not known"};
    }
    if (open_.size() >= limits_.max_depth) refuse_depth(line);
    open_.push_back({.node = {std::move(empty), {line, column_number(mark), {}}},
                     .anchor = anchor,
                     .cost_before = cost_});
    spend(line, kCostPerValue);
  }

  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    const int line = done.node.lines.number;
    if (done.anchor != 0) {
      remember(line, done.anchor, done.node, cost_ - done.cost_before, done.depth);
    }
    if (!open_.empty()) deepen(open_.back(), done.depth);
    place(std::move(done.node));
  }

  void remember(int line, YAML::anchor_t anchor, const Node& node, size_t cost, size_t depth) {
    spend(line, cost);
    anchors_.insert_or_assign(anchor, Anchored{node, cost, depth});
  }

  void place(Node node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.lines.children.size() >= kMostChildren) {
      throw Refusal{node.lines.number, "more than " + std::to_string(kMostChildren) + " entries"};
    }
    if (auto* array = parent.node.value.if_array()) {
      array->push_back(std::move(node.value));
    } else {
      node.lines.number = parent.key_line;
      node.lines.column = parent.key_column;
      parent.node.value.get_object().emplace(*parent.key, std::move(node.value));
      parent.key.reset();
    }
    parent.node.lines.children.push_back(std::move(node.lines));
  }

  std::string path_of_open() const {
    std::string path;
    for (size_t i = 0; i + 1 < open_.size(); ++i) {
      const Open& outer = open_[i];
      path += outer.key ? step_to_string(*outer.key, path)
                        : step_to_string(outer.node.value.get_array().size());
    }
    return path;
  }

  const Limits& limits_;
  Node root_{Object(), {}};
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  size_t cost_ = 0;
};

// The first control character that YAML forbids, or npos. yaml-cpp takes some of them (EOT) for its
// own marks.
size_t find_control(std::string_view text) {
  const auto at = std::ranges::find_if(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == 0x7F || (byte < 0x20 && c != '\t' && c != '\n' && c != '\r');
  });
  return at == text.end() ? std::string_view::npos : static_cast<size_t>(at - text.begin());
}

Error at_line(std::string_view file_name, int line, std::string_view problem) {
  return Error(Code::invalid_argument, std::string(problem))
      .with(std::string(file_name) + ":" + std::to_string(line));
}

}  // namespace

int Document::line_of(std::string_view path) const {
  const Value* value = &value_;
  const Line* line = &lines_;
  std::string before;
  // Descends by printing each child's step and comparing, so that this reads paths exactly as
  // to_string() writes them.
  for (bool moved = true; moved && before.size() < path.size();) {
    moved = false;
    for (size_t i = 0; i < line->children.size() && !moved; ++i) {
      const auto* object = value->if_object();
      const std::string step =
          object ? step_to_string(view((object->begin() + i)->key()), before) : step_to_string(i);
      const std::string_view rest = path.substr(before.size());
      const bool whole =
          rest.starts_with(step) &&
          (rest.size() == step.size() || rest[step.size()] == '.' || rest[step.size()] == '[');
      if (!whole) continue;
      value = object ? &(object->begin() + i)->value() : &value->get_array()[i];
      line = &line->children[i];
      before += step;
      moved = true;
    }
  }
  return line->number;
}

Error Document::locate(std::string_view path, Error error) const {
  return std::move(error).with(file_name_ + ":" + std::to_string(line_of(path)));
}

Result<Document> parse_yaml(std::string_view text, std::string_view file_name,
                            const Limits& limits) {
  if (text.size() > limits.max_bytes) {
    return Error(Code::too_large, std::string(file_name) + ": has " + std::to_string(text.size()) +
                                      " bytes, at most " + std::to_string(limits.max_bytes) +
                                      " are taken");
  }
  if (!is_utf8(text))
    return Error(Code::invalid_argument, std::string(file_name) + ": malformed UTF-8");
  if (const size_t at = find_control(text); at != std::string_view::npos) {
    const auto line = 1 + std::ranges::count(text.substr(0, at), '\n');
    return at_line(file_name, static_cast<int>(line), "a control character");
  }
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    TreeBuilder builder(limits);
    if (parser.HandleNextDocument(builder)) {
      TreeBuilder second(limits);
      if (parser.HandleNextDocument(second)) {
        return Error(Code::invalid_argument, std::string(file_name) + ": more than one document");
      }
    }
    Node root = std::move(builder).take();
    if (root.value.is_null()) root.value.emplace_object();
    return Document(std::string(file_name), std::move(root.value), std::move(root.lines));
  } catch (const Refusal& refusal) {
    return at_line(file_name, refusal.line, refusal.problem);
  } catch (const YAML::Exception& failure) {
    // Its messages quote single bytes, which need be no text.
    const bool is_open = failure.msg.find("flow not found") != std::string::npos;
    return at_line(file_name, line_number(failure.mark),
                   is_open ? "a { or [ is opened and not closed" : to_printable(failure.msg));
  } catch (const std::exception& failure) {
    return Error(Code::internal,
                 std::string("parsing ") + std::string(file_name) + ": " + failure.what());
  }
}

}  // namespace atl::json
