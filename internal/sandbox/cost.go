// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"fmt"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/kubernetes"

	"fleet.ai/kueue-fleet/internal/sandbox/manager"
	"fleet.ai/kueue-fleet/internal/sandbox/recording"
)

// writeVerbs are those with which the API server counts requests that change
// an object.
var writeVerbs = []string{"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"}

// cost is what the manager has taken so far.
func (s *Sandbox) cost() (recording.Cost, error) {
	var cost recording.Cost
	pid, ok := s.sup.PIDs()[manager.Name]
	if !ok {
		return cost, fmt.Errorf("failed to measure %s: it does not run", manager.Name)
	}
	usage, err := s.proc.Usage(pid)
	if err != nil {
		return cost, err
	}
	cost.CPUSeconds, cost.PeakBytes = usage.CPU.Seconds(), usage.PeakBytes
	cost.WorkloadWrites, err = s.workloadWrites()
	return cost, err
}

// workloadWrites counts the requests that changed Workloads, by the API
// server's own metrics.
func (s *Sandbox) workloadWrites() (int64, error) {
	c, err := kubernetes.NewForConfig(s.rest)
	if err != nil {
		return 0, fmt.Errorf("failed to make a client: %w", err)
	}
	body, err := c.RESTClient().Get().AbsPath("/metrics").Stream(s.ctx)
	if err != nil {
		return 0, fmt.Errorf("failed to read the API server's metrics: %w", err)
	}
	defer body.Close()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(body)
	if err != nil {
		return 0, fmt.Errorf("failed to read the API server's metrics: %w", err)
	}
	return countWrites(families["apiserver_request_total"]), nil
}

func countWrites(requests *dto.MetricFamily) int64 {
	var n float64
	for _, metric := range requests.GetMetric() {
		labels := map[string]string{}
		for _, label := range metric.GetLabel() {
			labels[label.GetName()] = label.GetValue()
		}
		if labels["group"] == "kueue.x-k8s.io" && labels["resource"] == "workloads" && slices.Contains(writeVerbs, labels["verb"]) {
			n += metric.GetCounter().GetValue()
		}
	}
	return int64(n)
}
