#include "native/launched_sandbox.h"

#include "native/plan.h"
#include "net/byte_stream.h"

namespace atl::native {

LaunchedSandbox::LaunchedSandbox(asio::any_io_executor executor, LauncherClient& launcher,
                                 std::string id, Around around, std::shared_ptr<LiveSet> live,
                                 net::StreamPtr first)
    : executor_(executor),
      launcher_(launcher),
      id_(std::move(id)),
      around_(around),
      live_(std::move(live)),
      first_(std::move(first)),
      guest_(
          executor, [this] { return open_stream(); },
          around == Around::second_kernel ? guest::Direct::without_position : guest::Direct::any) {}

Task<> LaunchedSandbox::pause() {
  if (around_ == Around::nothing) co_return co_await Sandbox::pause();
  co_return co_await launcher_.pause(id_);
}

Task<> LaunchedSandbox::resume() {
  if (around_ == Around::nothing) co_return co_await Sandbox::resume();
  co_return co_await launcher_.resume(id_);
}

Task<> LaunchedSandbox::resize(Resources resources) {
  // What bounds memory in a second kernel was told to each command when it began.
  if (around_ != Around::box) co_return co_await Sandbox::resize(resources);
  if (resources.disk_mb) {
    co_return Error(Code::unsupported, "the disk of a running sandbox cannot be resized");
  }
  ResizeRequest request{id_, limits_of(resources)};
  if (request.limits.memory_bytes > 0 && request.limits.memory_bytes < kSmallestMemory) {
    co_return Error(Code::invalid_argument, "a sandbox needs at least 8 MiB of memory");
  }
  co_return co_await launcher_.resize(std::move(request));
}

Task<> LaunchedSandbox::renew(Micros expires_at) {
  RenewRequest request{id_, static_cast<uint64_t>(expires_at.count())};
  CO_TRY_OK(co_await launcher_.renew(std::move(request)));
  if (is_running()) (*live_)[id_] = expires_at;
  co_return Result<>();
}

Task<> LaunchedSandbox::destroy() {
  live_->erase(id_);
  // Asked first, closed afterwards: an agent that ends with its connection must not look as if it
  // had died.
  auto destroyed = co_await launcher_.destroy(id_);
  guest_.close();
  co_return destroyed;
}

Task<net::StreamPtr> LaunchedSandbox::open_stream() {
  if (first_) co_return std::move(first_);
  if (!is_running()) co_return Error(Code::unavailable, "sandbox " + id_ + " has ended");
  CO_TRY(auto socket, co_await launcher_.connect(id_));
  co_return net::adopt_socket(executor_, std::move(socket));
}

CgroupLimits limits_of(const Resources& resources) {
  CgroupLimits limits;
  if (resources.memory_mb) limits.memory_bytes = static_cast<uint64_t>(*resources.memory_mb) << 20;
  if (resources.cpu) limits.cpu_millis = static_cast<uint32_t>(*resources.cpu * 1000);
  if (resources.cpu_weight) limits.cpu_weight = static_cast<uint32_t>(*resources.cpu_weight);
  if (resources.sharing == Sharing::dedicated) limits.reserved_memory_bytes = limits.memory_bytes;
  if (resources.pids) limits.pids = static_cast<uint64_t>(*resources.pids);
  return limits;
}

}  // namespace atl::native
