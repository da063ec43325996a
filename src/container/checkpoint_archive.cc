#include "container/checkpoint_archive.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <utility>

#include "base/tar.h"
#include "container/json_at_internal.h"
#include "json/value.h"
#include "json/write.h"

namespace atl::container {
namespace {

constexpr size_t kBlock = 512;
constexpr size_t kLargestDescription = 8 << 20;
constexpr size_t kLargestExtended = 1 << 20;
// Larger than any memory, and so small that sums do not overflow.
constexpr uint64_t kLargestMember = uint64_t{1} << 50;
constexpr size_t kSizeAt = 124, kSumAt = 148, kPathBytes = 100, kNumberBytes = 12, kSumBytes = 8;
constexpr size_t kTypeAt = 156;
constexpr char kExtended = 'x';
constexpr std::string_view kSizeRecord = "size=";
constexpr std::string_view kConfig = "config.dump";
constexpr std::string_view kSpec = "spec.dump";
constexpr std::string_view kOfTheEngine[] = {"/dev/shm",          "/etc/group",  "/etc/hostname",
                                             "/etc/hosts",        "/etc/passwd", "/etc/resolv.conf",
                                             "/run/.containerenv"};
constexpr uint64_t kPeriod = 100'000;

uint64_t padded(uint64_t size) { return (size + kBlock - 1) / kBlock * kBlock; }

Error broken() {
  return Error(Code::internal, "the memory that was kept is not what podman exports");
}

// From 8 GiB on a size does not fit its field as octal text: it is there in base 256, or an
// extended header says it ahead.
Result<uint64_t> size_in(std::string_view header) {
  const auto size = tar_number(header.substr(kSizeAt, kNumberBytes));
  if (!size || *size > kLargestMember) return broken();
  return *size;
}

// The size that the records of an extended header tell, "14 size=12345\n" each; none = they do not.
Result<std::optional<uint64_t>> size_told(std::string_view records) {
  std::optional<uint64_t> told;
  while (!records.empty()) {
    size_t length = 0;
    const auto [end, problem] =
        std::from_chars(records.data(), records.data() + records.size(), length);
    const auto digits = static_cast<size_t>(end - records.data());
    if (problem != std::errc() || length > records.size() || length < digits + 2 ||
        records[digits] != ' ' || records[length - 1] != '\n')
      return broken();
    const auto record = records.substr(digits + 1, length - digits - 2);
    records.remove_prefix(length);
    if (!record.starts_with(kSizeRecord)) continue;
    const auto value = record.substr(kSizeRecord.size());
    uint64_t size = 0;
    const auto [at, failed] = std::from_chars(value.data(), value.data() + value.size(), size);
    if (failed != std::errc() || at != value.data() + value.size() || size > kLargestMember)
      return broken();
    told = size;
  }
  return told;
}

std::string with_size(std::string header, uint64_t size) {
  char text[kNumberBytes + 1];
  std::snprintf(text, sizeof text, "%011llo", static_cast<unsigned long long>(size));
  header.replace(kSizeAt, kNumberBytes, text, kNumberBytes);
  header.replace(kSumAt, kSumBytes, kSumBytes, ' ');
  unsigned sum = 0;
  for (const char byte : header) sum += static_cast<unsigned char>(byte);
  std::snprintf(text, sizeof text, "%06o", sum);
  header.replace(kSumAt, 7, text, 7);
  return header;
}

void give_labels(json::Object& config, const ContainerSpec& made) {
  json::Object labels;
  if (auto* const found = config.if_contains("labels"); found != nullptr && found->is_object())
    labels = found->as_object();
  labels[kLabelSandbox] = made.sandbox_id;
  labels[kLabelInstance] = made.instance;
  labels[kLabelOwnClock] = "yes";
  config["labels"] = std::move(labels);
}

// False where something of it is missing.
bool give_place_and_limits(json::Value* described, const ContainerSpec& made) {
  json::Object* const spec = described != nullptr ? described->if_object() : nullptr;
  json::Value* const mounts = spec != nullptr ? spec->if_contains("mounts") : nullptr;
  json::Value* const kernel = spec != nullptr ? spec->if_contains("linux") : nullptr;
  if (mounts == nullptr || !mounts->is_array() || kernel == nullptr || !kernel->is_object())
    return false;
  // Files of the first container's own, and its shared memory: the engine makes others for the new
  // one where none are named, and would show it those of the first otherwise.
  json::Array kept;
  for (auto& mount : mounts->as_array()) {
    const bool is_of_the_engine =
        text_at(&mount, "type") == "bind" &&
        std::ranges::find(kOfTheEngine, text_at(&mount, "destination")) != std::end(kOfTheEngine);
    if (!is_of_the_engine) kept.push_back(std::move(mount));
  }
  *mounts = std::move(kept);
  bool has_door = false;
  for (auto& mount : mounts->as_array()) {
    const std::string where = text_at(&mount, "destination");
    if (where == kDoorInside) {
      mount.as_object()["source"] = made.door;
      has_door = true;
    }
    if (where == kAgentInside) mount.as_object()["source"] = made.agent;
  }
  json::Value& limits = kernel->as_object()["resources"];
  if (!has_door || !limits.is_object()) return false;
  json::Object& resources = limits.as_object();
  resources["memory"] = json::Object{{"limit", made.memory_bytes}, {"swap", made.memory_bytes}};
  resources["pids"] = json::Object{{"limit", made.pids}};
  json::Object processors;
  if (made.nano_cpus > 0) {
    processors["quota"] = made.nano_cpus / (1'000'000'000 / kPeriod);
    processors["period"] = kPeriod;
  }
  if (made.cpu_shares > 0) processors["shares"] = made.cpu_shares;
  resources["cpu"] = std::move(processors);
  return true;
}

}  // namespace

Result<std::string> CheckpointArchive::pass(std::string_view piece) {
  std::string out;
  while (!piece.empty()) {
    if (is_over_) break;  // padding
    if (left_ > 0) {
      const auto now = static_cast<size_t>(std::min<uint64_t>(left_, piece.size()));
      out += piece.substr(0, now);
      piece.remove_prefix(now);
      left_ -= now;
      continue;
    }
    const uint64_t wanted = body_ > 0 ? padded(body_) : kBlock;
    const auto now = static_cast<size_t>(std::min<uint64_t>(wanted - held_.size(), piece.size()));
    held_ += piece.substr(0, now);
    piece.remove_prefix(now);
    if (held_.size() < wanted) break;
    TRY_OK(body_ > 0 ? take_body(out) : take_header(out));
    held_.clear();
  }
  return out;
}

Result<> CheckpointArchive::take_header(std::string& out) {
  if (std::ranges::all_of(held_, [](char byte) { return byte == '\0'; })) {
    is_over_ = true;
    out += tar_end();
    return {};
  }
  TRY(const uint64_t size, size_in(held_));
  const bool is_extended = held_[kTypeAt] == kExtended;
  const std::string_view field = std::string_view(held_).substr(0, kPathBytes);
  const std::string_view path = field.substr(0, field.find('\0'));
  const bool is_description = !is_extended && (path == kConfig || path == kSpec);
  // A description is no such size, and has its own afterwards.
  if (size_ahead_ && (is_extended || is_description)) return broken();
  if (!is_extended && !is_description) {
    out += held_;
    left_ = padded(std::exchange(size_ahead_, std::nullopt).value_or(size));
    return {};
  }
  if (size == 0 || size > (is_extended ? kLargestExtended : kLargestDescription)) return broken();
  header_ = held_;
  body_ = size;
  return {};
}

Result<> CheckpointArchive::take_body(std::string& out) {
  if (header_[kTypeAt] == kExtended) {
    TRY(size_ahead_, size_told(std::string_view(held_).substr(0, body_)));
    out += header_ + held_;
  } else {
    TRY_OK(take_description(out));
  }
  body_ = 0;
  return {};
}

Result<> CheckpointArchive::take_description(std::string& out) {
  auto read =
      json::parse(std::string_view(held_).substr(0, body_), {.max_bytes = kLargestDescription});
  if (!read || !read->is_object()) return broken();
  json::Object& described = read->as_object();
  const bool is_config = header_.starts_with(kConfig);
  if (is_config) give_labels(described, made_);
  if (!give_place_and_limits(is_config ? described.if_contains("spec") : &*read, made_))
    return broken();
  (is_config ? has_config_ : has_spec_) = true;
  std::string text;
  json::write_value(text, *read);
  out += with_size(header_, text.size()) + text + tar_padding(text.size());
  return {};
}

Result<> CheckpointArchive::finish() const {
  if (is_over_ && has_config_ && has_spec_) return {};
  return broken();
}

}  // namespace atl::container
