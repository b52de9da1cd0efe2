// SPDX-License-Identifier: Apache-2.0
#include "apps/doctor/tls_probe.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

#include "apps/doctor/certificate_file.h"
#include "apps/files/descriptor.h"
#include "core/clock.h"
#include "net/mqtt/tcp_probe.h"

namespace weft::apps {
namespace {

constexpr int64_t kTicketNs = 500 * kNsPerMs;  // from the end of the handshake

// A connection that stands, or none. It does not block.
Descriptor ConnectTo(const std::string& address, int port, const Clock& clock, int64_t until_ns) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    return Descriptor(-1);
  }
  Descriptor connection(socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const bool begun =
      connection.open() &&
      (connect(connection.get(), found->ai_addr, found->ai_addrlen) == 0 || errno == EINPROGRESS);
  freeaddrinfo(found);
  if (!begun || net::AwaitTcp(connection.get(), clock, until_ns, -1) != 0) return Descriptor(-1);
  return connection;
}

bool WaitFor(int socket, short events, const Clock& clock, int64_t until_ns) {
  pollfd waiting{.fd = socket, .events = events, .revents = 0};
  const int64_t left_ms = std::max<int64_t>(0, (until_ns - clock.NowNs()) / kNsPerMs);
  return poll(&waiting, 1, static_cast<int>(left_ms)) > 0;
}

// One look at a broker by TLS.
class Handshake {
 public:
  Handshake(const net::MqttSetting& setting, int64_t timeout_ms)
      : setting_(setting), until_ns_(clock_.NowNs() + timeout_ms * kNsPerMs) {}

  TlsAnswer Run(const std::string& address) {
    if (std::string problem = Prepare(); !problem.empty()) {
      ERR_clear_error();
      return Answer(TlsVerdict::kUnusable, problem);
    }
    const Descriptor connection = ConnectTo(address, setting_.port, clock_, until_ns_);
    if (!connection.open()) return Answer(TlsVerdict::kClosed, "no connection");
    SSL_set_fd(ssl_.get(), connection.get());
    const TlsAnswer shaken = Judge(
        connection.get(), [this] { return SSL_connect(ssl_.get()); }, true);
    Look();
    // What we think of the broker goes first, whatever it thinks of us.
    if (const TlsVerdict own = Opinion(); own != TlsVerdict::kGood) {
      return Answer(own, X509_verify_cert_error_string(errors_.front()));
    }
    if (shaken.verdict != TlsVerdict::kGood) return Answer(shaken.verdict, shaken.words);
    const TlsAnswer judged = AwaitJudgement(connection.get());
    return Answer(judged.verdict, judged.words);
  }

 private:
  // What is wrong with our files; empty: nothing.
  std::string Prepare() {
    context_.reset(SSL_CTX_new(TLS_client_method()));
    SSL_CTX* context = context_.get();
    if (context == nullptr) return "the TLS library cannot be used";
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    if (!setting_.ca_file.empty() &&
        SSL_CTX_load_verify_locations(context, setting_.ca_file.c_str(), nullptr) != 1) {
      return setting_.ca_file + " holds no certificates of an authority";
    }
    if (!setting_.certificate_file.empty() &&
        (SSL_CTX_use_certificate_chain_file(context, setting_.certificate_file.c_str()) != 1 ||
         SSL_CTX_use_PrivateKey_file(context, setting_.key_file.c_str(), SSL_FILETYPE_PEM) != 1)) {
      return setting_.certificate_file + " and its key cannot be used";
    }
    // It goes on whatever is wrong, so that all of it is known.
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, OnVerify);
    ssl_.reset(SSL_new(context));
    SSL_set_app_data(ssl_.get(), this);
    X509_VERIFY_PARAM* rules = SSL_get0_param(ssl_.get());
    if (X509_VERIFY_PARAM_set1_ip_asc(rules, setting_.host.c_str()) != 1) {
      X509_VERIFY_PARAM_set1_host(rules, setting_.host.c_str(), 0);
      SSL_set_tlsext_host_name(ssl_.get(), setting_.host.c_str());
    }
    ERR_clear_error();
    return "";
  }

  static int OnVerify(int good, X509_STORE_CTX* store) {
    auto* ssl =
        static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
    auto* self = static_cast<Handshake*>(SSL_get_app_data(ssl));
    if (good == 0) self->errors_.push_back(X509_STORE_CTX_get_error(store));
    return 1;
  }

  // From TLS 1.3 on we are done before the broker has read our certificate. If it is good, many
  // brokers send a ticket; if not, they send an alert. One that does neither is told something that
  // it must hang up on.
  TlsAnswer AwaitJudgement(int socket) {
    if (SSL_version(ssl_.get()) < TLS1_3_VERSION) return {.verdict = TlsVerdict::kGood};
    char reply[64];
    const auto read = [&] { return SSL_read(ssl_.get(), reply, sizeof(reply)); };
    if (WaitFor(socket, POLLIN, clock_, std::min(until_ns_, clock_.NowNs() + kTicketNs))) {
      ERR_clear_error();
      const int got = read();
      if (got > 0 || SSL_get_error(ssl_.get(), got) == SSL_ERROR_WANT_READ) {
        return {.verdict = TlsVerdict::kGood};
      }
      const TlsAnswer refused = Verdict(got);
      if (refused.verdict != TlsVerdict::kClosed) return refused;
      return {.verdict = TlsVerdict::kOwnRefused, .words = "it hangs up when it has seen it"};
    }
    const unsigned char ping[] = {0xC0, 0x00};
    Judge(
        socket, [&] { return SSL_write(ssl_.get(), ping, sizeof(ping)); }, false);
    return Judge(socket, read, false);
  }

