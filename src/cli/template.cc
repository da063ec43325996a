// `atoll template`: the root file systems that a daemon makes sandboxes from.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/run_task.h"
#include "base/text.h"
#include "cli/archive_pipe.h"
#include "cli/client.h"
#include "cli/format.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/shown_answer.h"
#include "cli/subverb.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "client/template_upload.h"
#include "os/file.h"
#include "template/reference.h"

namespace atl::cli {
namespace {

constexpr size_t kMostRemoved = 1'000;
constexpr size_t kShortId = 12;

Result<TemplateReference> reference_from(const std::string& text) {
  auto reference = parse_template_reference(text);
  if (!reference)
    return usage_error(reference.error().message()).with_hint(reference.error().hint());
  return reference;
}

std::string path_to(const TemplateReference& reference, std::string_view rest = "") {
  return "/v1/templates/" + net::percent_encode(reference.text()) + std::string(rest);
}

class Uploader final {
 public:
  Uploader(Context& context, Client& client)
      : context_(context), client_(client), progress_(context) {}

  // The daemon's answer.
  Result<std::string> send(const std::string& name, const std::string& source) {
    if (source == "-") return send_bytes(name, STDIN_FILENO, std::nullopt);
    // Of a pipe with a name, not before somebody writes to it: its end would come at once.
    TRY(const auto fd, os::open_at(AT_FDCWD, source, O_RDONLY | O_NOCTTY));
    struct stat info{};
    if (fstat(fd.get(), &info) != 0) return os_error("looking at", to_printable(source));
    if (S_ISDIR(info.st_mode)) return send_directory(name, fd);
    if (!S_ISREG(info.st_mode)) return send_bytes(name, fd.get(), std::nullopt);
    progress_.expect(static_cast<uint64_t>(info.st_size));
    return send_bytes(name, fd.get(), static_cast<uint64_t>(info.st_size));
  }

 private:
  Result<std::string> send_bytes(const std::string& name, int fd, std::optional<uint64_t> size) {
    const client::Source counted = [this, from = client::source_from(fd)](
                                       char* into, size_t most) -> Result<size_t> {
      TRY(const size_t got, from(into, most));
      progress_.add_bytes(got);
      return got;
    };
    return run_task(client_.loop(),
                    client::upload_template(client_.connection(), name, counted, size));
  }

  // One archive, made while it is sent. Links of a root file system go as they are.
  Result<std::string> send_directory(const std::string& name, const Fd& directory) {
    ArchivePipe pipe;
    TRY(auto fd, pipe.start(directory, {}, TarLinks::any));
    auto sent = send_bytes(name, fd.get(), std::nullopt);
    fd.close();  // whoever still writes to it finds nobody
    TRY(const auto packed, pipe.finish());
    if (sent && packed.skipped > 0 && !context_.quiet()) {
      tell(fmt::format("atoll: left out {} files that are special or cannot be read",
                       packed.skipped));
    }
    return sent;
  }

