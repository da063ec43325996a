// Gatekeeper::keep: the sandbox as it is now, memory and files, into a directory of the caller's.
//
// runsc lets no sandbox go on whose memory it has written, so what goes on afterwards is the image,
// in the same box. Between the two nothing runs, and files are packed as memory knows them. Nor
// does one go on whose memory it fails to write: what is known to make it fail is looked for first,
// while everything stands still. None of this waits for the caller, who may die meanwhile.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/bytes.h"
#include "native/agent_places.h"
#include "native/keeper_call.h"
#include "native/oci/box_files.h"
#include "native/oci/gate.h"
#include "native/oci/gatekeeper.h"
#include "os/socket.h"

namespace atl::native {
namespace {

constexpr auto kRestPatience = std::chrono::seconds(10);

// The directory that came with the call; the token says that it is the launcher's client who calls.
Result<Fd> take_call(int socket, const std::string& token) {
  std::array<char, kTokenBytes> preface;
  TRY(const auto first, os::receive_some(socket, preface));
  if (first.bytes != preface.size() || std::string_view(preface.data(), preface.size()) != token)
    return Error(Code::unauthenticated, "a wrong token");
  std::array<char, guest::kFrameHeader> call;
  TRY(auto received, os::receive_some(socket, call));
  if (received.bytes != call.size() || received.descriptors.size() != 1)
    return Error(Code::invalid_argument, "there is no place to keep the sandbox in");
  received.descriptors[0].move_up(kRuntimeAside);
  return std::move(received.descriptors[0]);
}

}  // namespace

void Gatekeeper::on_keep(const Fd& caller) {
  const auto image = take_call(caller.get(), token_);
  auto kept = image ? keep(image->get()) : Result<uint64_t>(image.error());
  if (!kept) return answer_keeper_call(caller.get(), std::move(kept).error());
  ByteWriter writer;
  writer.u64(*kept);
  answer_keeper_call(caller.get(), std::move(writer).bytes());
}

Result<uint64_t> Gatekeeper::keep(int image) {
  TRY_OK(check_can_be_kept(facts_));
  poller_.remove(gate_.get());
  auto saved = make_agent_rest();
  if (saved) saved = save(image);
  if (saved) {
    auto packed = pack_box_files(image);
    TRY_OK(go_on(image));
    return packed;
  }
  if (ended_) return std::move(saved).error().with("the sandbox could not be kept, and has ended");
  TRY_OK(wake_agent());
  return std::move(saved).error();
}

Result<> Gatekeeper::make_agent_rest() {
  TRY_OK(os::send_some(gate_.get(), kRestWord));
  return wait_for_word(system_clock().boot() + kRestPatience);
}

Result<> Gatekeeper::save(int image) {
  TRY_OK(order_runtime(groups_, RuntimeOrder::pause));
  auto saved = check_open_files();
  if (saved) saved = order_runtime(groups_, RuntimeOrder::keep, image);
  const bool is_touched = faccessat(image, kImageFile, F_OK, 0) == 0;
  if (!saved && !is_touched) {
    TRY_OK(order_runtime(groups_, RuntimeOrder::resume));
    return saved;
  }
  poller_.remove(runtime_.messages.get());
  ended_ = true;  // unless it goes on from the image
  TRY_OK(end_runtime(signals_));
  return saved;
}

Result<> Gatekeeper::go_on(int image) {
  TRY_OK(start(image));
  poller_.remove(gate_.get());
  TRY_OK(wait_for_word(system_clock().boot() + kTakeUpPatience));
  ended_ = false;
  return poller_.add(gate_.get(), EPOLLIN, [this](uint32_t) { on_gate(); });
}

// It rests, but nothing has become of it: everything stays as it was.
Result<> Gatekeeper::wake_agent() {
  TRY_OK(hand_in());
  TRY_OK(wait_for_word(system_clock().boot() + kRestPatience));
  return poller_.add(gate_.get(), EPOLLIN, [this](uint32_t) { on_gate(); });
}

Result<> Gatekeeper::wait_for_word(Micros deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<Millis>(deadline - system_clock().boot());
    pollfd wait{gate_.get(), POLLIN, 0};
    const int ready = left.count() > 0 ? poll(&wait, 1, static_cast<int>(left.count())) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return Error(Code::deadline_exceeded, "the agent does not answer at its gate");
    std::array<char, 16> word;
    const auto received = os::receive_some(gate_.get(), word);
    if (!received && received.error().os_errno() == EAGAIN) continue;
    if (received && received->bytes > 0) return {};
    on_messages();
    return Error(Code::unavailable, "the sandbox could not go on: " + what_was_said());
  }
}

}  // namespace atl::native
