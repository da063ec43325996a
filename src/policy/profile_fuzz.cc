// Arbitrary bytes as a file of profiles: never a crash, problems that are text, and what is read
// and resolved keeps the bounds of what it inherits.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "policy/profiles.h"

namespace {

using namespace atl;

void check_all(const policy::ProfileText& text) {
  const std::vector<policy::ProfileText> texts{text};
  for (const Error& problem : policy::Profiles::check(texts)) {
    ATOLL_CHECK(is_utf8(problem.message()));
  }
  const auto loaded = policy::Profiles::load(texts);
  if (!loaded) return;
  for (const policy::KnownProfile* known : (*loaded)->all()) {
    ATOLL_CHECK(known->chain.size() <= policy::kDeepestInheritance);
    ATOLL_CHECK((*loaded)->get(known->profile.reference()).value() == known);
    for (const std::string& step : known->chain) {
      const auto& bound = (*loaded)->get(step).value()->profile;
      ATOLL_CHECK(!bound.min_isolation || known->profile.min_isolation >= bound.min_isolation);
    }
    // The first of these trusts least.
    ATOLL_CHECK(known->origin != policy::Origin::project ||
                known->profile.min_isolation.value_or(Isolation::container) >=
                    Isolation::container);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check_all({"f.yaml", text, policy::Origin::project, policy::Form::profile_file});
  check_all({"f.yaml", text, policy::Origin::operators, policy::Form::configuration});
  return 0;
}
