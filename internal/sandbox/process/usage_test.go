// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os"
	"testing"
)

func TestUsage(t *testing.T) {
	got, err := NewProcFS("/proc").Usage(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if got.ResidentBytes <= 0 || got.PeakBytes < got.ResidentBytes/2 {
		t.Errorf("this process holds %d bytes and has held %d at most", got.ResidentBytes, got.PeakBytes)
	}
	if got.CPU < 0 {
		t.Errorf("this process has taken %s of processor time", got.CPU)
	}
	if _, err := NewProcFS("/proc").Usage(1 << 30); err == nil {
		t.Error("a process that does not exist has a usage")
	}
}
