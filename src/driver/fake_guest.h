// The guest of a fake sandbox: a file tree and a handful of commands, in memory. Part of
// fake_driver.
#pragma once

#include <memory>

#include "driver/fake_driver.h"

namespace atl {

std::unique_ptr<Guest> make_fake_guest(std::shared_ptr<FakeBox> box);

}  // namespace atl
