#!/usr/bin/env bash
# Copyright The kueue-fleet Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs make targets one after the other and prints how long each took. Stops at
# the first that fails.
# Usage: hack/phases.sh TARGET...
set -u -o pipefail

names=() seconds=() status=0
for target in "$@"; do
  printf '\n=== %s\n' "$target"
  began=$SECONDS
  "${MAKE:-make}" --no-print-directory "$target" || status=$?
  names+=("$target")
  seconds+=($((SECONDS - began)))
  [ "$status" -eq 0 ] || break
done

printf '\n%-28s %8s\n' phase seconds
for i in "${!names[@]}"; do
  printf '%-28s %8d\n' "${names[$i]}" "${seconds[$i]}"
done
printf '%-28s %8d\n' total "$SECONDS"
if [ "$status" -ne 0 ]; then
  printf '\n%s failed (exit %d)\n' "${names[-1]}" "$status"
fi
exit "$status"
