// SPDX-License-Identifier: Apache-2.0
// An MQTT client that does as it is told, right or wrong: packets written by hand over TLS or plain
// TCP, and what comes back, byte by byte. Every wait has an end.
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::apps {

struct RawTls {
  std::string ca;
  std::string certificate = {};  // a file, with more of its chain if need be; empty: none shown
  std::string key = {};
  std::string host = {};           // whose the other side's certificate must be; empty: anybody's
  int most_version = 0;            // such as TLS1_1_VERSION; 0: the newest
  std::string ciphers = {};        // up to TLS 1.2; empty: the library's
  SSL_SESSION* session = nullptr;  // to take up again; borrowed
};

// What a CONNECT says.
struct RawConnect {
  int version = 5;  // 5, or 4 for MQTT 3.1.1, or 3 for 3.1
  std::string client_id = {};
  std::optional<std::string> username = {};
  std::optional<std::string> password = {};
  bool clean = true;
  int keepalive_s = 30;
  uint32_t session_expiry_s = 0;
  std::string will_topic = {};  // empty: no will
  std::string will_payload = "will";
  int will_qos = 1;
  bool will_retain = false;
};

// The rest of a PUBLISH's header.
struct RawPublish {
  std::string topic;
  std::string payload = "forged";
  int qos = 1;
  bool retain = false;
};

struct RawPacket {
  int type = 0;  // as in MQTT: 2 is a CONNACK
  int flags = 0;
  std::string body;
};

inline constexpr int kNotAuthorised = 135;

class RawClient {
 public:
  // Connects by TCP, and then by TLS unless `tls` is nullptr. See open().
  RawClient(int port, const RawTls* tls);
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  // Whether the connection stands, as far as reading has shown. With TLS 1.3 a client learns of a
  // refusal only when it reads.
  bool open() const { return open_; }

  // Why the other side refused us by TLS, such as SSL_AD_UNKNOWN_CA; -1 if it has not, or only hung
  // up. And why we refused the other side; X509_V_OK if we did not.
  int alert() const { return alert_; }
  long refused() const { return SSL_get_verify_result(ssl_); }

  void Send(const std::string& bytes);
  // The next packet; nullopt when the other side has hung up, or after ten seconds.
  std::optional<RawPacket> Next();
  // Of TLS, to be taken up again by another, and freed; and whether this one was such another.
  SSL_SESSION* TakeSession() const { return SSL_get1_session(ssl_); }
  bool resumed() const { return SSL_session_reused(ssl_) == 1; }
  // Hangs up without a word.
  void Vanish();

  // Sends a CONNECT; the CONNACK's reason, -1 if there is none.
  int Connect(const RawConnect& connect);
  bool session_present() const { return session_present_; }
  // The PUBACK's reason; -1 if none comes, or for QoS 0, -2 if the broker hangs up instead.
  int Publish(const RawPublish& publish);
  // The SUBACK's reason; 0 and 1 mean granted.
  int Subscribe(const std::string& filter, int qos);
  void Unsubscribe(const std::string& filter);
  // Topics of what arrives, until one has the payload `marker`, which is not among them; "ended" as
  // the last if it never does.
  std::vector<std::string> HearUntil(const std::string& marker);
  // Whether a PING is answered; messages on the way are kept for HearUntil.
  bool Alive();
  // Messages that are kept.
  size_t waiting() const { return heard_.size(); }
  // Takes all that the broker has for us, until nothing has come for a second.
  void Drain();
  // The reason of the broker's DISCONNECT, or of its hanging up without one: -1. Waits for either.
  int SentAwayWith();

 private:
  void Acknowledge(const RawPacket& publish);
  std::optional<RawPacket> Await(int type);
  bool Fill(size_t size);
  static void OnTlsEvent(const SSL* ssl, int where, int what);

  int socket_ = -1;
  SSL_CTX* context_ = nullptr;
  SSL* ssl_ = nullptr;
  bool open_ = false;
  int alert_ = -1;
  int version_ = 5;
  bool session_present_ = false;
  uint16_t packet_id_ = 0;
  std::string read_;
  std::vector<RawPacket> heard_;  // publishes that came while something else was awaited
};

// Packets as bytes.
std::string ConnectBytes(const RawConnect& connect);
std::string PublishBytes(const RawPublish& publish, int version, uint16_t packet_id);
std::string SubscribeBytes(const std::string& filter, int qos, int version, uint16_t packet_id);

}  // namespace weft::apps