  Context& context_;
  Client& client_;
  Progress progress_;
};

void tell_added(const json::Value& answer) {
  const auto count = [&](std::string_view name) {
    return static_cast<uint64_t>(number_at(answer, name));
  };
  tell_dim(fmt::format("· {} files · {} · atoll run --template {}:{} -- sh", count("files"),
                       format_bytes(count("bytes")), single_line(text_at(answer, "name")),
                       single_line(text_at(answer, "tag"))));
  if (count("left_out") > 0)
    tell(fmt::format("atoll: left out {} devices and pipes", count("left_out")));
}

Result<int> print_changed(Context& context, const std::string& text) {
  if (context.json()) {
    TRY_OK(print(text + "\n"));
    return 0;
  }
  TRY(const auto answer, parse_answer(text));
  TRY_OK(print(single_line(text_at(answer, "id")) + "\n"));
  if (!context.quiet() && isatty(STDERR_FILENO) == 1) tell_added(answer);
  return 0;
}

Result<int> add(Context& context) {
  const auto& words = context.args.words();
  TRY(const auto reference, reference_from(words[1]));
  TRY(const auto client, open_client(context));
  TRY(const std::string text, Uploader(context, *client).send(reference.text(), words[2]));
  return print_changed(context, text);
}

Result<int> list(Context& context) {
  TRY(const auto client, open_client(context));
  TRY(const std::string text, client->get("/v1/templates"));
  if (context.json()) {
    TRY_OK(print(text + "\n"));
    return 0;
  }
  TRY(const auto answer, parse_answer(text));
  Table rows{{"NAME", "TAG", "ID", "KIND", "SIZE", "FILES", "VERSIONS", "ADDED"}};
  std::string names;
  const WallTime now = system_clock().wall();
  for (const json::Value& one : list_at(answer, "templates")) {
    const auto word = [&](std::string_view name) { return single_line(text_at(one, name)); };
    const auto count = [&](std::string_view name) {
      return static_cast<uint64_t>(number_at(one, name));
    };
    names += word("name") + ":" + word("tag") + "\n";
    rows.push_back({word("name"), word("tag"), word("id").substr(0, kShortId), word("kind"),
                    format_bytes(count("bytes")), std::to_string(count("files")),
                    std::to_string(count("versions")),
                    format_since(word("added_at"), now) + " ago"});
  }
  TRY_OK(print(context.quiet() ? names : table_for_stdout(rows)));
  return 0;
}

Result<int> show(Context& context) {
  TRY(const auto reference, reference_from(context.args.words()[1]));
  TRY(const auto client, open_client(context));
  TRY(const std::string text, client->get(path_to(reference)));
  return show_answer(context, text);
}

Result<int> remove(Context& context) {
  const auto& words = context.args.words();
  std::vector<TemplateReference> references;
  for (size_t i = 1; i < words.size(); ++i) {
    TRY(auto reference, reference_from(words[i]));
    references.push_back(std::move(reference));
  }
  TRY(const auto client, open_client(context));
  for (const auto& reference : references) {
    TRY_OK(client->remove(path_to(reference)));
    if (!context.json() && !context.quiet()) TRY_OK(print(reference.text() + "\n"));
  }
  if (context.json()) TRY_OK(print("{\"ok\":true}\n"));
  return 0;
}

Result<int> roll_back(Context& context) {
  TRY(const auto reference, reference_from(context.args.words()[1]));
  TRY(const auto client, open_client(context));
  TRY(const std::string text, client->post(path_to(reference, "/rollback"), ""));
  return print_changed(context, text);
}

constexpr Subverb kSubverbs[] = {{"add", 2, 2, add},
                                 {"ls", 0, 0, list},
                                 {"show", 1, 1, show},
                                 {"rm", 1, kMostRemoved, remove},
                                 {"rollback", 1, 1, roll_back}};

Result<int> run_template(Context& context) { return run_subverb(context, "template", kSubverbs); }

}  // namespace

const Verb kTemplateVerb{
    .grammar = {.verb = "template",
                .usage = "[FLAGS] add NAME[:TAG] SOURCE | ls | show NAME[:TAG] | rm NAME[:TAG]… | "
                         "rollback NAME[:TAG]",
                .flags = {kEverywhereFlags},
                .least_words = 1,
                .most_words = 1 + kMostRemoved},
    .group = kTemplatesGroup,
    .summary = "Keep root file systems that sandboxes are made from",
    .more =
        "SOURCE is an image as `docker save` or an OCI archive has it, a root file system as tar, "
        "each\n"
        "plain or with gzip, a directory, or `-` for stdin. Adding to a name keeps what it stood "
        "for\n"
        "before; rollback goes back to that. Use one with: atoll run --template NAME[:TAG]",
    .run = run_template};

}  // namespace atl::cli
