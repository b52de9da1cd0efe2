// SPDX-License-Identifier: Apache-2.0
#include "tests/cluster/raw_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>

namespace weft::apps {
namespace {

constexpr int kPatienceS = 10;
enum PacketType {
  kConnect = 1,
  kConnack = 2,
  kPublish = 3,
  kPuback = 4,
  kSubscribe = 8,
  kSuback = 9,
  kUnsubscribe = 10,
  kUnsuback = 11,
  kPing = 12,
  kPong = 13,
  kDisconnect = 14
};

std::string Short(size_t number) {
  return {static_cast<char>(number >> 8), static_cast<char>(number & 0xff)};
}

std::string Text(const std::string& text) { return Short(text.size()) + text; }

std::string Packet(int type, int flags, const std::string& body) {
  std::string packet(1, static_cast<char>(type << 4 | flags));
  size_t left = body.size();
  do {
    const size_t low = left % 128;
    left /= 128;
    packet += static_cast<char>(left > 0 ? low | 128 : low);
  } while (left > 0);
  return packet + body;
}

uint8_t Byte(const std::string& bytes, size_t at) { return static_cast<uint8_t>(bytes[at]); }

}  // namespace

std::string ConnectBytes(const RawConnect& c) {
  std::string body = Text(c.version == 3 ? "MQIsdp" : "MQTT");
  body += static_cast<char>(c.version);
  const bool will = !c.will_topic.empty();
  body += static_cast<char>((c.clean ? 2 : 0) | (will ? 4 : 0) | (will ? c.will_qos << 3 : 0) |
                            (will && c.will_retain ? 32 : 0) | (c.password ? 64 : 0) |
                            (c.username ? 128 : 0));
  body += Short(static_cast<size_t>(c.keepalive_s));
  if (c.version == 5) {
    const uint32_t s = c.session_expiry_s;
    body += std::string("\x05\x11", 2) + Short(s >> 16) + Short(s & 0xffff);
  }
  body += Text(c.client_id);
  if (will) {
    if (c.version == 5) body += '\0';
    body += Text(c.will_topic) + Text(c.will_payload);
  }
  if (c.username) body += Text(*c.username);
  if (c.password) body += Text(*c.password);
  return Packet(kConnect, 0, body);
}

std::string PublishBytes(const RawPublish& p, int version, uint16_t packet_id) {
  std::string body = Text(p.topic);
  if (p.qos > 0) body += Short(packet_id);
  if (version == 5) body += '\0';
  return Packet(kPublish, p.qos << 1 | (p.retain ? 1 : 0), body + p.payload);
}

std::string SubscribeBytes(const std::string& filter, int qos, int version, uint16_t packet_id) {
  std::string body = Short(packet_id);
  if (version == 5) body += '\0';
  return Packet(kSubscribe, 2, body + Text(filter) + static_cast<char>(qos));
}

RawClient::RawClient(int port, const RawTls* tls) {
  signal(SIGPIPE, SIG_IGN);
  socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  const timeval patience{.tv_sec = kPatienceS, .tv_usec = 0};
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  const int at_once = 1;
  setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once));
  open_ = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  if (!open_ || tls == nullptr) return;
  context_ = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
  open_ = SSL_CTX_load_verify_locations(context_, tls->ca.c_str(), nullptr) == 1;
  if (!tls->certificate.empty()) {
    open_ = open_ && SSL_CTX_use_certificate_chain_file(context_, tls->certificate.c_str()) == 1 &&
            SSL_CTX_use_PrivateKey_file(context_, tls->key.c_str(), SSL_FILETYPE_PEM) == 1;
  }
  if (tls->most_version != 0) {
    SSL_CTX_set_min_proto_version(context_, 0);
    SSL_CTX_set_max_proto_version(context_, tls->most_version);
  }
  if (!tls->ciphers.empty()) SSL_CTX_set_cipher_list(context_, tls->ciphers.c_str());
  ssl_ = SSL_new(context_);
  SSL_set_app_data(ssl_, this);
  SSL_set_info_callback(ssl_, OnTlsEvent);
  SSL_set_fd(ssl_, socket_);
  if (!tls->host.empty()) SSL_set1_host(ssl_, tls->host.c_str());
  if (tls->session != nullptr) SSL_set_session(ssl_, tls->session);
  open_ = open_ && SSL_connect(ssl_) == 1;
  ERR_clear_error();
}

void RawClient::OnTlsEvent(const SSL* ssl, int where, int what) {
  if (where != SSL_CB_READ_ALERT || (what >> 8) != SSL3_AL_FATAL) return;
  static_cast<RawClient*>(SSL_get_app_data(ssl))->alert_ = what & 0xff;
}

RawClient::~RawClient() {
  Vanish();
  SSL_free(ssl_);
  SSL_CTX_free(context_);
}

void RawClient::Vanish() {
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
  open_ = false;
}

void RawClient::Send(const std::string& bytes) {
  size_t sent = 0;
  while (open_ && sent < bytes.size()) {
    const int size = static_cast<int>(bytes.size() - sent);
    const ssize_t done = ssl_ != nullptr ? SSL_write(ssl_, bytes.data() + sent, size)
                                         : write(socket_, bytes.data() + sent, bytes.size() - sent);
    if (done <= 0) break;  // what it has said meanwhile can still be read
    sent += static_cast<size_t>(done);
  }
  ERR_clear_error();
}

