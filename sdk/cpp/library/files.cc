// The calls about a sandbox's files.
#include <cstring>

#include "client/remote_files.h"
#include "library/plan.h"

namespace atoll_client::calls {
namespace {

using atl::Result;
using atl::Task;
using atl::client::RemoteEntry;
using atl::client::RemoteFiles;

FileKind to_kind(atl::client::EntryKind kind) {
  switch (kind) {
    case atl::client::EntryKind::file:
      return FileKind::file;
    case atl::client::EntryKind::directory:
      return FileKind::directory;
    case atl::client::EntryKind::symlink:
      return FileKind::symlink;
    case atl::client::EntryKind::other:
      return FileKind::other;
  }
  return FileKind::other;
}

FileInfo to_file(RemoteEntry entry) {
  return {.name = std::move(entry.name),
          .path = std::move(entry.path),
          .kind = to_kind(entry.kind),
          .size = entry.size,
          .mode = entry.mode,
          .modified_at = std::move(entry.modified_at),
          .link_target = std::move(entry.link_target),
          .etag = std::move(entry.etag)};
}

atl::client::Sink to_sink(Caller& caller, OnBytes on_bytes) {
  return [&caller, on_bytes = std::move(on_bytes)](std::string_view bytes) {
    return call_user(caller, [&] { on_bytes(bytes); });
  };
}

atl::client::Source to_source(Caller& caller, GiveBytes give) {
  return [&caller, give = std::move(give)](char* into, size_t most) -> Result<size_t> {
    size_t got = 0;
    TRY_OK(call_user(caller, [&] { got = give(into, most); }));
    if (got > most)
      return atl::Error(atl::Code::invalid_argument, "more bytes than fit were given");
    return got;
  };
}

Task<std::string> read_whole(Caller& caller, std::string id, std::string path, size_t most) {
  RemoteFiles files(caller.connection, std::move(id));
  std::string all;
  const auto sink = [&](std::string_view bytes) -> Result<> {
    if (bytes.size() > most - all.size()) {
      return atl::Error(atl::Code::too_large,
                        path + " is longer than " + std::to_string(most) + " bytes");
    }
    all += bytes;
    return {};
  };
  CO_TRY_OK(co_await files.download(path, sink));
  co_return all;
}

Task<> read_pieces(Caller& caller, std::string id, std::string path, OnBytes on_bytes) {
  RemoteFiles files(caller.connection, std::move(id));
  co_return co_await files.download(std::move(path), to_sink(caller, std::move(on_bytes)));
}

Task<> write_whole(Caller& caller, std::string id, std::string path, std::string bytes,
                   unsigned mode) {
  RemoteFiles files(caller.connection, std::move(id));
  std::string_view left = bytes;
  const auto source = [&](char* into, size_t most) -> Result<size_t> {
    const size_t count = left.copy(into, most);
    left.remove_prefix(count);
    return count;
  };
  co_return co_await files.upload(source, bytes.size(), std::move(path), mode);
}

Task<> write_pieces(Caller& caller, std::string id, std::string path, GiveBytes give,
                    unsigned mode) {
  RemoteFiles files(caller.connection, std::move(id));
  co_return co_await files.upload(to_source(caller, std::move(give)), std::nullopt, std::move(path),
                                  mode);
}

Task<FileInfo> stat_it(Caller& caller, std::string id, std::string path) {
  RemoteFiles files(caller.connection, std::move(id));
  CO_TRY(auto entry, co_await files.stat(std::move(path)));
  co_return to_file(std::move(entry));
}

Task<std::vector<FileInfo>> list_it(Caller& caller, std::string id, std::string path) {
  RemoteFiles files(caller.connection, std::move(id));
  CO_TRY(auto entries, co_await files.list(std::move(path)));
  std::vector<FileInfo> all;
  all.reserve(entries.size());
  for (auto& entry : entries) all.push_back(to_file(std::move(entry)));
  co_return all;
}

Task<> remove_it(Caller& caller, std::string id, std::string path, Depth depth) {
  RemoteFiles files(caller.connection, std::move(id));
  co_return co_await files.remove(std::move(path), depth == Depth::tree
                                                       ? atl::client::Depth::tree
                                                       : atl::client::Depth::itself);
}

Task<> make_it(Caller& caller, std::string id, std::string path) {
  RemoteFiles files(caller.connection, std::move(id));
  co_return co_await files.make_directory(std::move(path));
}

Task<> move_it(Caller& caller, std::string id, std::string from, std::string to) {
  RemoteFiles files(caller.connection, std::move(id));
  co_return co_await files.move(std::move(from), std::move(to));
}

Task<> pack(Caller& caller, std::string id, std::string path, OnBytes on_bytes) {
  RemoteFiles files(caller.connection, std::move(id));
  co_return co_await files.download_archive(std::move(path), atl::client::Links::inside,
                                            to_sink(caller, std::move(on_bytes)));
}

Task<> unpack(Caller& caller, std::string id, std::string path, GiveBytes give) {
  RemoteFiles files(caller.connection, std::move(id));
  co_return co_await files.upload_archive(to_source(caller, std::move(give)), std::move(path));
}

}  // namespace

Call<std::string> read(std::string id, std::string path, std::size_t most) {
  return make_call<std::string>([=](Caller& caller) { return read_whole(caller, id, path, most); });
}

Call<void> read_to(std::string id, std::string path, OnBytes on_bytes) {
  return make_call<void>([=](Caller& caller) { return read_pieces(caller, id, path, on_bytes); });
}

Call<void> write(std::string id, std::string path, std::string bytes, unsigned mode) {
  return make_call<void>(
      [=](Caller& caller) { return write_whole(caller, id, path, bytes, mode); });
}

Call<void> write_from(std::string id, std::string path, GiveBytes give, unsigned mode) {
  return make_call<void>(
      [=](Caller& caller) { return write_pieces(caller, id, path, give, mode); });
}

Call<FileInfo> stat(std::string id, std::string path) {
  return make_call<FileInfo>([=](Caller& caller) { return stat_it(caller, id, path); });
}

Call<std::vector<FileInfo>> list_directory(std::string id, std::string path) {
  return make_call<std::vector<FileInfo>>(
      [=](Caller& caller) { return list_it(caller, id, path); });
}

Call<void> remove(std::string id, std::string path, Depth depth) {
  return make_call<void>([=](Caller& caller) { return remove_it(caller, id, path, depth); });
}

Call<void> make_directory(std::string id, std::string path) {
  return make_call<void>([=](Caller& caller) { return make_it(caller, id, path); });
}

Call<void> move(std::string id, std::string from, std::string to) {
  return make_call<void>([=](Caller& caller) { return move_it(caller, id, from, to); });
}

Call<void> read_archive(std::string id, std::string path, OnBytes on_bytes) {
  return make_call<void>([=](Caller& caller) { return pack(caller, id, path, on_bytes); });
}

Call<void> write_archive(std::string id, std::string path, GiveBytes give) {
  return make_call<void>([=](Caller& caller) { return unpack(caller, id, path, give); });
}

}  // namespace atoll_client::calls
