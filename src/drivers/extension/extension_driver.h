// A driver that lives outside of our tree: a program of somebody else's that the operator has
// started, reached on its Unix socket (docs/extensions.md).
//
// It makes a place to run in, starts our agent there, and carries its bytes; all else is done here,
// as for every other driver. Its death fails calls to its own sandboxes and nothing else; when it
// is back, what it lists is taken up.
#pragma once

#include <memory>
#include <string>

#include "driver/driver.h"
#include "drivers/extension/grants.h"

namespace atl::extension {

struct ExtensionOptions {
  Grant grant;
  std::string identity;       // the file, see identity.h; "" = this program can make no sandboxes
  std::string agent;          // atoll-agent, which the extension puts into its sandboxes
  bool ends_with_us = false;  // sandboxes do not outlive this process
};

// Never fails: whether the extension answers is what probe() tells.
std::unique_ptr<Driver> make_extension_driver(asio::any_io_executor executor,
                                              ExtensionOptions options);

}  // namespace atl::extension
