#!/usr/bin/env bash
# Healthy: the worker is ready, and no connector and no task has failed. Only bash, which every Kafka image has.
set -euo pipefail

get() {
  exec 3<>/dev/tcp/127.0.0.1/8083
  printf 'GET %s HTTP/1.0\r\n\r\n' "$1" >&3
  cat <&3
}

[[ $(get /health) == HTTP/*' 200 '* ]]
[[ $(get '/connectors?expand=status') != *'"FAILED"'* ]]
