// Grants: the extensions that the operator has added, one file each.
//
//   STATE/extensions/NAME.json   the manifest as it was read, whom the socket belongs to, how far
//                                it is believed, and its settings (0600)
//
// Whoever can write there decides which programs Atoll speaks to, so the files belong to whoever
// the state directory belongs to, and nobody else can read them.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "drivers/extension/manifest.h"

namespace atl::extension {

struct Grant {
  Manifest manifest;
  uint32_t uid = 0;                             // whose process listens on the socket
  Isolation trust_isolation = Isolation::none;  // the most that is believed
  json::Value settings;                         // complete, by the manifest's schema
  std::string added_at;
};
BOOST_DESCRIBE_STRUCT(Grant, (), (manifest, uid, trust_isolation, settings, added_at))

struct ReadGrants {
  std::vector<Grant> grants;      // by name
  std::vector<Error> unreadable;  // which file, and why
};

constexpr std::string_view kGrantsDirectory = "extensions";
constexpr size_t kMostExtensions = 64;

// None when there is no such state directory.
ReadGrants read_grants(const std::string& state, const std::vector<std::string>& taken);
// Code::not_found with the names that there are.
Result<Grant> read_grant(const std::string& state, const std::string& name,
                         const std::vector<std::string>& taken);

// Makes what directories are missing; files belong to whom the state directory belongs to.
Result<> write_grant(const std::string& state, const Grant& grant);
Result<> remove_grant(const std::string& state, const std::string& name);

// What a socket must be before anything is said on it: a socket of `uid`, which not everybody on
// this host can write to. Gives whose it is; with nullopt, anybody's.
Result<uid_t> check_socket(const std::string& path, std::optional<uid_t> uid);

}  // namespace atl::extension
