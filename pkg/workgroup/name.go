// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

const (
	// hashLength is how many hex digits tell jobs of one name, and groups whose names
	// were cut, apart.
	hashLength = 8
	// maxBase leaves room for a hash and the number of a slice in a label value.
	maxBase = 63 - hashLength - len("--1234567")
)

// baseName is the name of the first Workload of a job's group. It doesn't depend on
// what exists, so a Workload that is made twice is refused the second time.
func baseName(job string, uid types.UID, group string) string {
	sum := sha256.Sum256([]byte(string(uid) + "/" + group))
	base := "rayjob-" + job + "-" + group
	if len(base) > maxBase {
		base = strings.TrimRight(base[:maxBase], "-.")
	}
	return base + "-" + hex.EncodeToString(sum[:])[:hashLength]
}

// nextName is the name of the next Workload of a group that has had some already.
func nextName(base string, existing []*kueue.Workload) string {
	highest := 0
	for _, wl := range existing {
		highest = max(highest, ordinal(base, wl.Name))
	}
	if highest == 0 {
		return base
	}
	return base + "-" + strconv.Itoa(highest+1)
}

// ordinal is the position of a Workload among those of its group: 1 for the base
// name, 0 for a name of another kind.
func ordinal(base, name string) int {
	if name == base {
		return 1
	}
	suffix, ok := strings.CutPrefix(name, base+"-")
	if !ok {
		return 0
	}
	n, err := strconv.Atoi(suffix)
	if err != nil || n < 2 {
		return 0
	}
	return n
}