  // What the last call of the library, which returned `result`, means.
  TlsAnswer Verdict(int result) const {
    const int error = SSL_get_error(ssl_.get(), result);
    const unsigned long code = ERR_get_error();
    const char* words = ERR_reason_error_string(code);
    return {.verdict = OfError(error, code), .words = words == nullptr ? "" : words};
  }

  // Repeats `call` until it is through, and says how that went. Without `setting_up`, the end of
  // the connection is fine.
  template <typename Call>
  TlsAnswer Judge(int socket, const Call& call, bool setting_up) {
    while (true) {
      ERR_clear_error();
      const int result = call();
      if (result > 0) return {.verdict = TlsVerdict::kGood};
      const int error = SSL_get_error(ssl_.get(), result);
      if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
        const short events = error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
        if (WaitFor(socket, events, clock_, until_ns_)) continue;
        return {.verdict = setting_up ? TlsVerdict::kSilent : TlsVerdict::kGood};
      }
      const TlsAnswer answer = Verdict(result);
      if (!setting_up && answer.verdict == TlsVerdict::kClosed)
        return {.verdict = TlsVerdict::kGood};
      return answer;
    }
  }

  TlsVerdict OfError(int error, unsigned long code) const {
    if (error != SSL_ERROR_SSL) return TlsVerdict::kClosed;
    switch (ERR_GET_REASON(code)) {
      case SSL_R_UNEXPECTED_EOF_WHILE_READING:
        return TlsVerdict::kClosed;
      case SSL_R_WRONG_VERSION_NUMBER:
      case SSL_R_PACKET_LENGTH_TOO_LONG:
        return TlsVerdict::kNotTls;
      case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
      case SSL_R_UNSUPPORTED_PROTOCOL:
        return TlsVerdict::kTooOld;
      case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
        return TlsVerdict::kOwnMissing;
      case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
        return setting_.certificate_file.empty() ? TlsVerdict::kOwnMissing
                                                 : TlsVerdict::kOwnRefused;
      case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
        return TlsVerdict::kOwnUnknown;
      case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
        return TlsVerdict::kOwnExpired;
      case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
        return TlsVerdict::kOwnRevoked;
      case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
      case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
      case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
      case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
      case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
        return TlsVerdict::kOwnRefused;
      default:
        return TlsVerdict::kFailed;
    }
  }

  // What we think of the broker's certificate. A wrong authority is told before dates and names,
  // which mean nothing then.
  TlsVerdict Opinion() const {
    const auto has = [this](int error) {
      return std::find(errors_.begin(), errors_.end(), error) != errors_.end();
    };
    if (errors_.empty()) return TlsVerdict::kGood;
    for (const int error : errors_) {
      if (error != X509_V_ERR_CERT_HAS_EXPIRED && error != X509_V_ERR_CERT_NOT_YET_VALID &&
          error != X509_V_ERR_HOSTNAME_MISMATCH && error != X509_V_ERR_IP_ADDRESS_MISMATCH) {
        return TlsVerdict::kWrongAuthority;
      }
    }
    if (has(X509_V_ERR_CERT_NOT_YET_VALID)) return TlsVerdict::kNotYetValid;
    if (has(X509_V_ERR_CERT_HAS_EXPIRED)) return TlsVerdict::kExpired;
    return TlsVerdict::kWrongName;
  }

  // What can be seen of the broker now.
  void Look() {
    seen_.version = SSL_get_version(ssl_.get());
    const CertificatePtr peer(SSL_get1_peer_certificate(ssl_.get()));
    if (peer == nullptr) return;
    seen_.peer_name = CommonName(peer.get());
    seen_.valid_from_s = ValidFrom(peer.get());
    seen_.valid_until_s = ValidUntil(peer.get());
  }

  TlsAnswer Answer(TlsVerdict verdict, const std::string& words) const {
    TlsAnswer answer = seen_;
    answer.verdict = verdict;
    answer.words = words;
    return answer;
  }

  const net::MqttSetting& setting_;
  const SteadyClock clock_;
  const int64_t until_ns_;
  std::unique_ptr<SSL_CTX, FreedBy<SSL_CTX_free>> context_;
  std::unique_ptr<SSL, FreedBy<SSL_free>> ssl_;
  std::vector<int> errors_;  // what verification complained of, in its order
  TlsAnswer seen_;
};

}  // namespace

TlsAnswer ProbeTls(const net::MqttSetting& setting, const std::string& address,
                   int64_t timeout_ms) {
  return Handshake(setting, timeout_ms).Run(address);
}

bool SpeaksPlainMqtt(const std::string& address, int port, int64_t timeout_ms) {
  const SteadyClock clock;
  const int64_t until_ns = clock.NowNs() + timeout_ms * kNsPerMs;
  const Descriptor connection = ConnectTo(address, port, clock, until_ns);
  if (!connection.open()) return false;
  // CONNECT in version 99: every broker says no, and says it as a broker.
  const unsigned char connect[] = {0x10, 12, 0, 4, 'M', 'Q', 'T', 'T', 99, 2, 0, 60, 0, 0};
  if (send(connection.get(), connect, sizeof(connect), MSG_NOSIGNAL) != sizeof(connect)) {
    return false;
  }
  unsigned char reply = 0;
  return WaitFor(connection.get(), POLLIN, clock, until_ns) &&
         recv(connection.get(), &reply, 1, 0) == 1 && reply == 0x20;
}

}  // namespace weft::apps
