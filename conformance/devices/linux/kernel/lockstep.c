// SPDX-License-Identifier: GPL-2.0-only
// Linux as a device: packets and socket calls pass over one descriptor, and time passes only when
// the other end says so. It becomes arch/um/kernel/lockstep.c of a kernel for the architecture um.
//
// A message is a header and octets. In virtual time a kernel with time-travel=inf-cpu jumps from
// one event to the next whenever it is idle. lockstep_idle() stands before that jump: it writes
// what was put out since, and blocks until it is told how far time may go, or what happens now.
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/if_arp.h>
#include <linux/init.h>
#include <linux/init_syscalls.h>
#include <linux/kernel.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/socket.h>
#include <linux/time-internal.h>
#include <linux/wait.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/netlink.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <os.h>

// What the kernel tells: that it is idle (a: its next event), a packet (a: size of its segments,
// b: the kind of its checksum, c: the interface), the result of a call (a). A fork, and a command
// that is refused (a: -errno), have only a result: the kernel waits for the next command at once.
enum { tells_idle = 1, tells_packet, tells_result };
// What it is told: to run until a time or its first output; that a packet arrives (a: the
// interface); a call (a: which); to fork, with the path of a socket to which the child connects; to
// end.
enum { told_run = 1, told_packet, told_call, told_fork, told_end };
// Calls. For those on a socket, b is the socket; c and d are the call's arguments.
enum {
  call_socket = 1,  // b family, c type, d protocol
  call_bind,
  call_listen,  // c backlog
  call_accept,
  call_connect,
  call_send,      // c flags
  call_receive,   // c flags, d most octets
  call_shutdown,  // c how
  call_close,
  call_set,                // c level, d name
  call_get,                // c level, d name; octets: room
  call_poll,               // the result: the events of poll()
  call_sysctl,             // octets: name, 0, value, 0
  call_netlink,            // octets: one request to rtnetlink
  call_read_sysctl = 16,   // octets: name, 0
  call_send_message = 18,  // c flags, d octets of control messages, which stand first
  call_receive_message,  // c flags, d most octets; octets of the result: the length of the control
                         // messages (u32), the flags (u32), control messages, data
};

struct lockstep_header {
  u32 length;  // of the whole message
  u32 kind;
  u64 at;  // virtual nanoseconds
  s64 a, b, c, d;
};

// Those of lockstep_host.c, and the hooks that lockstep.patch calls.
int lockstep_host_fork(const char* path, int channel, int memory);
void lockstep_host_end(int code) __noreturn;
int lockstep_physmem(void);
unsigned long long lockstep_now(void);
void lockstep_idle(unsigned long long next);
void lockstep_serve(void);

// Commands are executed one after the other: no lock protects what follows. lockstep_put() alone is
// also called where interrupts are on.
enum { command_room = 70000, output_room = 1 << 18, message_room = 66000, links_most = 8 };
bool lockstep_active;
static int channel = -1;
static int links = 1;
static struct net_device* interfaces[links_most];
static u8 input[command_room];
static const struct lockstep_header* const command = (const void*)input;
static u8 output[output_room];
static u32 output_length;
static unsigned long long run_until;
static struct time_travel_event event;
// A call has a copy of its own: it may sleep in virtual time, and other commands come meanwhile.
static u8 call_copy[command_room];
static bool call_waits, call_runs;
static DECLARE_WAIT_QUEUE_HEAD(caller);

static int __init set_channel(char* text) { return kstrtoint(text, 0, &channel) == 0; }
__setup("lockstep=", set_channel);

static int __init set_links(char* text) {
  return kstrtoint(text, 0, &links) == 0 && links >= 1 && links <= links_most;
}
__setup("lockstep_links=", set_links);

static void write_all(const void* from, u32 length) {
  while (length != 0) {
    int const done = os_write_file(channel, from, length);
    if (done == -EINTR) {
      continue;
    }
    if (done <= 0) {
      lockstep_host_end(2);
    }
    from += done;
    length -= done;
  }
}

static void read_all(void* to, u32 length) {
  while (length != 0) {
    int const done = os_read_file(channel, to, length);
    if (done == -EINTR) {
      continue;
    }
    if (done <= 0) {
      lockstep_host_end(1);
    }
    to += done;
    length -= done;
  }
}

static void flush(void) {
  if (output_length != 0) {
    write_all(output, output_length);
  }
  output_length = 0;
}

