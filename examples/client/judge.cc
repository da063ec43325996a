// Judges programs that somebody has handed in: each reads a number and is to print its square.
//
//   judge FILE.py…
//
// One sandbox for all of them; the input of every try is fed through stdin, and a program that
// takes too long or too much is ended by its limits. The exit code says whether all passed.
#include <atoll/client.h>

#include <fstream>
#include <iostream>
#include <iterator>

namespace {

using atoll_client::Command;
using atoll_client::Sandbox;

bool passes(const Sandbox& box, const std::string& program) {
  for (const int number : {0, 7, 1000}) {
    const auto done = box.run(Command{.argv = {"python3", program},
                                      .input = std::to_string(number),
                                      .timeout = std::chrono::seconds(2),
                                      .keep = 1000});
    if (!done.ok() || done.out != std::to_string(number * number) + "\n") {
      std::cout << "fail " << program << ": for " << number << " it " << done.reason
                << " and said '" << done.out << "'\n";
      return false;
    }
  }
  std::cout << "ok   " << program << "\n";
  return true;
}

}  // namespace

int main(int count, char** words) {
  try {
    atoll_client::Client client;
    Sandbox box(client, {.memory_mb = 256, .pids = 32});
    bool all = true;
    for (int i = 1; i < count; ++i) {
      std::ifstream file(words[i]);
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      const std::string name = "program" + std::to_string(i) + ".py";
      box.write(name, text);
      all = passes(box, name) && all;
    }
    return all ? 0 : 1;
  } catch (const atoll_client::Error& error) {
    std::cerr << "judge: " << error.what() << "\n";
    if (!error.hint().empty()) std::cerr << "  hint: " << error.hint() << "\n";
    return 2;
  }
}
