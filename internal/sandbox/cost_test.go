// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

func TestCountWrites(t *testing.T) {
	const text = `# TYPE apiserver_request_total counter
apiserver_request_total{code="200",group="kueue.x-k8s.io",resource="workloads",subresource="status",verb="PATCH"} 7
apiserver_request_total{code="201",group="kueue.x-k8s.io",resource="workloads",subresource="",verb="POST"} 2
apiserver_request_total{code="409",group="kueue.x-k8s.io",resource="workloads",subresource="",verb="PUT"} 1
apiserver_request_total{code="200",group="kueue.x-k8s.io",resource="workloads",subresource="",verb="LIST"} 100
apiserver_request_total{code="200",group="kueue.x-k8s.io",resource="localqueues",subresource="status",verb="PUT"} 100
apiserver_request_total{code="200",group="",resource="pods",subresource="",verb="PATCH"} 100
`
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := countWrites(families["apiserver_request_total"]), int64(10); got != want {
		t.Errorf("countWrites() = %d, want %d", got, want)
	}
	if got := countWrites(nil); got != 0 {
		t.Errorf("countWrites() of an API server that has counted nothing = %d, want 0", got)
	}
}