static void put(u32 kind, s64 a, s64 b, s64 c, const void* octets, u32 length) {
  struct lockstep_header const header = {.length = sizeof(header) + length,
                                         .kind = kind,
                                         .at = lockstep_now(),
                                         .a = a,
                                         .b = b,
                                         .c = c};
  unsigned long flags;

  local_irq_save(flags);
  if (output_length + header.length > sizeof(output)) {
    flush();
  }
  memcpy(output + output_length, &header, sizeof(header));
  if (length != 0) {
    memcpy(output + output_length + sizeof(header), octets, length);
  }
  output_length += header.length;
  local_irq_restore(flags);
}

// ---- what happens in virtual time ----

static void packet_arrives(void) {
  u32 const length = command->length - sizeof(*command);
  struct net_device* const at = interfaces[command->a];
  struct sk_buff* const packet = netdev_alloc_skb(at, length);

  if (!packet) {
    return;
  }
  skb_put_data(packet, input + sizeof(*command), length);
  packet->protocol = htons((packet->data[0] >> 4) == 6 ? ETH_P_IPV6 : ETH_P_IP);
  skb_reset_mac_header(packet);
  netif_rx(packet);
}

static void on_command(struct time_travel_event* unused) {
  if (command->kind == told_packet) {
    packet_arrives();
    return;
  }
  memcpy(call_copy, input, command->length);
  call_waits = true;
  call_runs = true;
  wake_up(&caller);
}

static void on_time(struct time_travel_event* unused) {}

static void schedule_at(unsigned long long at, void (*what)(struct time_travel_event*)) {
  time_travel_set_event_fn(&event, what);
  time_travel_add_event_rel(&event, at - lockstep_now());
}

// Why the command cannot be executed, as -errno; 0 if it can.
static int fault_of_command(unsigned long long next) {
  if (command->kind == told_fork || command->kind == told_end) {
    return 0;
  }
  if (command->kind < told_run || command->kind > told_call) {
    return -EINVAL;
  }
  if (command->at < lockstep_now()) {
    return -ERANGE;
  }
  if (command->kind != told_run && command->at > next) {
    return -ERANGE;
  }
  if (command->kind == told_packet &&
      (command->a < 0 || command->a >= links || command->length == sizeof(*command))) {
    return -EINVAL;
  }
  return command->kind == told_call && call_runs ? -EBUSY : 0;
}

// Reads the next command; longer ones than there is room for end the kernel.
static void read_command(void) {
  read_all(input, sizeof(*command));
  if (command->length < sizeof(*command) || command->length > sizeof(input)) {
    lockstep_host_end(4);
  }
  read_all(input + sizeof(*command), command->length - sizeof(*command));
}

// The idle loop calls it, with interrupts off, before it jumps to its next event, at `next`.
void lockstep_idle(unsigned long long next) {
  if (!lockstep_active || event.pending) {
    return;
  }
  if (run_until != 0 && output_length == 0) {
    if (next <= run_until) {
      return;
    }
    if (lockstep_now() < run_until) {
      schedule_at(run_until, on_time);
      return;
    }
  }
  run_until = 0;
  put(tells_idle, next, 0, 0, NULL, 0);
  for (;;) {
    int fault;

    flush();
    read_command();
    fault = fault_of_command(next);
    if (fault != 0) {
      put(tells_result, fault, 0, 0, NULL, 0);
    } else if (command->kind == told_run) {
      run_until = command->at;
      if (command->at < next) {
        schedule_at(command->at, on_time);
      }
      return;
    } else if (command->kind == told_fork) {
      input[sizeof(input) - 1] = 0;
      put(tells_result,
          lockstep_host_fork((const char*)input + sizeof(*command), channel, lockstep_physmem()), 0,
          0, NULL, 0);
    } else if (command->kind == told_end) {
      lockstep_host_end(0);
    } else {
      schedule_at(command->at, on_command);
      return;
    }
  }
}

// ---- the interfaces ----

static netdev_tx_t transmit(struct sk_buff* packet, struct net_device* from) {
  static u8 whole[message_room];

  if (packet->len <= sizeof(whole)) {
    skb_copy_bits(packet, 0, whole, packet->len);
    put(tells_packet, skb_shinfo(packet)->gso_size, packet->ip_summed, from->dev_port, whole,
        packet->len);
    from->stats.tx_packets++;
  }
  consume_skb(packet);
  return NETDEV_TX_OK;
}

static const struct net_device_ops operations = {.ndo_start_xmit = transmit};

