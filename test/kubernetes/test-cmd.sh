#!/usr/bin/env bash
# Runs the suite of kubectl in a checkout of Kubernetes (test/cmd) against a server that runs.
#
#   test-cmd.sh CHECKOUT PORT RESULTS [FUNCTION...]
#
# The server listens on 127.0.0.1:PORT and accepts the token admin-token. Without functions all are run. Upstream ends a function at its
# first error; this script continues and appends one line for each event to RESULTS:
#   begin FUNCTION | assertion FUNCTION | failure FUNCTION FILE:LINE COMMAND | end FUNCTION SECONDS
set -o nounset -o pipefail
checkout=$1 SECURE_API_PORT=$2 results=$3
shift 3
selected=" $* "
export TERM=dumb LANG=C ALLOW_SKEW=1

# The suite writes into its working directory and refers to files of the checkout by relative paths.
KUBE_TEMP=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$KUBE_TEMP"' EXIT
export HOME=$KUBE_TEMP/home TMPDIR=$KUBE_TEMP/tmp KUBE_JUNIT_REPORT_DIR=$KUBE_TEMP/junit
mkdir "$HOME" "$TMPDIR" "$KUBE_TEMP/work"
ln -s "$checkout"/* "$KUBE_TEMP/work"
cd "$KUBE_TEMP/work" || exit 1

KUBE_ROOT=$checkout THIS_PLATFORM_BIN=$(dirname "$(command -v kubectl)") SED=sed
source hack/lib/util.sh
source hack/lib/logging.sh
source hack/lib/test.sh
source test/cmd/legacy-script.sh
set +o errexit

kubectl config set-credentials test-admin --token admin-token
kubectl config set-cluster local --insecure-skip-tls-verify --server "https://127.0.0.1:$SECURE_API_PORT"
CONTEXT=test
kubectl config set-context "$CONTEXT" --user test-admin --cluster local
kubectl config use-context "$CONTEXT"

# Upstream's server writes its certificate there.
openssl s_client -connect "127.0.0.1:$SECURE_API_PORT" </dev/null 2>/dev/null | openssl x509 >"$TMPDIR/apiserver.crt"

# From here on no error ends a function. Between `set +o errexit` and `set -o errexit` the suite expects errors.
expects_errors=
set() {
  case "$*" in
    *+o\ errexit* | +e*) expects_errors=1 ;;
    *-o\ errexit* | -e*) expects_errors= ;;
    *) builtin set "$@" ;;
  esac
}

# Upstream tries ten times, for 45 s.
kube::test::wait_object_assert() { kube::test::object_assert 4 "$@"; }

# Counts calls of the assertions by the suite.
for assertion in $(compgen -A function kube::test:: | grep -v -e if_supports_resource -e get_caller -e clear_all -e _to_file); do
  eval "counted::$(declare -f "$assertion")"
  eval "$assertion() {
    if [[ \${FUNCNAME[1]} != *kube::test::* && -n \${running-} ]]; then echo \"assertion \$running\" >>\"\$results\"; fi
    counted::$assertion \"\$@\"
  }"
done

failed() {
  local code=$? command=${BASH_COMMAND//$'\n'/ }
  if [[ -z $expects_errors && $BASH_SUBSHELL -eq $depth && ${FUNCNAME[1]} != *kube::* ]]; then
    echo "failure $running $(basename "${BASH_SOURCE[1]}"):${BASH_LINENO[0]} $command" >>"$results"
    echo "=== failure at ${BASH_SOURCE[1]}:${BASH_LINENO[0]}: $command ($code)"
  fi
}

# Replaces the function of the suite: runs one of its functions in a shell of its own, for three minutes at most.
record_command() {
  running=$1
  if [[ $selected != '  ' && $selected != *" $running "* ]]; then return 0; fi
  echo "begin $running" >>"$results"
  local began=$SECONDS
  (
    depth=$BASH_SUBSHELL
    builtin set -o errtrace
    trap failed ERR
    "$@" </dev/null
    trap - ERR
    echo "end $running $((SECONDS - began))" >>"$results"
  ) &
  local shell=$!
  (sleep 180 && kill "$shell") &>/dev/null &
  local timer=$!
  wait "$shell"
  kill "$timer" 2>/dev/null
  stop-proxy
}

SUPPORTED_RESOURCES=('*')
kubectl create -f - <<'NODE'
{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "127.0.0.1", "annotations": {"save-managers": "true"}}, "status": {"capacity": {"memory": "1Gi"}}}
NODE
# Upstream's server authorizes every request.
kubectl create clusterrolebinding everybody --clusterrole=cluster-admin --group=system:authenticated --group=system:unauthenticated
# runTests has assertions of its own.
running=runTests depth=$BASH_SUBSHELL
runTests
