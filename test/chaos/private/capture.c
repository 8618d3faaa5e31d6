/*
 * Writes down every frame that comes in on an interface: `capture <interface> <file>`. A record is
 * the length of the frame in four bytes, little-endian, and the frame. One line on standard output
 * says that it has begun. At SIGTERM it reads the waiting frames, prints how many frames the kernel
 * dropped, and ends.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static volatile sig_atomic_t over = 0;
static void end(int signal_number) {
  (void)signal_number;
  over = 1;
}

int main(int count, char **args) {
  static unsigned char frame[1 << 18];
  if (count != 3) return 2;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  struct sigaction action = {.sa_handler = end};
  sigaction(SIGTERM, &action, NULL);
  int from = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
  FILE *to = fopen(args[2], "wb");
  if (from < 0 || to == NULL) return perror("capture"), 1;
  struct sockaddr_ll where = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
  where.sll_ifindex = (int)if_nametoindex(args[1]);
  if (bind(from, (struct sockaddr *)&where, sizeof where) < 0) return perror("bind"), 1;
  int room = 64 << 20;
  setsockopt(from, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
  setsockopt(from, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
  puts("capturing");
  fflush(stdout);
  for (;;) {
    struct pollfd wait = {.fd = from, .events = POLLIN};
    int last = over;
    if (poll(&wait, 1, last ? 0 : 50) <= 0) {
      if (last) break;
      continue;
    }
    struct sockaddr_ll of;
    socklen_t size = sizeof of;
    ssize_t got = recvfrom(from, frame, sizeof frame, 0, (struct sockaddr *)&of, &size);
    if (got < 0 && (errno == EINTR || errno == ENETDOWN)) continue;
    if (got < 0) return perror("recvfrom"), 1;
    if (of.sll_pkttype == PACKET_OUTGOING) continue;
    uint32_t length = (uint32_t)got;
    if (fwrite(&length, 4, 1, to) != 1 || fwrite(frame, length, 1, to) != 1) return 1;
    fflush(to);
  }
  struct tpacket_stats counts = {0};
  socklen_t size = sizeof counts;
  getsockopt(from, SOL_PACKET, PACKET_STATISTICS, &counts, &size);
  printf("%u dropped\n", counts.tp_drops);
  return 0;
}
