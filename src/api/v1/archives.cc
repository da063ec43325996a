// Many files at once: GET and PUT …/files/tar, POST …/files/batch.
#include <boost/asio/this_coro.hpp>

#include "api/body.h"
#include "api/object_writer.h"
#include "api/openapi/requests.h"
#include "api/parameters.h"
#include "api/v1/file_wire.h"
#include "api/v1/handlers.h"
#include "base/text.h"
#include "driver/new_file.h"
#include "net/event.h"

namespace atl::api::v1 {
namespace {

constexpr size_t kPiece = 256 * 1024;
constexpr size_t kMostBatchJson = size_t{32} << 20;
constexpr size_t kMostBatchFiles = 10'000;
constexpr std::string_view kTar = "application/x-tar";

struct WireBatchFile {
  static constexpr std::string_view kSchema = "FileToWrite";
  std::optional<std::string> path, path_b64;
  std::optional<std::string> text, b64;
  std::optional<std::string> mode;
};
BOOST_DESCRIBE_STRUCT(WireBatchFile, (), (path, path_b64, text, b64, mode))

struct WireBatchWrite {
  static constexpr std::string_view kSchema = "WriteBatch";
  std::optional<std::map<std::string, std::string>> files;
  std::optional<std::vector<WireBatchFile>> entries;
  std::optional<bool> parents;
};
BOOST_DESCRIBE_STRUCT(WireBatchWrite, (), (files, entries, parents))

constexpr openapi::Field kFileFields[] = {
    {"path", "", {.least = 1}},
    {"path_b64", openapi::kInsteadOfPath, {}, openapi::kBase64},
    {"text"},
    {"b64", "Instead of `text`.", {}, openapi::kBase64},
    {"mode", "Octal, from 0 to 0777.", {}, openapi::kMode},
};
constexpr openapi::Field kWriteFields[] = {
    {"files", "Text by path.", {.most = int64_t{kMostBatchFiles}}},
    {"entries", "Those that are not text, or have a mode.", {.most = int64_t{kMostBatchFiles}}},
    {"parents", "Make missing directories.", {}, R"({"default":true})"},
};

Error invalid(std::string_view field, std::string_view problem) {
  return Error(Code::invalid_argument, std::string(field) + ": " + std::string(problem))
      .at_stage("request");
}

Result<NewFile> to_file(WireBatchFile wire) {
  NewFile file;
  TRY(file.path, pick_path("entries.path", std::move(wire.path), std::move(wire.path_b64)));
  TRY(file.mode, read_mode(wire.mode));
  if (wire.text.has_value() == wire.b64.has_value())
    return invalid("entries.text", "give either text or b64")
        .with("'" + to_printable(file.path) + "'");
  if (wire.text) {
    file.bytes = *std::move(wire.text);
    return file;
  }
  auto bytes = from_base64(*wire.b64);
  if (!bytes) return invalid("entries.b64", "it is not base64");
  file.bytes = *std::move(bytes);
  return file;
}

Result<std::vector<NewFile>> to_files(WireBatchWrite& wire) {
  std::vector<NewFile> files;
  if (wire.files) {
    for (auto& [path, text] : *wire.files) {
      TRY_OK(check_path("files", path));
      files.push_back({path, std::move(text), 0644});
    }
  }
  if (wire.entries) {
    for (auto& entry : *wire.entries) {
      TRY(auto file, to_file(std::move(entry)));
      files.push_back(std::move(file));
    }
  }
  if (files.empty())
    return invalid("files", "there are none").with_hint(R"({"files":{"a.txt":"text"}})");
  if (files.size() > kMostBatchFiles) return invalid("files", "at most 10,000 at once");
  return files;
}

// The results of a batch, as they come.
class BatchAnswer final {
 public:
  explicit BatchAnswer(std::string& json) : json_(json), object_(json) {
    object_.key("results") += '[';
  }

