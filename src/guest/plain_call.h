// Which commands an interpreter that is running already can serve as if it had been started for
// them.
//
// Only calls whose meaning does not depend on how the interpreter starts: no option of its own, no
// variable that it reads before the program begins. Everybody else gets one of their own.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace atl::guest {

using Variables = std::map<std::string, std::string>;

// "python3" for `python3 -c CODE …`, `python3 -m MODULE …` and `python3 FILE …`, "node" for
// `node FILE …` and `node -e CODE …`; "" for everything else.
std::string_view plain_interpreter(const std::vector<std::string>& argv, const Variables& sandbox,
                                   const Variables& command);

}  // namespace atl::guest
