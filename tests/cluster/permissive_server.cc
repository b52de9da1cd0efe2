// SPDX-License-Identifier: Apache-2.0
#include "tests/cluster/permissive_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>

namespace weft::apps {
namespace {

SSL_CTX* PermissiveContext(const std::string& identity) {
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  SSL_CTX_set_min_proto_version(context, 0);
  SSL_CTX_set_dh_auto(context, 1);
  if (SSL_CTX_set_cipher_list(context, "ALL:eNULL:aNULL:@SECLEVEL=0") != 1 ||
      SSL_CTX_use_certificate_file(context, (identity + ".crt").c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_use_PrivateKey_file(context, (identity + ".key").c_str(), SSL_FILETYPE_PEM) != 1) {
    std::abort();
  }
  return context;
}

void ServeOne(int listener, SSL_CTX* context) {
  const int client = accept(listener, nullptr, nullptr);
  if (client >= 0) {
    const timeval patience{.tv_sec = 10, .tv_usec = 0};
    setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    SSL* ssl = SSL_new(context);
    SSL_set_fd(ssl, client);
    SSL_accept(ssl);
    SSL_free(ssl);
    close(client);
  }
  SSL_CTX_free(context);
  ERR_clear_error();
}

}  // namespace

PermissiveServer::PermissiveServer(const std::string& identity) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener_, 1) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    std::abort();
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread(ServeOne, listener_, PermissiveContext(identity));
}

PermissiveServer::~PermissiveServer() {
  shutdown(listener_, SHUT_RDWR);  // wakes who waits for a client
  thread_.join();
  close(listener_);
}

}  // namespace weft::apps
