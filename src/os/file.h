// Files by descriptor: what the launcher and the agent need, never following a link that they did
// not choose to follow.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace atl::os {

// openat2 with RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS: neither "..", nor a link, nor an absolute
// path leads out of `directory` (kernel 5.6). Retries the EAGAIN that a concurrent rename causes, a
// bounded number of times.
Result<Fd> open_beneath(int directory, const std::string& path, int flags, mode_t mode = 0);

// The same for a directory that is somebody's whole world: links are followed as if it were the
// root, absolute ones too (RESOLVE_IN_ROOT).
Result<Fd> open_in_root(int directory, const std::string& path, int flags, mode_t mode = 0);

// The same as open_beneath without following any link at all: one in the way is ELOOP.
Result<Fd> open_without_links(int directory, const std::string& path, int flags, mode_t mode = 0);

Result<Fd> open_at(int directory, const std::string& path, int flags, mode_t mode = 0);

// Up to `limit` bytes; more is Code::too_large.
Result<std::string> read_file(int directory, const std::string& path, size_t limit);
Result<std::string> read_open_file(int fd, size_t limit);

// Writes a temporary file beside it and renames: readers see the old or the new content, never a
// part.
Result<> replace_file(int directory, const std::string& name, std::string_view bytes, mode_t mode);

// In one piece, as files of the kernel's want it.
Result<> write_value(int directory, const std::string& path, std::string_view value);
Result<> write_all(int fd, std::string_view bytes);

// Removes `name` and all below it without following links or leaving its file system. Missing is
// fine.
Result<> remove_tree(int directory, const std::string& name);

// What is in a directory, without "." and ".."; nothing if it cannot be read.
std::vector<std::string> names_in(int directory, const std::string& path = ".");

Result<> make_directory(int directory, const std::string& name, mode_t mode);

// The path behind a descriptor, as the kernel knows it now.
Result<std::string> path_of(int fd);

}  // namespace atl::os