static void set_up(struct net_device* interface) {
  interface->netdev_ops = &operations;
  interface->type = ARPHRD_NONE;
  interface->flags = IFF_POINTOPOINT | IFF_NOARP | IFF_MULTICAST;
  interface->mtu = 1500;
  interface->min_mtu = 68;
  interface->max_mtu = 65535;
  interface->tx_queue_len = 1000;
  interface->needs_free_netdev = true;
}

static int __init start(void) {
  int i, error;

  if (channel < 0) {
    return 0;
  }
  for (i = 0; i < links; i++) {
    interfaces[i] = alloc_netdev(0, "ls%d", NET_NAME_UNKNOWN, set_up);
    if (!interfaces[i]) {
      panic("lockstep: no memory for an interface");
    }
    interfaces[i]->dev_port = i;
    error = register_netdev(interfaces[i]);
    if (error != 0) {
      panic("lockstep: register_netdev says %d", error);
    }
  }
  init_mkdir("/proc", 0755);
  error = init_mount("proc", "/proc", "proc", 0, NULL);
  if (error != 0) {
    panic("lockstep: /proc cannot be mounted: %d", error);
  }
  return 0;
}
late_initcall(start);

// ---- calls ----

enum { sockets_most = 4096, path_room = 160 };
static struct socket* sockets[sockets_most];
static u8 answer[message_room + command_room];
static u32 answer_length;

static int keep(struct socket* what) {
  int i;

  for (i = 0; i < sockets_most; i++) {
    if (!sockets[i]) {
      sockets[i] = what;
      return i;
    }
  }
  sock_release(what);
  return -EMFILE;
}

// Reads or writes a file below /proc/sys.
static int sysctl(const char* name, const char* value) {
  char path[path_room];
  struct file* file;
  loff_t at = 0;
  int done;

  snprintf(path, sizeof(path), "/proc/sys/%s", name);
  file = filp_open(path, value ? O_WRONLY : O_RDONLY, 0);
  if (IS_ERR(file)) {
    return PTR_ERR(file);
  }
  if (value) {
    done = kernel_write(file, value, strlen(value), &at);
  } else {
    done = kernel_read(file, answer, PAGE_SIZE, &at);
    answer_length = done > 0 ? done : 0;
  }
  filp_close(file, NULL);
  return done;
}

static int netlink_request(void* octets, u32 length) {
  struct sockaddr_nl to = {.nl_family = AF_NETLINK};
  struct msghdr message = {.msg_name = &to, .msg_namelen = sizeof(to)};
  struct kvec vector = {octets, length};
  struct socket* over;
  int done = sock_create_kern(&init_net, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE, &over);

  if (done != 0) {
    return done;
  }
  done = kernel_sendmsg(over, &message, &vector, 1, length);
  if (done > 0) {
    vector = (struct kvec){answer, message_room};
    memset(&message, 0, sizeof(message));
    done = kernel_recvmsg(over, &message, &vector, 1, message_room, MSG_DONTWAIT);
  }
  sock_release(over);
  answer_length = done > 0 ? done : 0;
  return done;
}

static int write_option(struct socket* on, int level, int name, void* octets, u32 length) {
  if (level == SOL_SOCKET) {
    return sk_setsockopt(on->sk, level, name, KERNEL_SOCKPTR(octets), length);
  }
  return on->ops->setsockopt(on, level, name, KERNEL_SOCKPTR(octets), length);
}

static int read_option(struct socket* on, int level, int name, const void* octets, u32 length) {
  int room = length, error;
  sockptr_t const at = KERNEL_SOCKPTR(answer), size = KERNEL_SOCKPTR(&room);

  memcpy(answer, octets, length);
  if (level == SOL_SOCKET) {
    error = sk_getsockopt(on->sk, level, name, at, size);
  } else if (level == SOL_TCP) {
    error = do_tcp_getsockopt(on->sk, level, name, at, size);
  } else if (level == SOL_IP) {
    error = do_ip_getsockopt(on->sk, level, name, at, size);
#if IS_ENABLED(CONFIG_IPV6)
  } else if (level == SOL_IPV6) {
    error = do_ipv6_getsockopt(on->sk, level, name, at, size);
#endif
  } else {
    error = -ENOPROTOOPT;
  }
  answer_length = error == 0 ? room : 0;
  return error;
}

