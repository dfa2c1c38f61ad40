// A web page over TLS: OpenSSL on a stack of its own. OpenSSL reads and writes memory; this program
// moves the octets between that memory and the sockets.
//   https cert.pem key.pem tap=lock0 host=10.9.0.1/24 address=10.9.0.2/24
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>

#include "tools/lib/host/host.h"

enum { clients_max = 64, request_max = 8192, piece = 16384 };

static const char page[] =
    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 78\r\nConnection: close\r\n\r\n"
    "<!DOCTYPE html><title>Lockstep</title><p>OpenSSL, on a stack in this program.\n";

/* A connection; `ssl` is NULL while the slot is free. */
struct client {
  SSL* ssl;
  int fd, over;
  size_t got;
  char request[request_max + 1];
};

struct server {
  SSL_CTX* context;
  int listener;
  unsigned served;
  struct client clients[clients_max];
};

static void greet(struct lockstep_sockets* s, struct server* self) {
  int fd = lockstep_accept(s, self->listener, NULL, NULL);
  for (int i = 0; fd >= 0 && i < clients_max; ++i) {
    struct client* client = &self->clients[i];
    if (client->ssl == NULL) {
      memset(client, 0, sizeof *client);
      client->fd = fd;
      client->ssl = SSL_new(self->context);
      SSL_set_bio(client->ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
      SSL_set_accept_state(client->ssl);
      return;
    }
  }
  if (fd >= 0) {
    lockstep_close(s, fd); /* too many at once */
  }
}

/* What has arrived, into OpenSSL's memory. */
static void pull(struct lockstep_sockets* s, struct client* client) {
  char data[piece];
  ssize_t got = 0;
  while ((got = lockstep_recv(s, client->fd, data, sizeof data, 0)) > 0) {
    BIO_write(SSL_get_rbio(client->ssl), data, (int)got);
  }
  client->over |= got == 0 || errno != EAGAIN;
}

/* What is to be sent, as far as there is room; the rest is sent in a later turn. Nothing more is
 * sent on a connection that has failed. */
static void push(struct lockstep_sockets* s, struct client* client) {
  char discarded[piece];
  BIO* out = SSL_get_wbio(client->ssl);
  char* data = NULL;
  long waiting = 0;
  while ((waiting = BIO_get_mem_data(out, &data)) > 0) {
    size_t most = waiting < piece ? (size_t)waiting : piece;
    ssize_t sent = lockstep_send(s, client->fd, data, most, 0);
    if (sent < 0 && errno != EAGAIN) {
      client->over = 1;
      (void)BIO_reset(out);
    }
    if (sent <= 0) {
      return;
    }
    BIO_read(out, discarded, (int)sent);
  }
}

/* The handshake, then one request and its answer. */
static void answer(struct server* self, struct client* client) {
  int got = SSL_read(client->ssl, client->request + client->got, request_max - (int)client->got);
  if (got <= 0) {
    client->over |= SSL_get_error(client->ssl, got) != SSL_ERROR_WANT_READ;
    ERR_clear_error();
    return;
  }
  client->got += (size_t)got;
  client->request[client->got] = '\0';
  if (strstr(client->request, "\r\n\r\n") != NULL) {
    SSL_write(client->ssl, page, sizeof page - 1);
    SSL_shutdown(client->ssl);
    client->over = 1;
    ++self->served;
  } else {
    client->over |= client->got == request_max;
  }
}

/* Called in each turn of the host. */
static void serve(struct lockstep_sockets* s, void* user) {
  struct server* self = user;
  greet(s, self);
  for (int i = 0; i < clients_max; ++i) {
    struct client* client = &self->clients[i];
    if (client->ssl == NULL) {
      continue;
    }
    if (!client->over) {
      pull(s, client);
      answer(self, client);
    }
    push(s, client);
    if (client->over && BIO_pending(SSL_get_wbio(client->ssl)) == 0) {
      SSL_free(client->ssl);
      client->ssl = NULL;
      lockstep_close(s, client->fd);
    }
  }
}

static int listen_on(struct lockstep_sockets* s, struct server* self, uint16_t port) {
  struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(port)};
  self->listener = lockstep_socket(s, AF_INET, SOCK_STREAM, 0);
  lockstep_on_turn(s, serve, self);
  return lockstep_bind(s, self->listener, (const struct sockaddr*)&name, sizeof name) == 0 &&
         lockstep_listen(s, self->listener, clients_max) == 0;
}

int main(int count, char** words) {
  static struct server self;
  self.context = SSL_CTX_new(TLS_server_method());
  if (count < 3 || SSL_CTX_use_certificate_chain_file(self.context, words[1]) != 1 ||
      SSL_CTX_use_PrivateKey_file(self.context, words[2], SSL_FILETYPE_PEM) != 1) {
    fprintf(stderr,
            "https: give the files of a certificate and its key, then the host's options\n");
    return 2;
  }
  struct lockstep_host* host = lockstep_host_open((const char* const*)(words + 3));
  if (host == NULL) {
    fprintf(stderr, "https: %s\n", lockstep_host_error(NULL));
    return 2;
  }
  if (!listen_on(lockstep_host_sockets(host), &self, 443) ||
      lockstep_host_stop_on_signals(host) != 0) {
    fprintf(stderr, "https: port 443 or the signals cannot be had\n");
    lockstep_host_close(host);
    SSL_CTX_free(self.context);
    return 3;
  }
  printf("https on %s\n", lockstep_host_description(host));
  fflush(stdout);
  int ending = lockstep_host_run(host);
  if (ending < 0) {
    fprintf(stderr, "https: %s\n", lockstep_host_error(host));
  }
  printf("%u requests\n", self.served);
  lockstep_host_close(host);
  SSL_CTX_free(self.context);
  return ending < 0 ? 3 : 0;
}
