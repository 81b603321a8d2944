// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

// Amounts are quantities as integers: CPU in thousandths, all else in its own unit.
type Amounts map[corev1.ResourceName]int64

func units(name corev1.ResourceName, q resource.Quantity) int64 {
	if name == corev1.ResourceCPU {
		return q.MilliValue()
	}
	return q.Value()
}

func amountsOf(list corev1.ResourceList) Amounts {
	out := Amounts{}
	for name, quantity := range list {
		out[name] = units(name, quantity)
	}
	return out
}

// podAmounts are a pod's requests, and the pod itself.
func podAmounts(spec *corev1.PodSpec) Amounts {
	out := amountsOf(resourcehelper.PodRequests(&corev1.Pod{Spec: *spec}, resourcehelper.PodResourcesOptions{}))
	out[corev1.ResourcePods] = 1
	return out
}

// add changes a by n times b.
func (a Amounts) add(b Amounts, n int64) {
	for name, value := range b {
		a[name] += n * value
	}
}

// pods is how many pods that ask for each fit into a, at most limit.
func (a Amounts) pods(each Amounts, limit int64) int64 {
	n := limit
	for name, value := range each {
		if value > 0 {
			n = min(n, max(a[name], 0)/value)
		}
	}
	return n
}

// key is the resource that a job is about: the extended one that it asks the most
// of, or CPU.
func (a Amounts) key() corev1.ResourceName {
	best := corev1.ResourceCPU
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if strings.Contains(string(name), "/") && a[name] > 0 && (best == corev1.ResourceCPU || a[name] > a[best]) {
			best = name
		}
	}
	return best
}

// amount writes a number of a resource as people do: 8 GPUs, 500m CPU, 2Gi memory.
func amount(name corev1.ResourceName, n int64) string {
	switch {
	case name == corev1.ResourceCPU:
		return resource.NewMilliQuantity(n, resource.DecimalSI).String() + " CPU"
	case name == corev1.ResourceMemory, name == corev1.ResourceEphemeralStorage, strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix):
		return fmt.Sprintf("%s %s", resource.NewQuantity(n, resource.BinarySI), name)
	case strings.HasSuffix(string(name), "/gpu"):
		return plural(n, "GPU")
	case name == corev1.ResourcePods:
		return plural(n, "pod")
	}
	return fmt.Sprintf("%d %s", n, name)
}

func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// String names all amounts, the pod itself left out.
func (a Amounts) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if name != corev1.ResourcePods && a[name] != 0 {
			parts = append(parts, amount(name, a[name]))
		}
	}
	return strings.Join(parts, ", ")
}
