#include "template/templates.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/ids.h"
#include "base/text.h"
#include "crypto/hash.h"
#include "json/json.h"
#include "os/file.h"
#include "telemetry/log.h"
#include "template/tree_digest.h"

namespace atl {
namespace {

constexpr size_t kMostUploads = 2;
// Each upload has work for one, and what is removed for another.
constexpr size_t kThreads = kMostUploads + 1;
constexpr size_t kIdLength = 64;
constexpr size_t kLargestFacts = 4 << 20;
constexpr const char* kArchive = "archive";
constexpr const char* kMade = "made";
constexpr const char* kRoot = "root";
constexpr const char* kScratch = "scratch";
constexpr const char* kFacts = "facts.json";

Result<Fd> open_directory(int directory, const std::string& name) {
  return os::open_at(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

Result<std::shared_ptr<Fd>> make_and_open(int directory, const std::string& name) {
  if (mkdirat(directory, name.c_str(), 0700) != 0 && errno != EEXIST)
    return os_error("making directory", name);
  TRY(auto opened, open_directory(directory, name));
  return std::make_shared<Fd>(std::move(opened));
}

Result<> empty(int directory) {
  for (const auto& name : os::names_in(directory)) TRY_OK(os::remove_tree(directory, name));
  return {};
}

struct Made {
  std::string id;
  TemplateFacts facts;
};

// What a worker needs to make a template of an archive.
struct Making {
  std::shared_ptr<Fd> incoming, trees;
  std::string name;
  UnpackLimits limits;
  std::chrono::steady_clock::time_point give_up;
  std::chrono::seconds patience;
  std::shared_ptr<std::atomic<bool>> stopping;

  Result<> go_on() const {
    if (*stopping) return Error(Code::unavailable, "the daemon is stopping");
    if (std::chrono::steady_clock::now() < give_up) return {};
    return Error(Code::deadline_exceeded, "the template cannot be unpacked within " +
                                              std::to_string(patience.count()) + " seconds")
        .with_hint("give a smaller image");
  }
};

// The tree and all of its files are on the disk before its name is.
Result<> put_in_place(const Making& making, int home, int made, const std::string& id) {
  if (syncfs(made) != 0) return os_error("writing the template to the disk");
  const int trees = making.trees->get();
  if (renameat(home, kMade, trees, id.c_str()) != 0) {
    // It is there already: ours goes with the upload.
    if (errno == EEXIST || errno == ENOTEMPTY) return {};
    return os_error("putting the template in place");
  }
  if (fsync(trees) != 0) return os_error("putting the template in place");
  return {};
}

Result<Made> make(const Making& making) {
  TRY(const auto home, open_directory(making.incoming->get(), making.name));
  TRY(const auto archive, os::open_at(home.get(), kArchive, O_RDONLY | O_NOFOLLOW));
  TRY_OK(os::make_directory(home.get(), kScratch, 0700));
  TRY_OK(os::make_directory(home.get(), kMade, 0700));
  TRY(const auto scratch, open_directory(home.get(), kScratch));
  TRY(const auto made, open_directory(home.get(), kMade));
  TRY_OK(os::make_directory(made.get(), kRoot, 0755));
  TRY(const auto root, open_directory(made.get(), kRoot));
  // Whatever the umask is.
  if (fchmod(root.get(), 0755) != 0) return os_error("setting the mode");
  const std::function<Result<>()> go_on = [&making] { return making.go_on(); };
  TRY(auto unpacked,
      unpack_template(archive.get(), root.get(), scratch.get(), making.limits, go_on));
  TRY(const auto digest, digest_tree(root.get(), go_on));
  Made result;
  result.facts = {
      unpacked.kind,     std::move(unpacked.config), unpacked.layers, digest.files, digest.bytes,
      unpacked.left_out, read_root_users(root.get())};
  result.id = crypto::sha256_hex(digest.hex + "\n" + json::encode(result.facts.config));
  TRY_OK(os::replace_file(made.get(), kFacts, json::encode(result.facts), 0600));
  TRY_OK(put_in_place(making, home.get(), made.get(), result.id));
  return result;
}

template <typename T>
Task<> keep(Task<T> task, std::shared_ptr<std::optional<Result<T>>> kept) {
  auto result = co_await std::move(task);
  kept->emplace(std::move(result));
  co_return Result<>();
}

// Goes on to its end even if whoever waits for it is cancelled.
template <typename T>
Task<T> to_end(asio::any_io_executor executor, Task<T> task) {
  const auto kept = std::make_shared<std::optional<Result<T>>>();
  Event done(executor);
  spawn(executor, keep(std::move(task), kept), [done](Result<>) mutable { done.fire(); });
  CO_TRY_OK(co_await done.wait());
  if (!kept->has_value()) co_return Error(Code::internal, "a change of the templates broke off");
  co_return std::move(**kept);
}

}  // namespace

TemplateUpload::TemplateUpload(std::shared_ptr<Workers> workers, std::shared_ptr<Fd> incoming,
                               std::string name, std::shared_ptr<const void> place, uint64_t limit)
    : workers_(std::move(workers)),
      incoming_(std::move(incoming)),
      name_(std::move(name)),
      place_(std::move(place)),
      limit_(limit) {}

TemplateUpload::~TemplateUpload() {
  workers_->later([incoming = incoming_, name = name_] {
    const auto removed = os::remove_tree(incoming->get(), name);
    if (!removed) telemetry::log_warn("removing an upload", {{"why", removed.error().message()}});
  });
}

Task<> TemplateUpload::put(std::string bytes) {
  size_ += bytes.size();
  if (size_ > limit_) {
    co_return Error(Code::too_large,
                    "the archive has more than " + std::to_string(limit_) + " bytes")
        .with_hint("give a smaller image, or a compressed one");
  }
  if (!file_) file_ = std::make_shared<Fd>();
  auto written = co_await workers_->run<void>([incoming = incoming_, name = name_, file = file_,
                                               bytes = std::move(bytes)]() -> Result<> {
    if (!*file) {
      TRY_OK(os::make_directory(incoming->get(), name, 0700));
      TRY(const auto home, open_directory(incoming->get(), name));
      TRY(*file, os::open_at(home.get(), kArchive, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
    }
    return os::write_all(file->get(), bytes);
  });
  if (written || written.error().code() != Code::out_of_space) co_return written;
  co_return std::move(written)
      .error()
      .with("keeping the archive")
      .with_hint(
          "free some space where the daemon's state directory is; what came so far is removed");
}

Templates::Templates(asio::any_io_executor executor, TemplateOptions options, const Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      workers_(std::make_shared<Workers>(executor, kThreads)),
      collecting_(executor) {}

Result<std::unique_ptr<Templates>> Templates::open(asio::any_io_executor executor,
                                                   TemplateOptions options, const Clock& clock) {
  std::unique_ptr<Templates> templates(
      new Templates(std::move(executor), std::move(options), clock));
  auto prepared = templates->prepare();
  if (!prepared) return std::move(prepared).error().with("opening the templates");
  return templates;
}

Result<> Templates::prepare() {
  TRY(directory_, make_and_open(AT_FDCWD, options_.directory));
  TRY(trees_, make_and_open(directory_->get(), "trees"));
  TRY(incoming_, make_and_open(directory_->get(), "incoming"));
  TRY(trash_, make_and_open(directory_->get(), "trash"));
  TRY_OK(empty(incoming_->get()));
  TRY_OK(empty(trash_->get()));
  TRY(names_, TemplateNames::load(directory_->get()));
  return {};
}

Result<std::shared_ptr<TemplateUpload>> Templates::begin_upload() {
  if (places_.use_count() > static_cast<long>(kMostUploads)) {
    return Error(Code::resource_exhausted, "other templates are being added")
        .with_hint("try again when they are done");
  }
  return std::make_shared<TemplateUpload>(workers_, incoming_, random_name(20), places_,
                                          options_.upload_bytes);
}

Task<TemplateView> Templates::add(TemplateReference reference,
                                  std::shared_ptr<TemplateUpload> upload) {
  if (!upload->file_) {
    co_return Error(Code::invalid_argument, "there is no archive")
        .with_hint("send one as the body of the request");
  }
  upload->file_.reset();
  const Making making{incoming_,
                      trees_,
                      upload->name_,
                      options_.unpack,
                      std::chrono::steady_clock::now() + options_.unpack_time,
                      options_.unpack_time,
                      workers_->stopping()};
  CO_TRY(const auto made, co_await workers_->run<Made>([making] { return make(making); }));
  known_facts_[made.id] = made.facts;
  const auto put = [reference, id = made.id, now = clock_.wall()](TemplateNames& names) {
    return names.put(reference, id, now);
  };
  // The upload keeps the tree until a name has it.
  auto named = co_await change(put);
  if (!named) co_return std::move(named).error();
  co_return get(reference);
}

Task<TemplateView> Templates::roll_back(TemplateReference reference) {
  CO_TRY_OK(
      co_await change([reference](TemplateNames& names) { return names.roll_back(reference); }));
  collect();
  co_return get(reference);
}

Task<> Templates::remove(TemplateReference reference) {
  CO_TRY_OK(co_await change([reference](TemplateNames& names) { return names.remove(reference); }));
  collect();
  co_return Result<>();
}

Task<> Templates::change(Change change) {
  return to_end(workers_->executor(), change_in_turn(std::move(change)));
}

// One after the other, each on the disk before it is believed.
Task<> Templates::change_in_turn(Change change) {
  while (changing_) {
    const auto other = changing_;
    CO_TRY_OK(co_await other->wait());
  }
  TemplateNames changed = names_;
  CO_TRY_OK(change(changed));
  const auto mine = std::make_shared<Event>(workers_->executor());
  changing_ = mine;
  auto saved = co_await workers_->run<void>(
      [changed, directory = directory_] { return changed.save(directory->get()); });
  if (saved) names_ = std::move(changed);
  changing_.reset();
  mine->fire();
  co_return saved;
}

Result<TemplateFacts> Templates::facts_of(const std::string& id) const {
  if (const auto known = known_facts_.find(id); known != known_facts_.end()) return known->second;
  const auto lost = [&](std::string_view why) {
    return Error(Code::internal, "the template's files are damaged: " + std::string(why))
        .with_hint("add it again, or take an earlier version: atoll template rollback NAME[:TAG]");
  };
  const auto text = os::read_file(trees_->get(), id + "/" + kFacts, kLargestFacts);
  if (!text) return lost(text.error().message());
  auto facts = json::decode<TemplateFacts>(*text, {.max_bytes = kLargestFacts});
  if (!facts) return lost(facts.error().message());
  if (!facts->users) {
    const auto root = open_directory(trees_->get(), id + "/" + kRoot);
    facts->users = root ? read_root_users(root->get()) : RootUsers();
  }
  known_facts_[id] = *facts;
  return facts;
}

Result<TemplateView> Templates::view_of(const TemplateReference& reference,
                                        std::vector<TemplateVersion> versions) const {
  TRY(auto facts, facts_of(versions.back().id));
  return TemplateView{reference, std::move(versions), std::move(facts)};
}

Result<TemplateView> Templates::get(const TemplateReference& reference) const {
  TRY(auto versions, names_.get(reference));
  return view_of(reference, std::move(versions));
}

std::vector<TemplateView> Templates::list() const {
  std::vector<TemplateView> views;
  for (const auto& [reference, versions] : names_.all()) {
    // One that is damaged is told of, too, so that it can be removed.
    auto view = view_of(reference, versions);
    views.push_back(view ? *std::move(view) : TemplateView{reference, versions, {}});
  }
  return views;
}

Result<OpenTemplate> Templates::open_tree(const TemplateReference& reference) {
  TRY(const auto versions, names_.get(reference));
  return open_version(versions.back().id);
}

bool Templates::has(const std::string& id) const {
  return id.size() == kIdLength && id.find_first_not_of("0123456789abcdef") == std::string::npos &&
         faccessat(trees_->get(), id.c_str(), F_OK, 0) == 0;
}

Result<OpenTemplate> Templates::open_version(const std::string& id) {
  TRY(auto facts, facts_of(id));
  const std::string below = id + "/" + kRoot;
  OpenTemplate opened;
  TRY(opened.root, os::open_at(trees_->get(), below, O_PATH | O_DIRECTORY | O_NOFOLLOW));
  opened.path = options_.directory + "/trees/" + below;
  opened.id = id;
  opened.config = std::move(facts.config);
  if (facts.users) opened.users = *std::move(facts.users);
  opened.hold = holds_[id].lock();
  if (!opened.hold) {
    opened.hold = std::make_shared<int>();
    holds_[id] = opened.hold;
  }
  return opened;
}

void Templates::collect() {
  std::erase_if(holds_, [](const auto& hold) { return hold.second.expired(); });
  // What has just been unpacked has no name yet.
  if (!is_used_ || places_.use_count() > 1) return;
  const auto named = names_.ids();
  bool has_removed = false;
  for (const auto& id : os::names_in(trees_->get())) {
    const std::string path = options_.directory + "/trees/" + id + "/" + kRoot;
    if (named.contains(id) || holds_.contains(id) || is_used_(path)) continue;
    const std::string name = id + "." + random_name(8);
    if (renameat(trees_->get(), id.c_str(), trash_->get(), name.c_str()) != 0) {
      const Error error = os_error("setting a template aside");
      telemetry::log_warn(error.message());
      continue;
    }
    known_facts_.erase(id);
    has_removed = true;
    workers_->later([trash = trash_, name] {
      const auto removed = os::remove_tree(trash->get(), name);
      if (!removed)
        telemetry::log_warn("removing a template", {{"why", removed.error().message()}});
    });
  }
  if (has_removed && on_gone_) on_gone_();
}

void Templates::stop() { workers_->stop(); }

void Templates::start_collecting(IsRootUsed is_used, std::function<void()> on_gone) {
  is_used_ = std::move(is_used);
  on_gone_ = std::move(on_gone);
  collect_again();
}

void Templates::collect_again() {
  collect();
  collecting_.after(options_.collect_every, [this] { collect_again(); });
}

}  // namespace atl
