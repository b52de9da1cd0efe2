// SPDX-License-Identifier: Apache-2.0
#include "net/mqtt/mqtt_client.h"

#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>

#include "net/mqtt/mqtt_reasons.h"

namespace weft::net {

namespace {

void PrepareLibrary() {
  static std::once_flag once;
  std::call_once(once, [] { mosquitto_lib_init(); });
}

bool CanRead(const std::string& path) { return access(path.c_str(), R_OK) == 0; }

// A key under a password is refused; otherwise the TLS library would ask for it at the terminal.
int NoPassword(char*, int, int, void*) { return 0; }

}  // namespace

Status NewClient(const MqttSetting& setting, void* self, mosquitto*& client) {
  PrepareLibrary();
  client = mosquitto_new(setting.client_id.c_str(), /*clean_start=*/true, self);
  if (client == nullptr) {
    return Status::Unavailable("there is no memory or no descriptor left for a connection");
  }
  mosquitto_int_option(client, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5);
  mosquitto_int_option(client, MOSQ_OPT_TCP_NODELAY, 1);
  mosquitto_int_option(client, MOSQ_OPT_RECEIVE_MAXIMUM, setting.receive_maximum);
  mosquitto_int_option(client, MOSQ_OPT_SEND_MAXIMUM, kMostInFlight);
  if (!setting.username.empty()) {
    mosquitto_username_pw_set(client, setting.username.c_str(), nullptr);
  }
  if (!setting.will_topic.empty()) {
    mosquitto_will_set_v5(
        client, setting.will_topic.c_str(), static_cast<int>(setting.will_payload.size()),
        setting.will_payload.bytes().data(), /*qos=*/1, /*retain=*/false, nullptr);
  }
  if (setting.ca_file.empty()) return Status::Ok();

  for (const std::string& file : {setting.ca_file, setting.certificate_file, setting.key_file}) {
    if (!file.empty() && !CanRead(file)) return Status::NotFound(file + " cannot be read");
  }
  const bool with_certificate = !setting.certificate_file.empty();
  const int rc =
      mosquitto_tls_set(client, setting.ca_file.c_str(), nullptr,
                        with_certificate ? setting.certificate_file.c_str() : nullptr,
                        with_certificate ? setting.key_file.c_str() : nullptr, NoPassword);
  if (rc != MOSQ_ERR_SUCCESS) return LibraryFailure(setting, rc, errno);
  mosquitto_tls_opts_set(client, /*verify=*/1, "tlsv1.2", nullptr);  // or later
  return Status::Ok();
}

}  // namespace weft::net
