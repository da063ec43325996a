// Lines that match a pattern, in all files below a directory.
//
// A pattern is a POSIX extended regular expression, by bytes. Back-references are refused: without
// them the library walks a state machine and never tries the same way twice.
#include <fcntl.h>
#include <fnmatch.h>
#include <regex.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "agent/tools/tool.h"
#include "os/tree_walk.h"

namespace atl::agent {
namespace {

constexpr size_t kPiece = 256 * 1024;
constexpr size_t kLongestLine = 1 << 20;  // a longer one is looked at in pieces
constexpr size_t kLongestTold = 2000;
constexpr size_t kBinaryProbe = 8192;

class Pattern final {
 public:
  Pattern() = default;
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  ~Pattern() {
    if (is_compiled_) regfree(&expression_);
  }

  Result<> compile(const ToolOptions& options) {
    text_ = options.text("pattern");
    const bool ignores_case = options.has("ignore_case");
    if (options.has("fixed") && !ignores_case) return {};
    std::string source;
    for (size_t i = 0; i < text_.size(); ++i) {
      const char c = text_[i];
      if (options.has("fixed")) {
        if (std::strchr("\\.[]{}()*+?^$|", c) != nullptr) source += '\\';
        source += c;
        continue;
      }
      source += c;
      if (c != '\\' || i + 1 == text_.size()) continue;
      const char next = text_[++i];
      if (next >= '1' && next <= '9')
        return Error(Code::invalid_argument, "pattern: back-references are not taken");
      // What most other dialects call a digit.
      if (next == 'd' || next == 'D') {
        source.pop_back();
        source += next == 'd' ? "[0-9]" : "[^0-9]";
      } else {
        source += next;
      }
    }
    const int flags = REG_EXTENDED | REG_NOSUB | (ignores_case ? REG_ICASE : 0);
    const int failure = regcomp(&expression_, source.c_str(), flags);
    if (failure != 0) {
      char why[200];
      regerror(failure, &expression_, why, sizeof why);
      return Error(Code::invalid_argument, std::string("pattern: ") + why)
          .with_hint(
              "patterns are POSIX extended regular expressions; fixed=true takes plain text");
    }
    is_compiled_ = true;
    return {};
  }

  bool matches(std::string_view line) const {
    if (!is_compiled_) return line.find(text_) != std::string_view::npos;
    regmatch_t range{0, static_cast<regoff_t>(line.size())};
    return regexec(&expression_, line.data(), 1, &range, REG_STARTEND) == 0;
  }

 private:
  std::string text_;
  regex_t expression_{};
  bool is_compiled_ = false;
};

class Search final {
 public:
  Search(const ToolOptions& options, ToolOutput& output)
      : output_(output), include_(options.text("include")), limit_(options.number("limit", 1000)) {}

  Result<> prepare(const ToolOptions& options) { return pattern_.compile(options); }

  Result<os::WalkStep> visit(const os::WalkedFile& file) {
    if (!S_ISREG(file.info.st_mode)) return os::WalkStep::go_on;
    if (!include_.empty() && !file.name.empty() &&
        fnmatch(include_.c_str(), file.name.c_str(), 0) != 0)
      return os::WalkStep::go_on;
    // Non-blocking: a pipe may have taken its place.
    const auto fd = file.open(O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (!fd) {
      ++end_.skipped;
      return os::WalkStep::go_on;
    }
    TRY_OK(search(fd->get(), file.path));
    return end_.more ? os::WalkStep::stop : os::WalkStep::go_on;
  }

  guest::End& end() { return end_; }

 private:
  Result<> search(int fd, const std::string& path) {
    line_ = 1;
    std::string text;
    bool is_first = true;
    bool goes_on = false;  // what comes is the rest of a line that was too long
    for (;;) {
      const size_t before = text.size();
      text.resize(before + kPiece);
      const ssize_t got = read(fd, text.data() + before, kPiece);
      text.resize(before + static_cast<size_t>(std::max<ssize_t>(got, 0)));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) {
        ++end_.skipped;
        return {};
      }
      if (is_first && std::string_view(text).substr(0, kBinaryProbe).find('\0') != text.npos) {
        ++end_.skipped;
        return {};
      }
      is_first = false;
      end_.bytes += static_cast<uint64_t>(got);
      size_t at = 0;
      for (;;) {
        size_t newline = text.find('\n', at);
        const bool is_piece = newline == std::string::npos;
        if (is_piece && got > 0 && text.size() - at < kLongestLine) break;
        if (is_piece) newline = text.size();
        const bool is_last_piece = is_piece && got == 0;
        if (!is_last_piece || newline > at)
          TRY_OK(look(path, std::string_view(text).substr(at, newline - at)));
        if (end_.more) return {};
        goes_on = is_piece;
        if (!goes_on) ++line_;
        at = is_piece ? newline : newline + 1;
        if (is_piece) break;
      }
      text.erase(0, at);
      if (got == 0) return {};
    }
  }

  Result<> look(const std::string& path, std::string_view line) {
    if (!pattern_.matches(line)) return {};
    if (end_.told == limit_) {
      end_.more = true;
      return {};
    }
    ++end_.told;
    const bool cut = line.size() > kLongestTold;
    return output_.tell(guest::Match{path, line_, std::string(line.substr(0, kLongestTold)), cut});
  }

  ToolOutput& output_;
  std::string include_;
  uint64_t limit_;
  Pattern pattern_;
  uint64_t line_ = 0;
  guest::End end_;
};

}  // namespace

Result<guest::End> grep_files(const ToolOptions& options, ToolOutput& output) {
  Search search(options, output);
  TRY_OK(search.prepare(options));
  TRY(const auto walked, os::walk_tree(kToolStart, {}, [&](const os::WalkedFile& file) {
        return search.visit(file);
      }));
  guest::End& end = search.end();
  end.seen = walked.seen;
  end.skipped += walked.skipped;
  end.more |= walked.is_cut;
  return end;
}

}  // namespace atl::agent
