// A driver whose sandboxes are containers of a local engine that speaks the Docker Engine API: what
// `docker` and `podman` have in common.
//
// The engine must run on this host: it is given paths of ours, our agent's program and a directory
// with a socket. Containers are found again by their labels, and nothing else of the engine's is
// touched.
#pragma once

#include <memory>
#include <string>

#include "container/dialect.h"
#include "driver/driver.h"

namespace atl::container {

struct EngineDriverOptions {
  std::string host;           // "unix:///run/x.sock" or a path; "" = where the engine usually is
  std::string image;          // "" = kUsualImage
  std::string directory;      // ours; made if missing. "" = this program can make no containers
  std::string agent;          // the program
  bool ends_with_us = false;  // sandboxes do not outlive this process
};

constexpr const char* kUsualImage = "debian:stable-slim";

// Never fails: whether the engine answers is what probe() tells.
std::unique_ptr<Driver> make_engine_driver(asio::any_io_executor executor, const Dialect& dialect,
                                           EngineDriverOptions options);

// The options as the environment has them: DOCKER_HOST and ATOLL_DOCKER_IMAGE, for example.
EngineDriverOptions options_from_environment(const Dialect& dialect);

}  // namespace atl::container
