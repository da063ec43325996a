#include "cli/trace_tree.h"

#include <map>
#include <set>
#include <vector>

#include "cli/format.h"
#include "cli/json_view.h"
#include "cli/table.h"

namespace atl::cli {
namespace {

// An answer may come from anybody, so nothing about its shape is sure.
constexpr size_t kDeepest = 32;

class Tree final {
 public:
  explicit Tree(const json::Array& spans) {
    std::set<std::string> known;
    for (const json::Value& span : spans) known.insert(text_at(span, "span_id"));
    known.erase("");
    for (const json::Value& span : spans) {
      if (!known.contains(text_at(span, "span_id"))) continue;
      const std::string parent = text_at(span, "parent_span_id");
      // One that somebody else made is not here.
      children_[known.contains(parent) ? parent : ""].push_back(&span);
    }
  }

  Table rows() {
    Table rows{{"SPAN", "AT", "TOOK", ""}};
    for (const json::Value* root : children_[""]) add(rows, *root, "", "", 0);
    return rows;
  }

 private:
  void add(Table& rows, const json::Value& span, const std::string& branch,
           const std::string& below, size_t depth) {
    if (!shown_.insert(&span).second) return;
    rows.push_back({branch + single_line(text_at(span, "name")),
                    "+" + format_ms(number_at(span, "offset_ms")),
                    format_ms(number_at(span, "duration_ms")), note_on(span)});
    const auto found = children_.find(text_at(span, "span_id"));
    if (found == children_.end() || depth >= kDeepest) return;
    for (size_t i = 0; i < found->second.size(); ++i) {
      const bool is_last = i + 1 == found->second.size();
      add(rows, *found->second[i], below + (is_last ? "└─ " : "├─ "),
          below + (is_last ? "   " : "│  "), depth + 1);
    }
  }

  static std::string note_on(const json::Value& span) {
    std::string note;
    const auto append = [&note](const std::string& text) {
      if (!note.empty()) note += "  ";
      note += single_line(text);
    };
    // Keys with dots in them are members, not paths.
    const auto* attributes = at(span, "attributes").if_object();
    const auto text_of = [&](std::string_view key) -> std::string {
      const auto* value = attributes != nullptr ? attributes->if_contains(key) : nullptr;
      if (value == nullptr) return "";
      if (const auto* text = value->if_string()) return {text->data(), text->size()};
      if (const auto* number = value->if_int64()) return std::to_string(*number);
      return "";
    };
    if (const auto status = text_of("http.response.status_code"); !status.empty()) append(status);
    if (const auto program = text_of("process.executable.name"); !program.empty()) append(program);
    if (const auto code = text_of("process.exit.code"); !code.empty()) append("exit " + code);
    if (const auto reason = text_of("atoll.exec.reason"); !reason.empty() && reason != "exited")
      append(reason);
    if (const auto error = text_at(span, "error"); !error.empty()) append("failed: " + error);
    return note;
  }

  std::map<std::string, std::vector<const json::Value*>> children_;
  std::set<const json::Value*> shown_;
};

std::string words_of(const json::Array& list) {
  std::string words;
  for (const json::Value& word : list) {
    if (const auto* text = word.if_string())
      words += " " + single_line(std::string_view(text->data(), text->size()));
  }
  return words;
}

}  // namespace

std::string draw_trace(const json::Value& trace) {
  std::string out = "trace " + single_line(text_at(trace, "trace_id")) + "  " +
                    single_line(text_at(trace, "started_at"));
  if (const auto boxes = words_of(list_at(trace, "sandboxes")); !boxes.empty())
    out += "  sandbox" + boxes;
  out += "\n" + format_table(Tree(list_at(trace, "spans")).rows());
  const double dropped = number_at(trace, "dropped_spans");
  if (dropped > 0) out += std::to_string(static_cast<uint64_t>(dropped)) + " more were not kept\n";
  return out;
}

}  // namespace atl::cli