  void add(const FileInfo& info) {
    ObjectWriter one(next());
    one.bytes("path", info.path);
    one.member("ok", true);
    one.member("kind", info.kind);
    one.member("size", info.size);
    if (const auto tag = etag_of(info.version); !tag.empty()) one.member("etag", tag);
    one.close();
    ++written_;
  }

  void add_failure(std::string_view path, const Error& error) {
    ObjectWriter one(next());
    if (!path.empty()) one.bytes("path", path);
    one.member("ok", false);
    one.member("code", to_string(error.code()));
    one.member("detail", error.message());
    if (!error.hint().empty()) one.member("hint", error.hint());
    one.close();
    ++failed_;
  }

  void close() {
    json_ += ']';
    object_.member("written", written_);
    object_.member("failed", failed_);
    object_.close();
  }

 private:
  std::string& next() {
    if (json_.back() != '[') json_ += ',';
    return json_;
  }

  std::string& json_;
  ObjectWriter object_;
  uint64_t written_ = 0;
  uint64_t failed_ = 0;
};

// An archive on its way in: fed by one coroutine, while another hears what becomes of it.
struct Unpacking {
  Unpacking(const asio::any_io_executor& executor, GuestLease in, std::unique_ptr<FileTool> at_work)
      : lease(std::move(in)), tool(std::move(at_work)), over(executor) {}

