// The socket calls that scripts make, on whatever TCP runs the script.
#include "conformance/script/socket_calls.hpp"

namespace lockstep::conformance::script {

ssize_t SocketCalls::read(int fd, void* data, std::size_t size) { return recv(fd, data, size, 0); }

ssize_t SocketCalls::readv(int fd, const iovec* parts, int count) {
  msghdr message{nullptr, 0, const_cast<iovec*>(parts), static_cast<std::size_t>(count), nullptr,
                 0,       0};
  return recvmsg(fd, &message, 0);
}

ssize_t SocketCalls::recv(int fd, void* data, std::size_t size, int flags) {
  return recvfrom(fd, data, size, flags, nullptr, nullptr);
}

ssize_t SocketCalls::recvfrom(int fd, void* data, std::size_t size, int flags, sockaddr*,
                              socklen_t* length) {
  iovec part{data, size};
  msghdr message{nullptr, 0, &part, 1, nullptr, 0, 0};
  if (length != nullptr) {
    *length = 0;  // on a connection no address is returned
  }
  return recvmsg(fd, &message, flags);
}

ssize_t SocketCalls::write(int fd, const void* data, std::size_t size) {
  return send(fd, data, size, 0);
}

ssize_t SocketCalls::writev(int fd, const iovec* parts, int count) {
  const msghdr message{
      nullptr, 0, const_cast<iovec*>(parts), static_cast<std::size_t>(count), nullptr, 0, 0};
  return sendmsg(fd, &message, 0);
}

ssize_t SocketCalls::send(int fd, const void* data, std::size_t size, int flags) {
  return sendto(fd, data, size, flags, nullptr, 0);
}

ssize_t SocketCalls::sendto(int fd, const void* data, std::size_t size, int flags,
                            const sockaddr* name, socklen_t length) {
  iovec part{const_cast<void*>(data), size};
  const msghdr message{const_cast<sockaddr*>(name), length, &part, 1, nullptr, 0, 0};
  return sendmsg(fd, &message, flags);
}

int StackCalls::socket(int domain, int type, int protocol) {
  return lockstep_socket(s_, domain, type, protocol);
}
int StackCalls::bind(int fd, const sockaddr* name, socklen_t length) {
  return lockstep_bind(s_, fd, name, length);
}
int StackCalls::listen(int fd, int backlog) { return lockstep_listen(s_, fd, backlog); }
int StackCalls::accept4(int fd, sockaddr* name, socklen_t* length, int flags) {
  return lockstep_accept4(s_, fd, name, length, flags);
}
int StackCalls::connect(int fd, const sockaddr* name, socklen_t length) {
  return lockstep_connect(s_, fd, name, length);
}
int StackCalls::shutdown(int fd, int how) { return lockstep_shutdown(s_, fd, how); }
int StackCalls::close(int fd) { return lockstep_close(s_, fd); }
int StackCalls::getsockname(int fd, sockaddr* name, socklen_t* length) {
  return lockstep_getsockname(s_, fd, name, length);
}
int StackCalls::getpeername(int fd, sockaddr* name, socklen_t* length) {
  return lockstep_getpeername(s_, fd, name, length);
}
ssize_t StackCalls::recvmsg(int fd, msghdr* message, int flags) {
  return lockstep_recvmsg(s_, fd, message, flags);
}
ssize_t StackCalls::sendmsg(int fd, const msghdr* message, int flags) {
  return lockstep_sendmsg(s_, fd, message, flags);
}
ssize_t StackCalls::read(int fd, void* data, std::size_t size) {
  return lockstep_read(s_, fd, data, size);
}
ssize_t StackCalls::readv(int fd, const iovec* parts, int count) {
  return lockstep_readv(s_, fd, parts, count);
}
ssize_t StackCalls::recv(int fd, void* data, std::size_t size, int flags) {
  return lockstep_recv(s_, fd, data, size, flags);
}
ssize_t StackCalls::recvfrom(int fd, void* data, std::size_t size, int flags, sockaddr* name,
                             socklen_t* length) {
  return lockstep_recvfrom(s_, fd, data, size, flags, name, length);
}
ssize_t StackCalls::write(int fd, const void* data, std::size_t size) {
  return lockstep_write(s_, fd, data, size);
}
ssize_t StackCalls::writev(int fd, const iovec* parts, int count) {
  return lockstep_writev(s_, fd, parts, count);
}
ssize_t StackCalls::send(int fd, const void* data, std::size_t size, int flags) {
  return lockstep_send(s_, fd, data, size, flags);
}
ssize_t StackCalls::sendto(int fd, const void* data, std::size_t size, int flags,
                           const sockaddr* name, socklen_t length) {
  return lockstep_sendto(s_, fd, data, size, flags, name, length);
}
int StackCalls::getsockopt(int fd, int level, int name, void* value, socklen_t* length) {
  return lockstep_getsockopt(s_, fd, level, name, value, length);
}
int StackCalls::setsockopt(int fd, int level, int name, const void* value, socklen_t length) {
  return lockstep_setsockopt(s_, fd, level, name, value, length);
}
int StackCalls::fcntl(int fd, int command, int argument) {
  return lockstep_fcntl(s_, fd, command, argument);
}
int StackCalls::ioctl(int fd, unsigned long request, void* argument) {
  return lockstep_ioctl(s_, fd, request, argument);
}
int StackCalls::poll(pollfd* entries, std::size_t count) {
  return lockstep_poll(s_, entries, count);
}
int StackCalls::epoll_create(int size) { return lockstep_epoll_create(s_, size); }
int StackCalls::epoll_create1(int flags) { return lockstep_epoll_create1(s_, flags); }
int StackCalls::epoll_ctl(int epoll, int operation, int fd, epoll_event* event) {
  return lockstep_epoll_ctl(s_, epoll, operation, fd, event);
}
int StackCalls::epoll_wait(int epoll, epoll_event* events, int most) {
  return lockstep_epoll_wait(s_, epoll, events, most);
}

}  // namespace lockstep::conformance::script
