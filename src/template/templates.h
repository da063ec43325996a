// Templates: the root file systems that sandboxes can be made from, by name, on the disk.
//
//   DIR/names.json         which template each name stands for, and stood for before
//   DIR/trees/ID/root/     a root file system, which nobody changes any more
//   DIR/trees/ID/facts.json  what its image says about commands, and how large it is
//   DIR/incoming/, trash/  what is not yet, or no longer, a template; emptied at the next start
//
// ID is the SHA-256 of what is in it, so that the same image twice takes its place once. A tree
// appears by a rename when all of it is on the disk, and goes when no name has it and no sandbox is
// made from it. Lives on the core loop; what takes long is done by Workers.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/delay.h"
#include "base/fd.h"
#include "base/workers.h"
#include "template/names.h"
#include "template/root_users.h"
#include "template/unpack.h"

namespace atl {

struct TemplateFacts {
  static constexpr auto kRequired = json::required();

  TemplateKind kind = TemplateKind::rootfs;
  ImageConfig config;
  uint64_t layers = 0;
  uint64_t files = 0;
  uint64_t bytes = 0;
  uint64_t left_out = 0;
  // Nullopt in the file of an earlier daemon: they are read from the tree then.
  std::optional<RootUsers> users;
};
BOOST_DESCRIBE_STRUCT(TemplateFacts, (), (kind, config, layers, files, bytes, left_out, users))

struct TemplateView {
  TemplateReference reference;
  std::vector<TemplateVersion> versions;  // the newest is last, and what is used
  TemplateFacts facts;

  const std::string& id() const { return versions.back().id; }
};

// A template's tree, for a sandbox. The tree stays as long as `hold` does; afterwards, as long as a
// sandbox has it.
struct OpenTemplate {
  std::string id;  // of its content
  Fd root;
  std::string path;
  ImageConfig config;
  RootUsers users;
  std::shared_ptr<const void> hold;
};

struct TemplateOptions {
  std::string directory;  // made if it is missing; its parent is there
  uint64_t upload_bytes = uint64_t{16} << 30;
  UnpackLimits unpack;
  std::chrono::seconds unpack_time{1800};
  std::chrono::seconds collect_every{30};
};

// Whether a sandbox has the root file system at this path.
using IsRootUsed = std::function<bool(const std::string& path)>;

// An archive on its way in. Goes with all that was made of it, unless that has become a template.
class TemplateUpload final {
 public:
  TemplateUpload(std::shared_ptr<Workers> workers, std::shared_ptr<Fd> incoming, std::string name,
                 std::shared_ptr<const void> place, uint64_t limit);
  ~TemplateUpload();
  TemplateUpload(const TemplateUpload&) = delete;
  TemplateUpload& operator=(const TemplateUpload&) = delete;

  // The next bytes; Code::too_large beyond the limit.
  Task<> put(std::string bytes);

 private:
  friend class Templates;
  std::shared_ptr<Workers> workers_;
  std::shared_ptr<Fd> incoming_;
  std::string name_;  // of its directory there
  std::shared_ptr<const void> place_;
  uint64_t limit_;
  uint64_t size_ = 0;
  std::shared_ptr<Fd> file_;  // opened by the first bytes
};

class Templates final {
 public:
  // Empties what an earlier daemon left half done. Blocks.
  static Result<std::unique_ptr<Templates>> open(asio::any_io_executor executor,
                                                 TemplateOptions options, const Clock& clock);

  // Code::resource_exhausted while as many as may be are on their way.
  Result<std::shared_ptr<TemplateUpload>> begin_upload();
  // What was uploaded becomes the newest version of the name.
  Task<TemplateView> add(TemplateReference reference, std::shared_ptr<TemplateUpload> upload);
  Task<TemplateView> roll_back(TemplateReference reference);
  Task<> remove(TemplateReference reference);

  Result<TemplateView> get(const TemplateReference& reference) const;
  std::vector<TemplateView> list() const;
  Result<OpenTemplate> open_tree(const TemplateReference& reference);
  // By its id, whatever names stand for now.
  Result<OpenTemplate> open_version(const std::string& id);
  bool has(const std::string& id) const;

  // Removes trees that nobody needs, now and then from now on; before, none is removed. `on_gone`
  // is called after some were.
  void start_collecting(IsRootUsed is_used, std::function<void()> on_gone = {});
  void collect();
  // What is under way ends early, and nothing new begins. Blocks until then; call it while the loop
  // is there, and let the loop run once more afterwards.
  void stop();

 private:
  void collect_again();

  using Change = std::function<Result<>(TemplateNames&)>;

  Templates(asio::any_io_executor executor, TemplateOptions options, const Clock& clock);
  Result<> prepare();
  Task<> change(Change change);
  Task<> change_in_turn(Change change);
  Result<TemplateFacts> facts_of(const std::string& id) const;
  Result<TemplateView> view_of(const TemplateReference& reference,
                               std::vector<TemplateVersion> versions) const;

  TemplateOptions options_;
  const Clock& clock_;
  std::shared_ptr<Workers> workers_;
  // Shared with work that outlives a call.
  std::shared_ptr<Fd> directory_, trees_, incoming_, trash_;
  TemplateNames names_;
  std::shared_ptr<Event> changing_;  // null while nobody changes the names
  std::shared_ptr<const void> places_ = std::make_shared<int>();  // a copy for each upload
  std::map<std::string, std::weak_ptr<const void>> holds_;        // by id
  mutable std::map<std::string, TemplateFacts> known_facts_;      // by id
  IsRootUsed is_used_;                                            // empty before anybody could know
  std::function<void()> on_gone_;
  Delay collecting_;
};

}  // namespace atl
