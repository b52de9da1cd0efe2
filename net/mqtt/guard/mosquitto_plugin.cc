// SPDX-License-Identifier: Apache-2.0
// The guard as Mosquitto takes it: a plugin of its interface 5, which every Mosquitto 2 has. A
// server says whom to shut out by publishing the name on net::kShutOutTopic, which the access list
// lets nobody else do.
#include <mosquitto.h>
#include <mosquitto_broker.h>
#include <mosquitto_plugin.h>

#include <algorithm>
#include <string_view>

#include "core/clock.h"
#include "net/mqtt/guard/guard.h"
#include "net/topics.h"

namespace {

struct Plugin {
  mosquitto_plugin_id_t* id;
  weft::SteadyClock clock;
  weft::net::Guard guard;
};

std::string_view UserOf(const struct mosquitto* client) {
  const char* name = mosquitto_client_username(client);
  return name == nullptr ? std::string_view() : std::string_view(name);
}

// Defers to the access list, or sends the client away. What comes to a client is only withheld: a
// refusal there would hit who sent it.
int OnAccess(int, void* event_data, void* user_data) {
  const auto& asked = *static_cast<const mosquitto_evt_acl_check*>(event_data);
  Plugin& plugin = *static_cast<Plugin*>(user_data);
  const weft::net::Guard::Verdict verdict =
      plugin.guard.Look({.user = UserOf(asked.client),
                         .mqtt_version = mosquitto_client_protocol_version(asked.client),
                         .publishes = asked.access == MOSQ_ACL_WRITE,
                         .qos = asked.qos},
                        plugin.clock.NowNs());
  if (verdict == weft::net::Guard::Verdict::kPass) return MOSQ_ERR_PLUGIN_DEFER;
  return asked.access == MOSQ_ACL_READ ? MOSQ_ERR_ACL_DENIED : MOSQ_ERR_AUTH;
}

int OnShutOut(int, void* event_data, void* user_data) {
  const auto& said = *static_cast<const mosquitto_evt_control*>(event_data);
  Plugin& plugin = *static_cast<Plugin*>(user_data);
  const std::string_view name(static_cast<const char*>(said.payload), said.payloadlen);
  if (!weft::net::IsName(name)) return MOSQ_ERR_SUCCESS;
  if (plugin.guard.ShutOut(name, plugin.clock.NowNs())) {
    mosquitto_log_printf(MOSQ_LOG_WARNING, "weft: %.*s floods and is shut out for a minute",
                         static_cast<int>(name.size()), name.data());
  }
  return MOSQ_ERR_SUCCESS;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int mosquitto_plugin_version(int count,
                                                                    const int* versions) {
  constexpr int kInterface = 5;
  return std::find(versions, versions + count, kInterface) == versions + count ? -1 : kInterface;
}

__attribute__((visibility("default"))) int mosquitto_plugin_init(mosquitto_plugin_id_t* id,
                                                                 void** user_data,
                                                                 struct mosquitto_opt*, int) {
  auto* plugin = new Plugin{.id = id, .clock = {}, .guard = {}};
  *user_data = plugin;
  const int access = mosquitto_callback_register(id, MOSQ_EVT_ACL_CHECK, OnAccess, nullptr, plugin);
  if (access != MOSQ_ERR_SUCCESS) return access;
  return mosquitto_callback_register(id, MOSQ_EVT_CONTROL, OnShutOut, weft::net::kShutOutTopic,
                                     plugin);
}

__attribute__((visibility("default"))) int mosquitto_plugin_cleanup(void* user_data,
                                                                    struct mosquitto_opt*, int) {
  auto* plugin = static_cast<Plugin*>(user_data);
  mosquitto_callback_unregister(plugin->id, MOSQ_EVT_ACL_CHECK, OnAccess, nullptr);
  mosquitto_callback_unregister(plugin->id, MOSQ_EVT_CONTROL, OnShutOut, weft::net::kShutOutTopic);
  delete plugin;
  return MOSQ_ERR_SUCCESS;
}

}  // extern "C"