bool RawClient::Fill(size_t size) {
  while (open_ && read_.size() < size) {
    char bytes[16384];
    const ssize_t got = ssl_ != nullptr ? SSL_read(ssl_, bytes, sizeof(bytes))
                                        : read(socket_, bytes, sizeof(bytes));
    if (got <= 0) {
      const bool too_late = ssl_ != nullptr
                                ? SSL_get_error(ssl_, static_cast<int>(got)) == SSL_ERROR_WANT_READ
                                : got < 0 && errno == EAGAIN;
      open_ = too_late;
      break;
    }
    read_.append(bytes, static_cast<size_t>(got));
  }
  ERR_clear_error();
  return read_.size() >= size;
}

std::optional<RawPacket> RawClient::Next() {
  size_t length = 0;
  size_t at = 1;
  for (int shift = 0;; shift += 7, ++at) {
    if (shift > 21 || !Fill(at + 1)) return std::nullopt;
    length |= static_cast<size_t>(Byte(read_, at) & 127) << shift;
    if (Byte(read_, at) < 128) break;
  }
  if (!Fill(at + 1 + length)) return std::nullopt;
  RawPacket packet{.type = Byte(read_, 0) >> 4,
                   .flags = Byte(read_, 0) & 15,
                   .body = read_.substr(at + 1, length)};
  read_.erase(0, at + 1 + length);
  return packet;
}

void RawClient::Acknowledge(const RawPacket& publish) {
  if ((publish.flags & 6) == 0) return;  // QoS 0
  const size_t topic = static_cast<size_t>(Byte(publish.body, 0)) << 8 | Byte(publish.body, 1);
  Send(Packet(kPuback, 0, publish.body.substr(2 + topic, 2)));
}

// Keeps what is published to us meanwhile.
std::optional<RawPacket> RawClient::Await(int type) {
  while (std::optional<RawPacket> packet = Next()) {
    if (packet->type == kPublish) Acknowledge(*packet);
    if (packet->type == type || packet->type == kDisconnect) return packet;
    if (packet->type == kPublish) heard_.push_back(std::move(*packet));
  }
  return std::nullopt;
}

int RawClient::Connect(const RawConnect& connect) {
  version_ = connect.version;
  Send(ConnectBytes(connect));
  const std::optional<RawPacket> answer = Await(kConnack);
  if (!answer || answer->type != kConnack || answer->body.size() < 2) return -1;
  session_present_ = (answer->body[0] & 1) != 0;
  return Byte(answer->body, 1);
}

int RawClient::Publish(const RawPublish& publish) {
  Send(PublishBytes(publish, version_, ++packet_id_));
  if (publish.qos == 0) return -1;
  const std::optional<RawPacket> answer = Await(kPuback);
  if (!answer || answer->type != kPuback) return -2;
  return answer->body.size() > 2 ? Byte(answer->body, 2) : 0;
}

int RawClient::Subscribe(const std::string& filter, int qos) {
  Send(SubscribeBytes(filter, qos, version_, ++packet_id_));
  const std::optional<RawPacket> answer = Await(kSuback);
  if (!answer || answer->type != kSuback || answer->body.empty()) return -2;
  return Byte(answer->body, answer->body.size() - 1);
}

void RawClient::Unsubscribe(const std::string& filter) {
  Send(Packet(kUnsubscribe, 2,
              Short(++packet_id_) + std::string(version_ == 5 ? 1 : 0, '\0') + Text(filter)));
  Await(kUnsuback);
}

std::vector<std::string> RawClient::HearUntil(const std::string& marker) {
  std::vector<std::string> topics;
  while (true) {
    if (heard_.empty()) {
      std::optional<RawPacket> next = Await(kPublish);
      if (!next || next->type != kPublish) {
        topics.emplace_back("ended");
        return topics;
      }
      heard_.push_back(std::move(*next));
    }
    const RawPacket packet = heard_.front();
    heard_.erase(heard_.begin());
    const size_t topic = static_cast<size_t>(Byte(packet.body, 0)) << 8 | Byte(packet.body, 1);
    if (packet.body.ends_with(marker)) return topics;
    topics.push_back(packet.body.substr(2, topic));
  }
}

bool RawClient::Alive() {
  Send(Packet(kPing, 0, ""));
  const std::optional<RawPacket> answer = Await(kPong);
  return answer && answer->type == kPong;
}

void RawClient::Drain() {
  constexpr int kSilenceMs = 1'000;
  heard_.clear();
  pollfd waiting{.fd = socket_, .events = POLLIN, .revents = 0};
  while (!read_.empty() || SSL_pending(ssl_) > 0 || poll(&waiting, 1, kSilenceMs) > 0) {
    const std::optional<RawPacket> packet = Next();
    if (!packet) return;
    if (packet->type == kPublish) Acknowledge(*packet);
  }
}

int RawClient::SentAwayWith() {
  const std::optional<RawPacket> answer = Await(kDisconnect);
  return !answer ? -1 : answer->body.empty() ? 0 : Byte(answer->body, 0);
}

}  // namespace weft::apps
