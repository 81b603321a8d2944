// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"regexp"
)

// IsFleet reports whether a program is a kueue-fleet: it has our flag.
func IsFleet(ctx context.Context, binary string) bool {
	// Upstream's ends with an error after it printed its flags.
	out, _ := exec.CommandContext(ctx, binary, "--help").CombinedOutput()
	return bytes.Contains(out, []byte("-fleet-config"))
}

// version is where every manager names its version in the log.
var version = regexp.MustCompile(`"gitVersion": ?"([^"]+)"`)

// Version is the version that the manager names in its log; empty if none.
func Version(logFile string) string {
	text, err := os.ReadFile(logFile)
	if err != nil {
		return ""
	}
	if match := version.FindSubmatch(text); match != nil {
		return string(match[1])
	}
	return ""
}
