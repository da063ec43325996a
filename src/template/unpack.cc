#include "template/unpack.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "crypto/hash.h"
#include "os/file.h"
#include "template/gunzip.h"

namespace atl {
namespace {

using GoOn = std::function<Result<>()>;

constexpr size_t kLongestMagic = 6;

struct Format {
  std::string_view magic;
  std::string_view name;
};
// Those that people have, and we cannot read.
constexpr Format kOthers[] = {{"\x28\xb5\x2f\xfd", "zstd"},
                              {"\xfd"
                               "7zXZ",
                               "xz"},
                              {"BZh", "bzip2"}};

Result<std::string> magic_at(int fd, ArchivePart part) {
  part.size = std::min<uint64_t>(part.size, kLongestMagic);
  std::string magic;
  TRY_OK(read_part(fd, part, [&](std::string_view piece) -> Result<> {
    magic += piece;
    return {};
  }));
  for (const auto& other : kOthers) {
    if (!magic.starts_with(other.magic)) continue;
    return Error(Code::unsupported, "the data is compressed with " + std::string(other.name) +
                                        "; gzip and no compression are known")
        .with_hint("unpack it first, or make the archive with `docker save`");
  }
  return magic;
}

Error too_large(uint64_t limit) {
  return Error(Code::too_large, "the archive has more than " + std::to_string(limit) + " bytes");
}

// A compressed archive as a file that can be read anywhere.
Result<Fd> decompress(int archive, uint64_t size, int scratch, uint64_t limit, const GoOn& go_on) {
  TRY(Fd plain, os::open_at(scratch, "archive.tar", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  uint64_t written = 0;
  Gunzip gunzip([&](std::string_view bytes) -> Result<> {
    TRY_OK(go_on());
    written += bytes.size();
    if (written > limit) return too_large(limit);
    return os::write_all(plain.get(), bytes);
  });
  TRY_OK(read_part(archive, {0, size}, [&](std::string_view piece) { return gunzip.put(piece); }));
  TRY_OK(gunzip.finish());
  return plain;
}

Result<> check_digest(const std::string& expected, const std::string& found,
                      std::string_view what) {
  if (expected.empty() || expected == found) return {};
  return Error(Code::invalid_argument, "the image is damaged: " + std::string(what) +
                                           " is sha256:" + found +
                                           ", and should be sha256:" + expected)
      .with_hint("make or fetch the archive again");
}

struct Applying {
  int archive;
  int tree;
  UnpackLimits limits;
  const GoOn& go_on;
  TreeCounts counts = {};
  uint64_t left_out = 0;
};

// The digests are known at its end; whoever asked gets no tree that has failed them.
Result<> apply(const ImageLayer& layer, size_t number, Whiteouts whiteouts, Applying& all) {
  TRY(const auto magic, magic_at(all.archive, layer.part));
  LayerApplier applier(all.tree, whiteouts, all.limits.tree, all.counts);
  TarReader reader(applier, TarLinks::any, TarSpecials::left_out);
  crypto::Sha256 as_is, plain;
  uint64_t plain_bytes = 0;
  const auto take = [&](std::string_view bytes) -> Result<> {
    TRY_OK(all.go_on());
    plain_bytes += bytes.size();
    if (plain_bytes > all.limits.archive_bytes) return too_large(all.limits.archive_bytes);
    if (!layer.diff_id.empty()) plain.put(bytes);
    return reader.put(bytes);
  };
  Gunzip gunzip(take);
  const bool is_compressed = magic.starts_with(kGzipMagic);
  TRY_OK(read_part(all.archive, layer.part, [&](std::string_view piece) -> Result<> {
    if (!layer.digest.empty()) as_is.put(piece);
    return is_compressed ? gunzip.put(piece) : take(piece);
  }));
  if (is_compressed) TRY_OK(gunzip.finish());
  const std::string what = "layer " + std::to_string(number + 1);
  TRY_OK(check_digest(layer.digest, as_is.finish(), what));
  TRY_OK(check_digest(layer.diff_id, plain.finish(), what + " uncompressed"));
  TRY_OK(reader.finish());
  all.left_out += reader.left_out();
  return {};
}

}  // namespace

Result<UnpackedTemplate> unpack_template(int archive, int tree, int scratch, UnpackLimits limits,
                                         const GoOn& go_on) {
  struct stat info{};
  if (fstat(archive, &info) != 0) return os_error("looking at the archive");
  const auto size = static_cast<uint64_t>(info.st_size);
  TRY(const auto magic, magic_at(archive, {0, size}));
  Fd plain;
  if (magic.starts_with(kGzipMagic)) {
    TRY(plain, decompress(archive, size, scratch, limits.archive_bytes, go_on));
  }
  const int source = plain ? plain.get() : archive;
  TRY(const auto index, ArchiveIndex::read(source, go_on));
  TRY(auto layout, find_image_layout(index));
  Applying all{.archive = source, .tree = tree, .limits = limits, .go_on = go_on};
  for (size_t i = 0; i < layout.layers.size(); ++i) {
    const bool is_image = layout.kind != TemplateKind::rootfs;
    auto applied =
        apply(layout.layers[i], i, is_image ? Whiteouts::hide : Whiteouts::plain_files, all);
    if (!applied) {
      if (!is_image) return std::move(applied).error();
      return std::move(applied).error().with("layer " + std::to_string(i + 1));
    }
  }
  if (all.counts.entries == 0) {
    return Error(Code::invalid_argument, "the archive holds no files")
        .with_hint(
            "a root file system as tar, an image as `docker save` writes it, or a directory");
  }
  return UnpackedTemplate{layout.kind, std::move(layout.config), layout.layers.size(),
                          all.left_out};
}

}  // namespace atl
