// TemplateNames: which template each name stands for, and which it stood for before.
//
// A value that is changed as a whole: whoever changes it makes a copy, writes that to the disk, and
// only then believes it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "template/reference.h"

namespace atl {

struct TemplateVersion {
  std::string id;
  WallTime added_at{};
};

// Beyond these the oldest version is forgotten, and another name refused.
inline constexpr size_t kMostTemplateVersions = 10;
inline constexpr size_t kMostTemplateNames = 1'000;

class TemplateNames final {
 public:
  using Table = std::map<TemplateReference, std::vector<TemplateVersion>>;  // the newest is last

  // From the directory; empty if there is nothing yet. A file that makes no sense is
  // Code::internal.
  static Result<TemplateNames> load(int directory);
  // Whole or not at all, and on the disk when it returns.
  Result<> save(int directory) const;

  // The id that it has already makes no new version.
  Result<> put(const TemplateReference& reference, const std::string& id, WallTime now);
  // The version before becomes the newest. Code::conflict when there is none.
  Result<> roll_back(const TemplateReference& reference);
  Result<> remove(const TemplateReference& reference);

  // Never empty. Code::not_found tells a name that is near.
  Result<std::vector<TemplateVersion>> get(const TemplateReference& reference) const;
  const Table& all() const { return table_; }
  // Those that a version of any name has.
  std::set<std::string> ids() const;

 private:
  Error unknown(const TemplateReference& reference) const;

  Table table_;
};

}  // namespace atl
