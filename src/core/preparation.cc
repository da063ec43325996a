#include "core/preparation.h"

#include <set>

#include "base/text.h"
#include "base/time_words.h"
#include "crypto/hash.h"

namespace atl {
namespace {

constexpr size_t kLongestPath = 4'095;
constexpr size_t kKept = 64 * 1024;       // of what a command says
constexpr size_t kMostLastWords = 1'000;  // of which so much is told

Error invalid(std::string_view path, std::string_view problem) {
  return Error(Code::invalid_argument,
               "files: '" + to_printable(path.substr(0, 200)) + "' " + std::string(problem));
}

Result<> check_path(std::string_view path) {
  if (path.empty()) return invalid(path, "is no path: it is empty");
  if (path.size() > kLongestPath) return invalid(path, "is longer than 4095 bytes");
  if (path.find('\0') != std::string_view::npos) return invalid(path, "has a NUL in it");
  const std::string within = "/" + std::string(path) + "/";
  for (const char* part : {"/./", "/../"}) {
    if (within.find(part) != std::string::npos) return invalid(path, "has . or .. in it");
  }
  if (path.find("//") != std::string_view::npos) return invalid(path, "has an empty part");
  if (path.ends_with('/')) return invalid(path, "is a directory, and files are given");
  return {};
}

Error explain(const ExecResult& result, Millis timeout, NetworkControl network) {
  if (result.status.reason == ExitReason::timeout) {
    return Error(Code::deadline_exceeded, "it did not end within " + in_words(timeout));
  }
  Error error(Code::invalid_argument, last_words(result));
  if (network == NetworkControl::none) return error;
  return std::move(error).with_hint(
      "sandboxes have no network: send what is needed in files_b64 and name those files, or give "
      "a root file system that has it");
}

}  // namespace

// From the beginning of a line if there is one.
std::string last_words(const ExecResult& result) {
  std::string_view said = result.err.empty() ? result.out : result.err;
  while (!said.empty() && (said.back() == '\n' || said.back() == '\r')) said.remove_suffix(1);
  if (said.size() > kMostLastWords) {
    said.remove_prefix(said.size() - kMostLastWords);
    if (const size_t line = said.find('\n'); line != std::string_view::npos)
      said.remove_prefix(line + 1);
  }
  std::string line;
  for (const char c : said) line += c == '\n' ? std::string("; ") : std::string(1, c);
  return to_printable(line);
}

Result<> check_files(const std::vector<NewFile>& files) {
  if (files.size() > kMostInitialFiles) {
    return Error(Code::invalid_argument, "files: there are " + std::to_string(files.size()) +
                                             ", at most " + std::to_string(kMostInitialFiles) +
                                             " are allowed")
        .with_hint("send an archive with PUT /v1/sandboxes/{id}/files/tar instead");
  }
  std::set<std::string_view> paths;
  for (const auto& file : files) {
    TRY_OK(check_path(file.path));
    if (!paths.insert(file.path).second) return invalid(file.path, "is given twice");
  }
  return {};
}

std::string fingerprint(const std::vector<NewFile>& files) {
  if (files.empty()) return "";
  std::string all;
  for (const auto& file : files)
    all += crypto::sha256_hex(file.path) + crypto::sha256_hex(file.bytes);
  return crypto::sha256_hex(all);
}

Task<> write_files(Guest& guest, std::vector<NewFile> files) {
  for (auto& file : files) {
    const std::string path = to_printable(file.path);
    auto written = co_await write_file(guest, std::move(file), Parents::create);
    if (!written) co_return std::move(written).error().with("files: '" + path + "'");
  }
  co_return Result<>();
}

Task<std::string> run_setup(Guest& guest, SetupCommand setup, NetworkControl network) {
  if (network != NetworkControl::none) setup.exec.env.merge(setup.env_offline);
  const std::string program = to_printable(setup.exec.argv.front());
  const Millis timeout = setup.exec.timeout;
  auto result = co_await exec_collect(guest, std::move(setup.exec), "", kKept);
  if (!result) co_return std::move(result).error().with(program).with(setup.name);
  if (result->status.reason == ExitReason::exited && result->status.exit_code == 0)
    co_return last_words(*result);
  co_return explain(*result, timeout, network).with(program).with(setup.name);
}

}  // namespace atl
