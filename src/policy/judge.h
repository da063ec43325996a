// Judge: somebody outside who is asked before something is made.
#pragma once

#include <string>

#include "base/task.h"

namespace atl::policy {

class Judge {
 public:
  virtual ~Judge() = default;

  // `input` is a JSON object: who asks, and for what (core/question.h). Success is a yes.
  // Code::permission_denied is a no, with its reason; Code::unavailable that no answer could be
  // had, which is not a yes.
  virtual Task<> decide(std::string input) = 0;
};

}  // namespace atl::policy