static int send_message(struct socket* on, int flags, u64 control, void* octets, u32 length) {
  struct msghdr message = {.msg_flags = flags | MSG_DONTWAIT | MSG_NOSIGNAL};
  struct kvec vector;

  if (control > length) {
    return -EINVAL;
  }
  if (control != 0) {
    message.msg_control = octets;
    message.msg_controllen = control;
  }
  vector = (struct kvec){octets + control, length - control};
  return kernel_sendmsg(on, &message, &vector, 1, vector.iov_len);
}

static int receive(struct socket* on, int flags, u64 most) {
  struct msghdr message = {};
  struct kvec vector = {answer, min_t(u64, most, message_room)};
  int const done = kernel_recvmsg(on, &message, &vector, 1, vector.iov_len, MSG_DONTWAIT | flags);

  answer_length = done > 0 ? done : 0;
  return done;
}

static int receive_message(struct socket* on, int flags, u64 most) {
  static u8 data[message_room];
  enum { control_room = 1024 };
  u8* const control = answer + 8;
  struct msghdr message = {
      .msg_control = control, .msg_controllen = control_room, .msg_control_is_user = false};
  struct kvec vector = {data, min_t(u64, most, message_room)};
  int const done = kernel_recvmsg(on, &message, &vector, 1, vector.iov_len, MSG_DONTWAIT | flags);
  u32 filled;

  if (done < 0) {
    return done;
  }
  filled = control_room - message.msg_controllen;
  memcpy(answer, &filled, sizeof(filled));
  memcpy(answer + 4, &message.msg_flags, 4);
  memcpy(control + filled, data, done);
  answer_length = 8 + filled + done;
  return done;
}

static int poll(struct socket* on) {
  struct file file = {.private_data = on};

  return (__force int)on->ops->poll(&file, on, NULL);
}

// A call on a socket.
static int call_on(struct socket* on, const struct lockstep_header* told, u8* octets, u32 length) {
  struct socket* accepted;
  int done;

  switch (told->a) {
    case call_bind:
      return kernel_bind(on, (void*)octets, length);
    case call_listen:
      return kernel_listen(on, told->c);
    case call_accept:
      done = kernel_accept(on, &accepted, O_NONBLOCK);
      return done == 0 ? keep(accepted) : done;
    case call_connect:
      return kernel_connect(on, (void*)octets, length, O_NONBLOCK);
    case call_send:
      return send_message(on, told->c, 0, octets, length);
    case call_receive:
      return receive(on, told->c, told->d);
    case call_shutdown:
      return kernel_sock_shutdown(on, told->c);
    case call_close:
      sock_release(on);
      sockets[told->b] = NULL;
      return 0;
    case call_set:
      return write_option(on, told->c, told->d, octets, length);
    case call_get:
      return read_option(on, told->c, told->d, octets, length);
    case call_poll:
      return poll(on);
    case call_send_message:
      return send_message(on, told->c, told->d, octets, length);
    case call_receive_message:
      return receive_message(on, told->c, told->d);
    default:
      return -ENOSYS;
  }
}

static int call(const struct lockstep_header* told, u8* octets, u32 length) {
  struct socket* made;
  int done;

  switch (told->a) {
    case call_socket:
      // As a process's: close() ends the timers of a socket of the kernel itself.
      done = __sock_create(&init_net, told->b, told->c, told->d, &made, 0);
      return done == 0 ? keep(made) : done;
    case call_sysctl:
    case call_read_sysctl:
      if (length < 2) {
        return -EINVAL;
      }
      octets[length - 1] = 0;
      if (told->a == call_read_sysctl) {
        return sysctl(octets, NULL);
      }
      if (strlen(octets) + 1 >= length) {
        return -EINVAL;
      }
      return sysctl(octets, octets + strlen(octets) + 1);
    case call_netlink:
      return netlink_request(octets, length);
    default:
      if (told->b < 0 || told->b >= sockets_most || !sockets[told->b]) {
        return -EBADF;
      }
      return call_on(sockets[told->b], told, octets, length);
  }
}

// The kernel's first thread calls it in place of starting a program: without `lockstep=` it returns
// at once.
void lockstep_serve(void) {
  if (channel < 0) {
    return;
  }
  lockstep_active = true;
  for (;;) {
    const struct lockstep_header* const told = (const void*)call_copy;
    int done;

    wait_event_idle(caller, call_waits);
    call_waits = false;
    answer_length = 0;
    done = call(told, call_copy + sizeof(*told), told->length - sizeof(*told));
    call_runs = false;
    put(tells_result, done, 0, 0, answer, answer_length);
  }
}
