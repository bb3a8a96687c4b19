#include "worker/wrapper/enclosure.hpp"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace cupel::wrapper {

namespace {

struct Text {
  char* bytes;
  size_t capacity;
  size_t length = 0;
  bool found = false;

  __attribute__((format(printf, 2, 3))) void add(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int count = vsnprintf(bytes + length, capacity - length, format, arguments);
    va_end(arguments);
    if (count > 0) length += static_cast<size_t>(count);
    if (length >= capacity) length = capacity - 1;
  }
  void find(const char* what, const char* which) {
    add("%s%s:%s", found ? "," : "", what, which);
    found = true;
  }
};

/// Calls with every line of a file of the kernel.
template <typename Take>
void each_line(const char* path, Take take) {
  FILE* const file = fopen(path, "re");
  if (file == nullptr) return;
  char line[512];
  while (fgets(line, sizeof(line), file) != nullptr) take(line);
  fclose(file);
}

bool is_up(int fd, const char* name) {
  ifreq request{};
  strncpy(request.ifr_name, name, sizeof(request.ifr_name) - 1);
  // One that can't be asked for counts as up.
  return ioctl(fd, SIOCGIFFLAGS, &request) != 0 || (request.ifr_flags & IFF_UP) != 0;
}

/// Kernels put tunnel devices into every namespace; without a capability nobody gets them up.
void find_interfaces(Text& text) {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  each_line("/proc/net/dev", [&](char* line) {
    char* const colon = strchr(line, ':');
    if (colon == nullptr) return;
    *colon = 0;
    const char* const name = line + strspn(line, " ");
    if (strcmp(name, "lo") != 0 && is_up(fd, name)) text.find("interface", name);
  });
  if (fd >= 0) close(fd);
}

void find_routes(Text& text) {
  each_line("/proc/net/route", [&](char* line) {
    char* const end = line + strcspn(line, " \t\n");
    *end = 0;
    if (strcmp(line, "Iface") != 0 && strcmp(line, "lo") != 0) text.find("route", line);
  });
  each_line("/proc/net/if_inet6", [&](char* line) {
    char name[64] = {};
    if (sscanf(line, "%*s %*s %*s %*s %*s %63s", name) == 1 && strcmp(name, "lo") != 0)
      text.find("ipv6", name);
  });
}

struct Destination {
  int family;
  int type;
  const char* address;
  unsigned port;
};

// A TCP segment or nothing leaves where a route is, so the addresses are of documentation, of
// nobody's neighbours, or of those that must never be asked: metadata services, and the usual
// addresses of engines' bridges and virtual machines.
constexpr Destination kDestinations[] = {
    {AF_INET, SOCK_STREAM, "192.0.2.1", 443},      {AF_INET, SOCK_DGRAM, "192.0.2.1", 53},
    {AF_INET, SOCK_STREAM, "169.254.169.254", 80}, {AF_INET, SOCK_STREAM, "172.17.0.1", 22},
    {AF_INET, SOCK_STREAM, "192.168.65.1", 22},    {AF_INET, SOCK_DGRAM, "10.0.2.3", 53},
    {AF_INET6, SOCK_STREAM, "2001:db8::1", 443},   {AF_INET6, SOCK_DGRAM, "2001:db8::1", 53},
    {AF_INET6, SOCK_STREAM, "fd00:ec2::254", 80},
};

/// True unless the kernel says at once that it has no way there.
bool has_way(const Destination& to) {
  const int fd = socket(to.family, to.type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno != EAFNOSUPPORT;
  sockaddr_in6 v6{};
  sockaddr_in v4{};
  const sockaddr* address = reinterpret_cast<const sockaddr*>(&v4);
  socklen_t size = sizeof(v4);
  if (to.family == AF_INET) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<uint16_t>(to.port));
    inet_pton(AF_INET, to.address, &v4.sin_addr);
  } else {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(static_cast<uint16_t>(to.port));
    inet_pton(AF_INET6, to.address, &v6.sin6_addr);
    address = reinterpret_cast<const sockaddr*>(&v6);
    size = sizeof(v6);
  }
  const bool connected = connect(fd, address, size) == 0;
  const bool no_way = !connected && (errno == ENETUNREACH || errno == EADDRNOTAVAIL);
  close(fd);
  return !no_way;
}

void find_ways(Text& text) {
  for (const Destination& to : kDestinations) {
    if (has_way(to)) text.find(to.type == SOCK_STREAM ? "tcp" : "udp", to.address);
  }
}

}  // namespace

size_t describe_enclosure(unsigned port, char* bytes, size_t capacity) {
  char link[64] = {};
  if (readlink("/proc/self/ns/net", link, sizeof(link) - 1) <= 0) strcpy(link, "unknown");
  Text text{bytes, capacity};
  text.add("port=%u net=%s found=", port, link);
  find_interfaces(text);
  find_routes(text);
  find_ways(text);
  if (!text.found) text.add("-");
  return text.length;
}

}  // namespace cupel::wrapper
