// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fleet.ai/kueue-fleet/internal/repo"
)

// The Dockerfile repeats what Config says; nothing else would notice when the two
// part.
func TestDockerfileSaysWhatTheImageSays(t *testing.T) {
	root, err := repo.FromWorkingDir()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		have[strings.TrimSpace(line)] = true
	}
	config := Config(toyRelease(t))
	for _, want := range []string{
		"FROM scratch",
		"USER " + config.User,
		"WORKDIR " + config.WorkingDir,
		"ENV " + strings.Join(config.Env, " "),
		fmt.Sprintf("ENTRYPOINT [%q]", config.Entrypoint[0]),
		"COPY --from=content /content/ /",
	} {
		if !have[want] {
			t.Errorf("the Dockerfile has no line %q", want)
		}
	}
}
