// Shared memory and queues of the host: SysV and message queues belong to the ipc namespace, POSIX
// shared memory is a file in /dev/shm. To Landlock a message queue is a file outside every rule.
#include <fcntl.h>
#include <mqueue.h>
#include <sys/shm.h>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

ATTACK(sysv_memory, .title = "attach SysV shared memory of the host", .dossier = 42,
       .stopped_by = Layer::ipc_namespace) {
  const int segment = shmget(static_cast<key_t>(told_number("VICTIM_SHM_KEY")), 0, 0);
  if (segment < 0) return denied("shmget");
  const void* memory = shmat(segment, nullptr, SHM_RDONLY);
  if (memory == reinterpret_cast<void*>(-1)) return denied("shmat");  // NOLINT
  const std::string text(static_cast<const char*>(memory));
  shmdt(memory);
  if (text != canary()) return denied(ENOENT, "that is another segment");
  return reached("the victim's segment");
}

ATTACK(message_queue, .title = "read a POSIX message queue of the host", .dossier = 42,
       .stopped_by = Layer::ipc_namespace | Layer::landlock) {
  const mqd_t queue = mq_open(told("VICTIM_QUEUE").c_str(), O_RDWR | O_NONBLOCK);
  if (queue < 0) return denied("mq_open");
  char text[256] = {};
  if (mq_receive(queue, text, sizeof text, nullptr) < 0) return denied("mq_receive");
  // Put back for who comes next.
  mq_send(queue, text, canary().size(), 0);
  if (text != canary()) return denied(ENOENT, "that is another queue");
  return reached("the victim's queue");
}

ATTACK(posix_memory, .title = "open POSIX shared memory of the host", .dossier = 42,
       .stopped_by = Layer::root) {
  const auto text = read_all(told("VICTIM_SHM_FILE"));
  if (text != canary()) return denied("open it");
  return reached("the victim's shared memory");
}
