// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Platform is an operating system and a processor, by Go's names.
type Platform struct{ OS, Arch string }

// Platforms are those that a release is built for.
func Platforms() []Platform {
	return []Platform{{OS: "linux", Arch: "amd64"}, {OS: "linux", Arch: "arm64"}}
}

// ParsePlatform reads OS/ARCH and accepts what Platforms has.
func ParsePlatform(text string) (Platform, error) {
	var known []string
	for _, p := range Platforms() {
		if p.String() == text {
			return p, nil
		}
		known = append(known, p.String())
	}
	return Platform{}, fmt.Errorf("invalid platform %q: want one of %s", text, strings.Join(known, ", "))
}

func (p Platform) String() string { return p.OS + "/" + p.Arch }

// Program is what is compiled into the image.
type Program struct {
	// Dir is the folder of the module or workspace, Package the main package in it.
	Dir, Package string
	// LinkerFlags stamp the version.
	LinkerFlags string
}

// Compile builds the program into the file out. It links statically, and neither
// the folder nor the user's Go settings leave a trace in the result.
func (p Program) Compile(ctx context.Context, platform Platform, out string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", strings.TrimSpace(p.LinkerFlags+" -buildid="), "-o", out, p.Package)
	cmd.Dir, cmd.Env = p.Dir, environment(platform)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("failed to build %s for %s: %w:\n%s", p.Package, platform, err, output.String())
	}
	return nil
}

// environment is the go command's, for a platform.
func environment(platform Platform) []string {
	return append(os.Environ(),
		"CGO_ENABLED=0", "GOOS="+platform.OS, "GOARCH="+platform.Arch,
		// The oldest processors that Go supports, and nothing of the user's own.
		"GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=", "GOFIPS140=off")
}
