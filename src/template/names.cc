#include "template/names.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <boost/describe/class.hpp>

#include "base/text.h"
#include "json/json.h"
#include "os/file.h"

namespace atl {
namespace {

constexpr const char* kFile = "names.json";
constexpr const char* kNewFile = "names.json.new";
constexpr size_t kLargestFile = 16 << 20;
constexpr int64_t kFormat = 1;

struct StoredVersion {
  std::string id;
  int64_t added_at_ms = 0;
};
BOOST_DESCRIBE_STRUCT(StoredVersion, (), (id, added_at_ms))

struct StoredName {
  std::string name;
  std::string tag;
  std::vector<StoredVersion> versions;
};
BOOST_DESCRIBE_STRUCT(StoredName, (), (name, tag, versions))

struct StoredNames {
  int64_t format = kFormat;
  std::vector<StoredName> names;
};
BOOST_DESCRIBE_STRUCT(StoredNames, (), (format, names))

}  // namespace

Result<TemplateNames> TemplateNames::load(int directory) {
  TemplateNames names;
  const auto text = os::read_file(directory, kFile, kLargestFile);
  if (!text && text.error().os_errno() == ENOENT) return names;
  if (!text) return Error(text.error()).with("reading the names of templates");
  const auto stored = json::decode<StoredNames>(*text, {.max_bytes = kLargestFile});
  if (!stored || stored->format != kFormat) {
    return Error(Code::internal, "the file names.json of the templates makes no sense")
        .with_hint("move it away to begin without templates, or restore it");
  }
  for (const auto& name : stored->names) {
    auto& versions = names.table_[{name.name, name.tag}];
    for (const auto& version : name.versions)
      versions.push_back({version.id, WallTime(Millis(version.added_at_ms))});
    if (versions.empty()) names.table_.erase({name.name, name.tag});
  }
  return names;
}

Result<> TemplateNames::save(int directory) const {
  StoredNames stored;
  for (const auto& [reference, versions] : table_) {
    StoredName& name = stored.names.emplace_back();
    name.name = reference.name;
    name.tag = reference.tag;
    for (const auto& version : versions)
      name.versions.push_back({version.id, version.added_at.time_since_epoch().count()});
  }
  TRY(const auto file, os::open_at(directory, kNewFile,
                                   O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  TRY_OK(os::write_all(file.get(), json::encode(stored)));
  if (fsync(file.get()) != 0) return os_error("writing the names of templates");
  if (renameat(directory, kNewFile, directory, kFile) != 0 || fsync(directory) != 0)
    return os_error("replacing the names of templates");
  return {};
}

Error TemplateNames::unknown(const TemplateReference& reference) const {
  std::vector<std::string> known;
  for (const auto& [one, versions] : table_) known.push_back(one.text());
  const std::string near = did_you_mean(reference.text(), known);
  return Error(Code::not_found, "there is no template " + reference.text())
      .with_hint(near.empty() ? "atoll template ls lists them" : "did you mean " + near + "?");
}

Result<std::vector<TemplateVersion>> TemplateNames::get(const TemplateReference& reference) const {
  const auto found = table_.find(reference);
  if (found == table_.end()) return unknown(reference);
  return found->second;
}

Result<> TemplateNames::put(const TemplateReference& reference, const std::string& id,
                            WallTime now) {
  const auto found = table_.find(reference);
  if (found == table_.end() && table_.size() >= kMostTemplateNames) {
    return Error(Code::resource_exhausted,
                 "there are " + std::to_string(kMostTemplateNames) + " templates already")
        .with_hint("remove one: atoll template rm NAME[:TAG]");
  }
  auto& versions = table_[reference];
  if (!versions.empty() && versions.back().id == id) return {};
  versions.push_back({id, now});
  if (versions.size() > kMostTemplateVersions) versions.erase(versions.begin());
  return {};
}

Result<> TemplateNames::roll_back(const TemplateReference& reference) {
  const auto found = table_.find(reference);
  if (found == table_.end()) return unknown(reference);
  if (found->second.size() < 2) {
    return Error(Code::conflict, reference.text() + " has no earlier version")
        .with_hint("atoll template rm " + reference.text() + " removes it altogether");
  }
  found->second.pop_back();
  return {};
}

Result<> TemplateNames::remove(const TemplateReference& reference) {
  if (table_.erase(reference) == 0) return unknown(reference);
  return {};
}

std::set<std::string> TemplateNames::ids() const {
  std::set<std::string> ids;
  for (const auto& [reference, versions] : table_) {
    for (const auto& version : versions) ids.insert(version.id);
  }
  return ids;
}

}  // namespace atl
