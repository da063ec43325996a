#include "guest/plain_call.h"

#include <algorithm>

namespace atl::guest {
namespace {

// A plain exec would refuse a longer one.
constexpr size_t kLongestWord = 131'071;

// What an interpreter, its loader or its C library looks at before the program begins.
constexpr std::string_view kBeginnings[] = {"PYTHON", "NODE",    "LD_",  "LC_", "MALLOC",
                                            "GLIBC_", "OPENSSL", "SSL_", "UV_", "ICU_"};
constexpr std::string_view kNames[] = {"LANG",   "LANGUAGE",   "PATH",   "HOME",
                                       "TMPDIR", "GCONV_PATH", "LOCPATH"};

bool matters(std::string_view name) {
  return std::ranges::find(kNames, name) != std::end(kNames) ||
         std::ranges::any_of(kBeginnings, [&](auto begin) { return name.starts_with(begin); });
}

bool is_word(std::string_view text) { return !text.empty() && text[0] != '-'; }

bool is_plain_python(const std::vector<std::string>& argv) {
  if (argv[0] != "python3" && argv[0] != "/usr/bin/python3") return false;
  if (argv.size() >= 3 && argv[1] == "-c") return true;
  if (argv.size() >= 3 && argv[1] == "-m") return !argv[2].empty();
  return is_word(argv[1]);
}

bool is_plain_node(const std::vector<std::string>& argv) {
  if (argv[0] != "node") return false;  // by any other name it is shown as such
  if (argv[1] != "-e") return is_word(argv[1]) && argv[1] != "inspect" && argv[1] != "debug";
  if (argv.size() < 3 || !is_word(argv[2])) return false;
  // Such code may be a module, which it is only tried to be when it turns out to be no script.
  for (const char* word : {"import", "export", "await"}) {
    if (argv[2].find(word) != std::string::npos) return false;
  }
  return argv.size() == 3 || is_word(argv[3]);  // what looks like an option would be node's own
}

}  // namespace

std::string_view plain_interpreter(const std::vector<std::string>& argv, const Variables& sandbox,
                                   const Variables& command) {
  if (argv.size() < 2) return "";
  const std::string_view found = is_plain_python(argv) ? "python3"
                                 : is_plain_node(argv) ? "node"
                                                       : "";
  if (found.empty()) return "";
  if (std::ranges::any_of(argv, [](const auto& word) { return word.size() > kLongestWord; }))
    return "";
  for (const auto* variables : {&sandbox, &command}) {
    for (const auto& [name, value] : *variables) {
      if (matters(name) || name.size() + value.size() >= kLongestWord) return "";
    }
  }
  return found;
}

}  // namespace atl::guest
