// Netlink is allowed, because programs ask it for interfaces; it must not change any, nor tell of
// the host's sockets.
#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

// lo gets the flags that it has.
ATTACK(netlink_link, .title = "change a network interface", .user = User::root,
       .stopped_by = Layer::capabilities | Layer::user_namespace, .rootless = Layer::capabilities) {
  const int made = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (made < 0) return denied("socket(AF_NETLINK)");
  struct {
    nlmsghdr head;
    ifinfomsg link;
  } wish{};
  wish.head = {.nlmsg_len = sizeof wish,
               .nlmsg_type = RTM_NEWLINK,
               .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK};
  wish.link = {.ifi_family = AF_UNSPEC, .ifi_index = 1};
  if (send(made, &wish, sizeof wish, 0) < 0) return denied("send");
  struct {
    nlmsghdr head;
    nlmsgerr error;
    char rest[512];
  } answer{};
  if (recv(made, &answer, sizeof answer, 0) < 0) return denied("recv");
  if (answer.error.error != 0) return denied(-answer.error.error, "RTM_NEWLINK");
  return reached("RTM_NEWLINK on lo");
}

ATTACK(
    netlink_sockets, .title = "list the sockets of the host",
    .stopped_by = Layer::network_namespace | Layer::seccomp, .missing = [] {
      return missing_socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG, "sock_diag");
    }) {
  const int made = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (made < 0) return denied("socket(AF_NETLINK)");
  struct {
    nlmsghdr head;
    inet_diag_req_v2 request;
  } wish{};
  wish.head = {.nlmsg_len = sizeof wish,
               .nlmsg_type = SOCK_DIAG_BY_FAMILY,
               .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP};
  wish.request.sdiag_family = AF_INET;
  wish.request.sdiag_protocol = IPPROTO_TCP;
  wish.request.idiag_states = 1U << 10;  // listening
  if (send(made, &wish, sizeof wish, 0) < 0) return denied("send");
  const auto port = htons(static_cast<uint16_t>(told_number("VICTIM_TCP")));
  alignas(nlmsghdr) char buffer[32 << 10];
  for (int round = 0; round < 64; ++round) {
    pollfd answered{made, POLLIN, 0};
    if (poll(&answered, 1, 2'000) != 1) return denied(ETIMEDOUT, "no answer");
    auto left = static_cast<unsigned>(recv(made, buffer, sizeof buffer, 0));
    for (auto* head = reinterpret_cast<nlmsghdr*>(buffer); NLMSG_OK(head, left);
         head = NLMSG_NEXT(head, left)) {
      if (head->nlmsg_type == NLMSG_ERROR) {
        return denied(-static_cast<nlmsgerr*>(NLMSG_DATA(head))->error, "sock_diag");
      }
      if (head->nlmsg_type == NLMSG_DONE) return denied(ENOENT, "the victim's port is not listed");
      const auto* one = static_cast<const inet_diag_msg*>(NLMSG_DATA(head));
      if (one->id.idiag_sport == port) return reached("the victim's port is listed");
    }
  }
  return denied(EOVERFLOW, "too many sockets");
}
