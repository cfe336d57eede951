#!/bin/sh
# Gates a contract and checks a server with it, for CI systems. The options are environment variables:
#   SPEC      the OpenAPI document                       BASE       the commit whose document callers use: gates if set
#   URL       the server: checks it if set               BREAKS     accepted breaks, a file of openapi-breaking
#   AUTH      the module that signs in                   BASELINE   accepted findings, a file of contract-check
#   OPTIONS   further options of contract-check, separated by spaces
# Writes breaks.md, report.json, contract.sarif and junit.xml to REPORTS. Exits with the status of the gate, or else of the check.
set -u
tools=$(cd "$(dirname "$0")/../../.." && pwd)
reports=${REPORTS:-contract-reports}
mkdir -p "$reports"
gate=0
check=0

if [ -n "${BASE:-}" ]; then
  before=$(mktemp -d)
  git worktree add --quiet --detach --force "$before" "$BASE" || exit 2
  node "$tools/packages/openapi-breaking/src/bin.ts" "$before/$SPEC" "$SPEC" ${BREAKS:+--baseline "$BREAKS"} >"$reports/breaks.txt" 2>&1
  gate=$?
  git worktree remove --force "$before"
  cat "$reports/breaks.txt"
  {
    echo '<!-- contract-check -->'
    case $gate in
      0) echo '**The contract breaks no callers.**' ;;
      1) echo '**The contract breaks callers.**' ;;
      *) echo '**The contract could not be compared.**' ;;
    esac
    printf '\n```\n%s\n```\n' "$(sed "s#$before/##g" "$reports/breaks.txt")"
  } >"$reports/breaks.md"
fi

if [ -n "${URL:-}" ]; then
  # shellcheck disable=SC2086 # Several options are several words.
  node "$tools/packages/contract-check/src/bin.ts" --spec "$SPEC" --url "$URL" ${AUTH:+--auth "$AUTH"} ${BASELINE:+--baseline "$BASELINE"} \
    --json "$reports/report.json" --sarif "$reports/contract.sarif" --junit "$reports/junit.xml" ${OPTIONS:-}
  check=$?
fi

[ "$gate" -ne 0 ] && exit "$gate"
exit "$check"
