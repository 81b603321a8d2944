// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"encoding/json"
	"fmt"
	"os"
)

// ReadFile reads a recording. Fields that it does not know are of a later
// release and are left out.
func ReadFile(path string) (*Recording, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("failed to read a recording: %w", err)
	}
	var rec Recording
	if err := json.Unmarshal(text, &rec); err != nil {
		return nil, fmt.Errorf("failed to read the recording %s: %w", path, err)
	}
	if rec.Version != Version {
		return nil, fmt.Errorf("failed to read the recording %s: version is %d, allowed is %d", path, rec.Version, Version)
	}
	return &rec, nil
}
