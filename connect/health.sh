#!/usr/bin/env bash
# Healthy: the worker is ready, and no connector and no task has failed. Only bash, which every Kafka image has.
set -euo pipefail

port=8083
login=
users=/run/secrets/connect_users.properties
if [ -e $users ]; then # it asks for a password, and has a listener of this container's own without TLS
  port=8084
  name_and_password=$(tr '=' ':' < $users)
  login="Authorization: Basic $(printf %s "$name_and_password" | base64 -w 0)"$'\r\n'
fi

get() {
  exec 3<>/dev/tcp/127.0.0.1/$port
  printf 'GET %s HTTP/1.0\r\n%s\r\n' "$1" "$login" >&3
  cat <&3
}

[[ $(get /health) == HTTP/*' 200 '* ]]
[[ $(get '/connectors?expand=status') != *'"FAILED"'* ]]
