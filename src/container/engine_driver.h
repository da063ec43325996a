// A driver whose sandboxes are containers of an engine that speaks the Docker Engine API: what
// `docker` and `podman` have in common.
//
// An engine on this host is given paths of ours, our agent's program and a directory with a socket.
// One elsewhere is given a copy of the program, and the agent is reached through the engine; so it
// is behind a runtime with a kernel of its own. Containers are found again by their labels, and
// nothing else of the engine's is touched.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "container/dialect.h"
#include "container/image_supply.h"
#include "driver/driver.h"

namespace atl::container {

constexpr Millis kPullPatience{600'000};

struct EngineDriverOptions {
  std::string host;           // as parse_engine_address() has it; "" = where it usually is
  std::string image;          // "" = kUsualImage
  std::string directory;      // ours; made if missing. "" = this program can make no containers
  std::string agent;          // the program
  bool ends_with_us = false;  // sandboxes do not outlive this process
  std::string certificates;   // a directory with ca.pem, cert.pem, key.pem: TLS. "" = none
  Millis pull_patience = kPullPatience;       // the most that fetching an image may take
  std::vector<std::string> mount_roots = {};  // what lies below them may be shown to sandboxes
  std::optional<Error> malformed = {};        // what cannot be meant: every call fails with it
  ProgressListener on_progress = {};          // told while an image is fetched
  // How the tree below a directory becomes a tar archive, piece by piece and off the loop.
  TreeArchiver archive_tree = {};
};

constexpr const char* kUsualImage = "debian:stable-slim";

// Never fails: whether the engine answers is what probe() tells.
std::unique_ptr<Driver> make_engine_driver(asio::any_io_executor executor, const Dialect& dialect,
                                           EngineDriverOptions options);

// The options as the environment has them: DOCKER_HOST and ATOLL_DOCKER_IMAGE, for example.
EngineDriverOptions options_from_environment(const Dialect& dialect);
// Where an engine listens that nobody has named.
std::string usual_socket(const Dialect& dialect);
// "" = kPullPatience. Code::invalid_argument for what is no time.
Result<Millis> parse_pull_patience(const std::string& text);

}  // namespace atl::container
