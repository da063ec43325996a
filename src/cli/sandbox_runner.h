// SandboxRunner: runs commands in fresh sandboxes, on the daemon that answers or on an engine of
// our own, and tells results as the API does.
//
// For verbs that look at what comes back; `atoll run` streams and hands descriptors on.
#pragma once

#include <memory>
#include <string>

#include "api/v1/exec_wire.h"
#include "api/v1/sandbox_wire.h"
#include "cli/client.h"
#include "json/value.h"

namespace atl::cli {

class SandboxRunner final {
 public:
  // A daemon that was named and may be there, but cannot be reached, is an error.
  static Result<std::unique_ptr<SandboxRunner>> open(Context& context);
  ~SandboxRunner();

  // Of GET /v1/drivers.
  Result<json::Array> drivers();
  // Of POST /v1/runs.
  Result<json::Value> run(api::v1::WireCreate sandbox, api::v1::WireExec exec);

  // "the daemon at unix:/…", "an engine in this process".
  const std::string& where() const { return where_; }
  // Whether directories of this host can be shown: not over TCP.
  bool takes_directories() const { return client_ == nullptr || client_->is_local(); }
  Client* client() { return client_.get(); }

 private:
  SandboxRunner() = default;

  std::unique_ptr<Client> client_;
  std::unique_ptr<LocalEngine> engine_;
  std::string where_;
};

}  // namespace atl::cli
