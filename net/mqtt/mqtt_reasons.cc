// SPDX-License-Identifier: Apache-2.0
#include "net/mqtt/mqtt_reasons.h"

#include <mosquitto.h>
#include <mqtt_protocol.h>

#include <cerrno>
#include <system_error>

namespace weft::net {

namespace {

std::string ErrorText(int error) { return std::generic_category().message(error); }

std::string WhoWeAre(const MqttSetting& setting) {
  if (!setting.certificate_file.empty()) return "the holder of " + setting.certificate_file;
  if (!setting.username.empty()) return "user '" + setting.username + "'";
  return "a client without a user name";
}

}  // namespace

std::string BrokerName(const MqttSetting& setting) {
  return setting.host + ":" + std::to_string(setting.port);
}

Status SocketFailure(const MqttSetting& setting, int error) {
  const std::string broker = BrokerName(setting);
  switch (error) {
    case ECONNREFUSED:
      return Status::Unavailable("nothing listens at " + broker +
                                 ": is the broker running, and is this its port?");
    case ENETUNREACH:
    case EHOSTUNREACH:
      return Status::Unavailable("there is no way to " + broker + ": is the network up?");
    case ETIMEDOUT:
      return Status::Unavailable(broker +
                                 " does not answer: is the machine up, and does a firewall "
                                 "let us through?");
    case ECONNRESET:
    case EPIPE:
      return Status::Unavailable("the connection to the broker at " + broker + " was broken off");
    default:
      return Status::Unavailable("the connection to the broker at " + broker +
                                 " failed: " + ErrorText(error));
  }
}

Status ClosedAtOnce(const MqttSetting& setting) {
  const std::string guess =
      setting.ca_file.empty() ? "does it expect TLS on this port?"
      : setting.certificate_file.empty()
          ? "does it speak TLS on this port, and does it ask for a certificate? For we show none"
          : "does it speak TLS on this port, and does it accept " + setting.certificate_file + "?";
  return Status::Unavailable("the broker at " + BrokerName(setting) +
                             " closed the connection before it said anything: " + guess);
}

Status TlsFailure(const MqttSetting& setting, const std::string& complaints) {
  const std::string broker = BrokerName(setting);
  const auto says = [&complaints](const char* words) {
    return complaints.find(words) != std::string::npos;
  };
  if (says("host name verification failed")) {
    return Status::InvalidInput("the certificate of the broker at " + broker +
                                " is for another name than " + setting.host);
  }
  if (says("certificate verify failed")) {
    return Status::InvalidInput("the certificate of the broker at " + broker + " is not good by " +
                                setting.ca_file +
                                ": another authority signed it, or it is not valid by today's date "
                                "on this machine");
  }
  if (says("wrong version number") || says("packet length too long") ||
      says("record layer failure")) {
    return Status::InvalidInput("the broker at " + broker + " does not speak TLS on this port");
  }
  if (complaints.empty() || says("unexpected eof")) return ClosedAtOnce(setting);
  if (says("alert certificate required") || says("alert handshake failure")) {
    return Status::InvalidInput(
        "the broker at " + broker + " asks for a certificate, and we show " +
        (setting.certificate_file.empty() ? "none" : setting.certificate_file));
  }
  for (const char* verdict : {"unknown ca", "bad certificate", "certificate expired",
                              "certificate revoked", "certificate unknown", "decrypt error"}) {
    if (says(verdict)) {
      return Status::InvalidInput("the broker at " + broker + " does not accept " +
                                  setting.certificate_file + ": " + verdict);
    }
  }
  if (says("Unable to load CA")) {
    return Status::InvalidInput(setting.ca_file + " holds no certificates of an authority");
  }
  if (says("Unable to load client certificate")) {
    return Status::InvalidInput(setting.certificate_file + " holds no certificate");
  }
  if (says("key values mismatch") || says("inconsistent")) {
    return Status::InvalidInput(setting.key_file + " is not the key of " +
                                setting.certificate_file);
  }
  if (says("Unable to load client key")) {
    return Status::InvalidInput(setting.key_file + " holds no key, or one under a password");
  }
  return Status::Unavailable("TLS with the broker at " + broker + " failed: " + complaints);
}

Status ConnectRefused(const MqttSetting& setting, int reason_code) {
  const std::string broker = "the broker at " + BrokerName(setting);
  switch (reason_code) {
    case MQTT_RC_UNSUPPORTED_PROTOCOL_VERSION:
    case CONNACK_REFUSED_PROTOCOL_VERSION:
      return Status::InvalidInput(broker + " does not speak MQTT version 5");
    case MQTT_RC_BAD_USERNAME_OR_PASSWORD:
    case MQTT_RC_NOT_AUTHORIZED:
      return Status::InvalidInput(broker + " does not let in " + WhoWeAre(setting));
    case MQTT_RC_CLIENTID_NOT_VALID:
      return Status::InvalidInput(broker + " does not take '" + setting.client_id +
                                  "' for a client id");
    case MQTT_RC_SERVER_UNAVAILABLE:
    case MQTT_RC_SERVER_BUSY:
    case MQTT_RC_QUOTA_EXCEEDED:
    case MQTT_RC_CONNECTION_RATE_EXCEEDED:
      return Status::Unavailable(broker +
                                 " has no room for us: " + mosquitto_reason_string(reason_code));
    default:
      return Status::InvalidInput(
          broker + " refuses the connection: " + mosquitto_reason_string(reason_code));
  }
}

Status SentAway(const MqttSetting& setting, int reason_code) {
  const std::string broker = "the broker at " + BrokerName(setting);
  if (reason_code == MQTT_RC_SESSION_TAKEN_OVER) {
    return Status::Taken(broker +
                         " gave our place to another client that came with the same name: is this "
                         "one running twice?");
  }
  return Status::Unavailable(broker +
                             " ended the connection: " + mosquitto_reason_string(reason_code));
}

Status LibraryFailure(const MqttSetting& setting, int library_code, int error) {
  const std::string broker = "the broker at " + BrokerName(setting);
  switch (library_code) {
    case MOSQ_ERR_ERRNO:
      return SocketFailure(setting, error);
    case MOSQ_ERR_EAI:
      return Status::Unavailable("the name " + setting.host + " is not known");
    case MOSQ_ERR_CONN_LOST:
    case MOSQ_ERR_NO_CONN:
      return Status::Unavailable(broker + " closed the connection");
    case MOSQ_ERR_KEEPALIVE:
      return Status::Unavailable(broker + " has been silent for too long");
    case MOSQ_ERR_PROTOCOL:
    case MOSQ_ERR_MALFORMED_PACKET:
      return Status::Unavailable(broker + " says something that is not MQTT version 5");
    default:
      return Status::Unavailable("the connection to " + broker +
                                 " failed: " + mosquitto_strerror(library_code));
  }
}

Status PublishRefused(const MqttSetting& setting, int reason_code) {
  switch (reason_code) {
    case MQTT_RC_NO_MATCHING_SUBSCRIBERS:
      return Status::NotFound("nobody listens there");
    case MQTT_RC_NOT_AUTHORIZED:
      return Status::InvalidInput("the broker does not let " + WhoWeAre(setting) +
                                  " publish there");
    case MQTT_RC_PACKET_TOO_LARGE:
      return Status::InvalidInput("the broker does not take messages so large");
    case MQTT_RC_QUOTA_EXCEEDED:
      return Status::Unavailable("the broker has no room for more messages");
    default:
      return Status::Unavailable(std::string("the broker did not take it: ") +
                                 mosquitto_reason_string(reason_code));
  }
}

}  // namespace weft::net
