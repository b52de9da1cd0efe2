// SPDX-License-Identifier: Apache-2.0
#include "net/mqtt/mqtt_session.h"

#include <fcntl.h>
#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <vector>

#include "core/clock.h"
#include "net/mqtt/mqtt_reasons.h"
#include "net/mqtt/tcp_probe.h"

namespace weft::net {

namespace {

constexpr int kReadsInARow = 16;

// The library makes its TLS tables ready in the first connection, without a lock.
std::mutex& FirstTlsConnection() {
  static std::mutex mu;
  return mu;
}

}  // namespace

MqttSession::MqttSession(const MqttSetting& setting, const Clock& clock, Mailbox& mailbox)
    : setting_(setting), clock_(clock), mailbox_(mailbox) {}

MqttSession::~MqttSession() { mosquitto_destroy(mosq_); }

Status MqttSession::Explain(int library_code, int error) const {
  if (connack_ > 0) return ConnectRefused(setting_, connack_);
  if (!tls_complaints_.empty()) return TlsFailure(setting_, tls_complaints_);
  if (library_code == MOSQ_ERR_SUCCESS) {
    // The library tells of the broker's farewell by closing the socket, and calls it a success.
    if (disconnect_ > 0) return SentAway(setting_, disconnect_);
    library_code = MOSQ_ERR_CONN_LOST;
  }
  const bool broken = library_code == MOSQ_ERR_CONN_LOST || library_code == MOSQ_ERR_NO_CONN ||
                      library_code == MOSQ_ERR_TLS ||
                      (library_code == MOSQ_ERR_ERRNO &&
                       (error == ECONNRESET || error == EPIPE || error == EPROTO));
  if (connack_ < 0 && broken) return ClosedAtOnce(setting_);
  return LibraryFailure(setting_, library_code, error);
}

Status MqttSession::Open(const std::string& address, int64_t until_ns, bool& reached) {
  if (Status status = Prepare(); !status.ok()) return status;
  {
    std::unique_lock<std::mutex> lock;
    if (tls()) lock = std::unique_lock(FirstTlsConnection());
    // It does not wait for the connection, nor for TLS.
    const int rc = mosquitto_connect_bind_async(mosq_, address.c_str(), setting_.port,
                                                setting_.keepalive_s, nullptr);
    if (rc != MOSQ_ERR_SUCCESS) return Explain(rc, errno);
  }
  const int bell = mailbox_.bell();
  if (const int error = AwaitTcp(mosquitto_socket(mosq_), clock_, until_ns, bell); error != 0) {
    return Explain(MOSQ_ERR_ERRNO, error);
  }
  reached = true;
  if (tls()) {  // the first try was before there was a connection
    if (const int rc = mosquitto_loop_read(mosq_, 1); rc != MOSQ_ERR_SUCCESS)
      return Explain(rc, errno);
  }

  const auto await = [&](const int& answer) -> Status {
    while (answer < 0) {
      if (Status status = Turn(until_ns); !status.ok()) return status;
      if (mailbox_.stopping()) return Status::Unavailable("asked to stop");
      if (answer < 0 && clock_.NowNs() >= until_ns) {
        return Status::Unavailable("the broker at " + BrokerName(setting_) +
                                   " took the connection but does not answer");
      }
    }
    return Status::Ok();
  };
  if (Status status = await(connack_); !status.ok()) return status;
  if (connack_ != MQTT_RC_SUCCESS) return ConnectRefused(setting_, connack_);
  tls_complaints_.clear();
  limits_.payload_bytes =
      std::min({most_packet_bytes_ - Mailbox::kPacketOverhead, setting_.payload_bytes,
                setting_.outgoing_bytes - Mailbox::kMessageOverhead});
  if (limits_.payload_bytes < 1) {
    return Status::InvalidInput("the broker at " + BrokerName(setting_) + " takes packets of " +
                                std::to_string(most_packet_bytes_) +
                                " bytes only: its max_packet_size is too small");
  }
  if (setting_.subscriptions.empty()) return Status::Ok();
  if (Status status = Subscribe(); !status.ok()) return status;
  if (Status status = await(suback_); !status.ok()) return status;
  if (suback_ >= MQTT_RC_UNSPECIFIED) {
    return Status::InvalidInput("the broker at " + BrokerName(setting_) +
                                " does not let us listen: " + mosquitto_reason_string(suback_));
  }
  return Status::Ok();
}

Status MqttSession::Subscribe() {
  std::vector<char*> topics;
  for (const std::string& topic : setting_.subscriptions) {
    topics.push_back(const_cast<char*>(topic.c_str()));  // the library only reads them
  }
  const int rc = mosquitto_subscribe_multiple(
      mosq_, nullptr, static_cast<int>(topics.size()), topics.data(), /*qos=*/1,
      MQTT_SUB_OPT_SEND_RETAIN_NEVER | MQTT_SUB_OPT_NO_LOCAL, nullptr);
  return rc == MOSQ_ERR_SUCCESS ? Status::Ok() : Explain(rc, errno);
}

int MqttSession::PollTimeout(int64_t until_ns) const {
  // Once a second the library looks after its keepalive.
  const int64_t left_ns = std::clamp<int64_t>(until_ns - clock_.NowNs(), 0, 1'000 * kNsPerMs);
  return static_cast<int>((left_ns + kNsPerMs - 1) / kNsPerMs);
}

Status MqttSession::Turn(int64_t until_ns) {
  const bool want_write = mosquitto_want_write(mosq_);
  pollfd fds[2] = {
      {.fd = mosquitto_socket(mosq_), .events = POLLIN, .revents = 0},
      {.fd = mailbox_.bell(), .events = POLLIN, .revents = 0},
  };
  if (want_write) fds[0].events |= POLLOUT;
  if (poll(fds, 2, read_again_ ? 0 : PollTimeout(until_ns)) < 0) {
    if (errno == EINTR) return Status::Ok();
    return SocketFailure(setting_, errno);
  }
  if (fds[1].revents != 0) mailbox_.SilenceBell();
  // While TLS is being set up, reading is what takes it forward, also when it waits to write.
  const bool setting_up = tls() && connack_ < 0;
  if ((fds[0].revents & ~POLLOUT) != 0 || read_again_ || (setting_up && fds[0].revents != 0)) {
    if (Status status = Read(); !status.ok()) return status;
  }
  if ((fds[0].revents & POLLOUT) != 0) {
    const int rc = mosquitto_loop_write(mosq_, 1);
    if (rc != MOSQ_ERR_SUCCESS || mosquitto_socket(mosq_) < 0) return Explain(rc, errno);
  }
  const int rc = mosquitto_loop_misc(mosq_);
  return rc == MOSQ_ERR_SUCCESS ? Status::Ok() : Explain(rc, errno);
}

Status MqttSession::Read() {
  // The library does not notice everywhere that a connection has ended, and would try for ever. It
  // does not show a PINGRESP either; any byte is a sign of life.
  char first = 0;
  const ssize_t there = recv(mosquitto_socket(mosq_), &first, 1, MSG_PEEK | MSG_DONTWAIT);
  if (there > 0) mailbox_.Alive();
  if (there == 0 && !read_again_) return Explain(MOSQ_ERR_CONN_LOST, 0);
  if (there < 0 && errno != EAGAIN && errno != EINTR) return Explain(MOSQ_ERR_ERRNO, errno);
  for (int i = 0; i < kReadsInARow; ++i) {
    const int64_t before = packets_;
    const int rc = mosquitto_loop_read(mosq_, 1);
    if (rc != MOSQ_ERR_SUCCESS || mosquitto_socket(mosq_) < 0) return Explain(rc, errno);
    // It may stop with packets left in TLS's buffer, for which no socket will call.
    read_again_ = packets_ != before;
    if (!read_again_) break;
  }
  return Status::Ok();
}

Status MqttSession::SendSome() {
  // One packet at a time is copied into the library, so that its memory does not grow with the
  // socket's sloth.
  while (!mosquitto_want_write(mosq_) && in_flight_.size() < most_in_flight_) {
    std::optional<Mailbox::Outgoing> next = mailbox_.NextOutgoing();
    if (!next) break;
    const auto bytes = static_cast<int64_t>(next->payload.size());
    int packet_id = 0;
    const int rc = mosquitto_publish_v5(mosq_, &packet_id, next->topic.c_str(),
                                        static_cast<int>(bytes), next->payload.bytes().data(),
                                        /*qos=*/1, /*retain=*/false, nullptr);
    switch (rc) {
      case MOSQ_ERR_SUCCESS:
        in_flight_[packet_id] = {std::move(next->topic), bytes};
        break;
      case MOSQ_ERR_INVAL:
      case MOSQ_ERR_MALFORMED_UTF8:
      case MOSQ_ERR_PAYLOAD_SIZE:
      case MOSQ_ERR_OVERSIZE_PACKET:
      case MOSQ_ERR_QOS_NOT_SUPPORTED:
        mailbox_.NotTaken(
            next->topic, bytes, -rc,
            Status::InvalidInput(std::string("it cannot be published: ") + mosquitto_strerror(rc)));
        break;
      default:
        return Explain(rc, errno);
    }
  }
  return Status::Ok();
}

Status MqttSession::Serve() {
  while (!mailbox_.stopping()) {
    if (const auto why = mailbox_.renewal()) return Status::Unavailable(*why);
    if (Status status = SendSome(); !status.ok()) return status;
    if (Status status = Turn(INT64_MAX); !status.ok()) return status;
  }
  return Status::Ok();
}

void MqttSession::Close(int64_t flush_until_ns, int64_t until_ns) {
  while (connack_ == MQTT_RC_SUCCESS && clock_.NowNs() < flush_until_ns) {
    if (!SendSome().ok()) return;
    if (in_flight_.empty() && !mailbox_.HasOutgoing()) break;
    if (!Turn(flush_until_ns).ok()) return;
  }
  // Of a connection that is only half made the broker has not heard, or it is TLS's to finish.
  if (mosquitto_socket(mosq_) < 0 || (connack_ < 0 && tls())) return;
  // The library closes its socket as soon as it has written the last packet. If there are bytes we
  // have not read, that resets the connection, and the broker may publish our will after all. So
  // the socket is kept open until the broker has closed its end.
  const int socket = fcntl(mosquitto_socket(mosq_), F_DUPFD_CLOEXEC, 0);
  if (socket < 0) return;
  int rc = mosquitto_disconnect_v5(mosq_, MQTT_RC_NORMAL_DISCONNECTION, nullptr);
  pollfd waiting{.fd = socket, .events = POLLOUT, .revents = 0};
  while (rc == MOSQ_ERR_SUCCESS && mosquitto_socket(mosq_) >= 0 && clock_.NowNs() < until_ns) {
    if (poll(&waiting, 1, PollTimeout(until_ns)) > 0) rc = mosquitto_loop_write(mosq_, 1);
  }
  if (mosquitto_socket(mosq_) < 0) {
    shutdown(socket, SHUT_WR);
    waiting.events = POLLIN;
    std::vector<char> unread(1 << 16);
    while (clock_.NowNs() < until_ns) {
      if (poll(&waiting, 1, PollTimeout(until_ns)) <= 0) continue;
      const ssize_t got = recv(socket, unread.data(), unread.size(), MSG_DONTWAIT);
      if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) break;
    }
  }
  close(socket);
}

}  // namespace weft::net
