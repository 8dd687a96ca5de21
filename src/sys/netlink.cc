#include "sys/netlink.h"

#include <arpa/inet.h>
#include <endian.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cstring>

#include "base/unique_fd.h"

namespace glovebox::sys {
namespace {

constexpr int kAnswerTimeoutMs = 5000;

void append(std::string& to, const void* value, std::size_t size) {
  to.append(static_cast<const char*>(value), size);
  to.resize((to.size() + 3) & ~std::size_t{3});
}

}  // namespace

void NetlinkAttributes::bytes(std::uint16_t type, const void* value, std::size_t size) {
  const nlattr head{static_cast<std::uint16_t>(sizeof(nlattr) + size), type};
  append(data_, &head, sizeof head);
  append(data_, value, size);
}

void NetlinkAttributes::text(std::uint16_t type, std::string_view value) {
  const std::string ended(value);
  bytes(type, ended.c_str(), ended.size() + 1);
}

void NetlinkAttributes::be32(std::uint16_t type, std::uint32_t value) {
  const std::uint32_t number = htonl(value);
  bytes(type, &number, sizeof number);
}

void NetlinkAttributes::be64(std::uint16_t type, std::uint64_t value) {
  const std::uint64_t number = htobe64(value);
  bytes(type, &number, sizeof number);
}

void NetlinkAttributes::nested(std::uint16_t type, const NetlinkAttributes& inner) {
  bytes(type | NLA_F_NESTED, inner.data_.data(), inner.data_.size());
}

void NetlinkBatch::add(std::uint16_t type, std::uint16_t flags, const void* head,
                       std::size_t head_size, const NetlinkAttributes& attributes) {
  nlmsghdr header{};
  header.nlmsg_len = static_cast<std::uint32_t>(
      sizeof header + ((head_size + 3) & ~std::size_t{3}) + attributes.data().size());
  header.nlmsg_type = type;
  header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
  header.nlmsg_seq = ++sequence_;
  last_ = messages_.size();
  append(messages_, &header, sizeof header);
  append(messages_, head, head_size);
  messages_ += attributes.data();
}

void NetlinkBatch::want_answer() {
  nlmsghdr header{};
  std::memcpy(&header, messages_.data() + last_, sizeof header);
  header.nlmsg_flags |= NLM_F_ACK;
  std::memcpy(messages_.data() + last_, &header, sizeof header);
  awaited_ = sequence_;
}

Result<> NetlinkBatch::send(int protocol, const char* what) {
  const UniqueFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol));
  if (!socket) return fail(Error::from_errno(what));
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  if (::sendto(socket.get(), messages_.data(), messages_.size(), 0,
               reinterpret_cast<const sockaddr*>(&kernel), sizeof kernel) < 0) {
    return fail(Error::from_errno(what));
  }
  alignas(nlmsghdr) std::array<char, 8192> buffer;
  while (true) {
    pollfd event{socket.get(), POLLIN, 0};
    if (::poll(&event, 1, kAnswerTimeoutMs) != 1) {
      return fail(Errc::kTimeout, std::string(what) + ": the kernel did not answer in time");
    }
    const ssize_t got = ::recv(socket.get(), buffer.data(), buffer.size(), 0);
    if (got < 0) return fail(Error::from_errno(what));
    auto left = static_cast<unsigned>(got);
    const auto* header = reinterpret_cast<const nlmsghdr*>(buffer.data());
    for (; NLMSG_OK(header, left); header = NLMSG_NEXT(header, left)) {
      if (header->nlmsg_type != NLMSG_ERROR) continue;
      nlmsgerr answer{};
      std::memcpy(&answer, NLMSG_DATA(header), sizeof answer);
      if (answer.error != 0) return fail(Error::from_errno(what, -answer.error));
      if (header->nlmsg_seq == awaited_) return {};
    }
  }
}

}  // namespace glovebox::sys
