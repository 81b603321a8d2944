// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"strings"

	"fleet.ai/kueue-fleet/internal/sandbox/scenario"
)

// Describe is a condition in words.
func Describe(c *scenario.Condition) string {
	var parts []string
	if c.Event != "" {
		parts = append(parts, "event "+c.Event)
	}
	if c.Job != "" {
		words := []string{c.Job}
		if c.Group != "" {
			words = append(words, "("+c.Group+")")
		}
		if c.State != "" {
			words = append(words, string(c.State))
		}
		if c.Workers != nil {
			words = append(words, fmt.Sprintf("with %d workers", *c.Workers))
		}
		if c.Waits != nil {
			words = append(words, fmt.Sprintf("waiting for %d workers", *c.Waits))
		}
		if c.Pods != nil {
			words = append(words, fmt.Sprintf("%d pods on nodes", *c.Pods))
		}
		if c.Items > 0 {
			words = append(words, fmt.Sprintf("%d items done", c.Items))
		}
		if c.Evictions > 0 {
			words = append(words, fmt.Sprintf("evicted %d times", c.Evictions))
		}
		parts = append(parts, strings.Join(words, " "))
	}
	return strings.Join(parts, " and ")
}

func describeAll(list []scenario.Condition) string {
	words := make([]string, len(list))
	for i := range list {
		words[i] = Describe(&list[i])
	}
	return strings.Join(words, ", then ")
}
