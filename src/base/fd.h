// Fd: the one owner of a file descriptor.
#pragma once

#include <utility>

#include "base/result.h"

namespace atl {

class Fd final {
 public:
  Fd() = default;
  explicit Fd(int number) : number_(number) {}
  Fd(Fd&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      close();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }
  ~Fd() { close(); }

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  [[nodiscard]] int release() { return std::exchange(number_, -1); }
  void close();
  // A second descriptor for the same open file, close-on-exec.
  Result<Fd> duplicate() const;
  // Takes a number from `lowest` on, if this process may have one.
  void move_up(int lowest);

 private:
  int number_ = -1;
};

}  // namespace atl
