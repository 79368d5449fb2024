#!/usr/bin/env bash
# For compose.secure.yaml: a private CA, a certificate for each server, and the passwords that compose.yaml does not
# make. What is there stays. Each file can be read by one group, which is that of the part it is for.
set -euo pipefail
umask 077

tls=/run/tls
secrets=/run/secrets
audit=20003 broker=20012 ops=20014 # groups, as in compose.secure.yaml

# Show a file to a group, under its own name only when that is done.
show() { # unfinished file, group
  chgrp "$2" "$1"
  chmod 440 "$1"
  mv "$1" "${1%.new}"
}

password() { # name, group
  if [ -e "$secrets/$1" ]; then
    chgrp "$2" "$secrets/$1" # an extra that came later may be in a group of its own
    return
  fi
  rm -f "$secrets/$1.new"
  head -c 24 /dev/urandom | base64 -w 0 | tr '+/' '-_' > "$secrets/$1.new"
  show "$secrets/$1.new" "$2"
}

group_of() { # principal of the broker; an extra says which group its part is in
  local said=GROUP_OF_${1^^}
  case $1 in
    service) echo 20002 ;;
    connect) echo 20004 ;;
    reconciler) echo 20005 ;;
    admin) echo 20011 ;;
    broker) echo $broker ;;
    land) echo 20013 ;;
    *) echo "${!said:-$ops}" ;;
  esac
}

authority() {
  if [ -e $tls/ca.pem ]; then return; fi
  openssl req -x509 -newkey rsa:3072 -sha256 -nodes -days 3650 -subj "/CN=outbox pipeline CA" \
    -addext basicConstraints=critical,CA:TRUE,pathlen:0 -addext keyUsage=critical,keyCertSign,cRLSign \
    -keyout $tls/ca.key -out $tls/ca.new 2> /dev/null
  chmod 444 $tls/ca.new
  mv $tls/ca.new $tls/ca.pem
}

certificate() { # name in the network, group of the server, usage; further names, of others of its kind
  local file=$tls/$1 name names=DNS:$1,DNS:localhost,IP:127.0.0.1
  for name in ${4:-}; do names+=,DNS:$name; done
  if [ -e "$file.pem" ]; then return; fi
  openssl req -new -newkey rsa:2048 -nodes -subj "/CN=$1" -keyout "$file.key" -out "$file.csr" 2> /dev/null
  openssl x509 -req -sha256 -days 365 -in "$file.csr" -CA $tls/ca.pem -CAkey $tls/ca.key -CAcreateserial \
    -out "$file.crt" 2> /dev/null -extfile <(
      echo basicConstraints=CA:FALSE
      echo keyUsage=critical,digitalSignature,keyEncipherment
      echo "extendedKeyUsage=$3"
      echo "subjectAltName=$names"
    )
  rm "$file.csr"
  rm -f "$file.pem.new"
  cat "$file.key" "$file.crt" > "$file.pem.new" # key and chain in one file is what every server takes
  rm "$file.key" "$file.crt"
  show "$file.pem.new" "$2"
}

# Connect's REST API reads no PEM. An openssl that can say whom Java may trust makes both stores.
keystores() {
  local pass=file:$secrets/keystore_password
  if [ -e $tls/ca.p12 ]; then return; fi
  openssl pkcs12 -export -name connect -in $tls/connect.pem -certfile $tls/ca.pem -passout "$pass" \
    -out $tls/connect.p12.new
  show $tls/connect.p12.new 20004
  openssl pkcs12 -export -nokeys -in $tls/ca.pem -jdktrust anyExtendedKeyUsage -passout "$pass" -out $tls/ca.p12.new
  show $tls/ca.p12.new 20004
}

# Files with more than a password in them.
written() { # name, group, text
  rm -f "$secrets/$1.new"
  printf '%s\n' "$3" > "$secrets/$1.new"
  show "$secrets/$1.new" "$2"
}

for principal in admin broker $(python -c 'from connect.acls import all_acls; print(*all_acls())'); do
  password "kafka_${principal}_password" "$(group_of "$principal")"
done
password keystore_password 20004
password connect_password $ops
password audit_token 20002
written connect_users.properties 20004 "ops=$(cat $secrets/connect_password)" # empty, it would let everybody in
written connect_login.conf 20004 "KafkaConnect {
  org.apache.kafka.connect.rest.basic.auth.extension.PropertyFileLoginModule required
    file=\"$secrets/connect_users.properties\";
};"
written audit_tokens $audit "service $(cat $secrets/audit_token)"

authority
certificate kafka $broker serverAuth,clientAuth "${MORE_BROKERS:-}"
certificate connect 20004 serverAuth "${MORE_WORKERS:-}"
certificate postgres 20001 serverAuth
certificate audit $audit serverAuth
keystores
