#!/usr/bin/env bash
# Run a command with the settings beside this file and the secret of a file: run.sh python -m spark.land
# Outside Kubernetes, Spark takes the secret as a setting only. In a file of settings, no list of processes shows it.
set -euo pipefail
umask 077
settings=$(mktemp -d)
{
  cat "$(dirname "$0")/spark-defaults.conf"
  echo "spark.authenticate.secret $(cat "$SPARK_SECRET_FILE")"
} > "$settings/spark-defaults.conf"
export SPARK_CONF_DIR=$settings
exec "$@"