  GuestLease lease;
  std::unique_ptr<FileTool> tool;
  std::vector<UnpackedFile> files;
  ToolEnd end;
  Result<> outcome;
  net::Event over;
};

Task<> hear(std::shared_ptr<Unpacking> unpacking) {
  for (;;) {
    CO_TRY(auto event, co_await unpacking->tool->next());
    if (const auto* end = std::get_if<ToolEnd>(&event)) {
      unpacking->end = *end;
      co_return Result<>();
    }
    auto* file = std::get_if<UnpackedFile>(&event);
    if (file == nullptr || unpacking->files.size() >= kMostBatchFiles)
      co_return Error(Code::unavailable, "a tool in the sandbox answers nonsense");
    unpacking->files.push_back(std::move(*file));
  }
}

Task<> feed(Call& call, std::shared_ptr<Unpacking> unpacking) {
  const uint64_t most = call.options().most_upload_bytes;
  std::string buffer(kPiece, '\0');
  uint64_t total = 0;
  for (;;) {
    CO_TRY(const size_t got, co_await call.exchange().read_body_some(buffer.data(), kPiece));
    if (got == 0) break;
    total += got;
    if (total > most)
      co_return Error(Code::too_large,
                      "an archive has at most " + std::to_string(most) + " bytes here");
    auto written = co_await unpacking->tool->write(buffer.substr(0, got));
    // It has seen enough, and says why.
    if (!written) co_return Result<>();
  }
  auto finished = co_await unpacking->tool->finish();
  static_cast<void>(finished);  // one that has ended says why itself
  co_return Result<>();
}

// Only what keeps the archive from arriving is an error; what the tool makes of it is in `outcome`.
Task<std::shared_ptr<Unpacking>> unpack(Call& call, UnpackRequest request) {
  CO_TRY(auto lease, co_await call.engine().use(call.caller(), call.sandbox()));
  auto there = co_await lease->stat(request.path);
  if (!there && there.error().code() != Code::not_found) co_return std::move(there).error();
  if (!there) {
    CO_TRY_OK(co_await lease->mkdir(request.path, Parents::create));
  }
  CO_TRY(auto tool, co_await lease->start_tool(std::move(request)));
  const auto executor = co_await asio::this_coro::executor;
  auto unpacking = std::make_shared<Unpacking>(executor, std::move(lease), std::move(tool));
  spawn(executor, hear(unpacking), [unpacking](Result<> heard) {
    unpacking->outcome = std::move(heard);
    unpacking->over.set();
  });
  auto fed = co_await feed(call, unpacking);
  if (!fed) unpacking->tool->interrupt();
  co_await unpacking->over.wait();
  if (!fed) co_return std::move(fed).error();
  co_return unpacking;
}

Task<> write_batch_archive(Call& call) {
  CO_TRY(auto path, read_path(call.request().query));
  CO_TRY(const auto unpacking,
         co_await unpack(call, {std::move(path).value_or("."), kMostBatchFiles}));
  std::string json;
  BatchAnswer answer(json);
  for (auto& file : unpacking->files) {
    FileInfo info;
    info.path = std::move(file.path);
    info.kind = file.kind;
    info.size = file.size;
    answer.add(info);
  }
  // What came before is in place; the archive goes no further.
  if (!unpacking->outcome) answer.add_failure("", unpacking->outcome.error());
  answer.close();
  co_return co_await call.answer(200, std::move(json));
}

}  // namespace

void describe_archive_requests(openapi::Schemas& schemas) {
  schemas.add<WireBatchFile, kFileFields>(
      R"({"allOf":[{"oneOf":[{"required":["path"]},{"required":["path_b64"]}]},{"oneOf":[{"required":["text"]},{"required":["b64"]}]}]})");
  schemas.add<WireBatchWrite, kWriteFields>();
}

Task<> read_archive(Call& call) {
  CO_TRY(auto given, read_path(call.request().query));
  PackRequest request;
  request.path = std::move(given).value_or(".");
  CO_TRY(const auto all_links, read_flag(call.request().query, "all_links"));
  request.all_links = all_links.value_or(false);
  CO_TRY(const auto lease, co_await call.engine().use(call.caller(), call.sandbox()));
  CO_TRY(auto started, co_await lease->start_tool(std::move(request)));
  const std::shared_ptr<FileTool> tool = std::move(started);
  call.exchange().on_closed([tool] { tool->interrupt(); });
  for (;;) {
    // The first one before the answer begins: what cannot be read is told as an error.
    CO_TRY(const auto event, co_await tool->next());
    if (std::holds_alternative<ToolEnd>(event)) co_return co_await call.exchange().end();
    const auto* piece = std::get_if<ArchivePiece>(&event);
    if (piece == nullptr) co_return Error(Code::unavailable, "a tool answers nonsense");
    if (!call.exchange().started()) {
      CO_TRY_OK(co_await call.begin(call.headers(kTar)));
    }
    CO_TRY_OK(co_await call.exchange().write(piece->bytes));
  }
}

Task<> write_archive(Call& call) {
  CO_TRY(auto path, read_path(call.request().query));
  CO_TRY(const auto unpacking,
         co_await unpack(call, {std::move(path).value_or("."), std::nullopt}));
  if (!unpacking->outcome) co_return unpacking->outcome.error();
  std::string json;
  ObjectWriter object(json);
  object.member("entries", unpacking->end.told);
  object.member("bytes", unpacking->end.bytes);
  object.close();
  co_return co_await call.answer(200, std::move(json));
}

Task<> write_batch(Call& call) {
  const std::string_view type = call.request().headers.get("Content-Type");
  if (net::equals_ignoring_case(type.substr(0, type.find(';')), kTar))
    co_return co_await write_batch_archive(call);
  if (!call.request().query.empty())
    co_return invalid("path", "only an archive is put into a directory")
        .with_hint("Content-Type: application/x-tar");
  CO_TRY(auto wire, co_await read_json<WireBatchWrite>(call, kMostBatchJson));
  const auto parents = wire.parents.value_or(true) ? Parents::create : Parents::must_exist;
  CO_TRY(auto files, to_files(wire));
  CO_TRY(const auto lease, co_await call.engine().use(call.caller(), call.sandbox()));
  std::string json;
  BatchAnswer answer(json);
  for (auto& file : files) {
    const std::string path = file.path;
    auto info = co_await write_file(*lease, std::move(file), parents);
    if (info) {
      answer.add(*info);
    } else {
      answer.add_failure(path, info.error());
    }
  }
  answer.close();
  co_return co_await call.answer(200, std::move(json));
}

}  // namespace atl::api::v1
