// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPrint(t *testing.T) {
	var out strings.Builder
	p := NewPrinter(&out, start)
	p.Print(Event{At: start.Add(1234 * time.Millisecond), Job: "gang", What: Queued, Text: "in lq"})
	p.Print(Event{At: start.Add(100 * time.Second), Job: "gang", What: Admitted, Text: "on n1", Latency: 56 * time.Millisecond, Since: "it was queued"})
	want := "    1.234s  gang           queued     in lq\n" +
		"  100.000s  gang           admitted   on n1  (56 ms after it was queued)\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("lines (-want,+got):\n%s", diff)
	}
}
