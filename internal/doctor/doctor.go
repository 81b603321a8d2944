// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package doctor says whether a cluster is ready to be swapped to kueue-fleet's
// manager, and whether anything stands in the way of going back.
package doctor

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// The kinds that are looked at, as they are called in messages.
const (
	Deployments   = "Deployments"
	ClusterQueues = "ClusterQueues"
	Workloads     = "Workloads"
	RayJobs       = "RayJobs"
)

// ManagerLabel and ManagerValue find the manager's Deployment, of Kueue's chart and
// of its manifests.
const (
	ManagerLabel = "control-plane"
	ManagerValue = "controller-manager"
)

// groupScope is the annotation by which a RayJob's groups are admitted one by one.
// Kueue's own manager doesn't know it.
const groupScope = "ray/kueue-admission-scope"

// gatePrefix begins the names of kueue-fleet's feature gates.
const gatePrefix = "Fleet"

// State is what is known of a cluster.
type State struct {
	Deployments   []appsv1.Deployment
	ClusterQueues []kueue.ClusterQueue
	Workloads     []kueue.Workload
	RayJobs       []unstructured.Unstructured
	// Unreadable names the kinds that the user may not read, or that aren't there.
	Unreadable []string
}

// Level is how a check came out.
type Level string

// A Failed check has to be dealt with before a swap; Before going back, what a
// Warning names has to be looked at.
const (
	Passed  Level = "ok"
	Warning Level = "warning"
	Failed  Level = "failed"
)

// Check is one finding.
type Check struct {
	Name    string `json:"name"`
	Level   Level  `json:"level"`
	Message string `json:"message"`
}

// Report is the outcome of all checks.
type Report struct {
	Checks []Check `json:"checks"`
}

// Failed says whether any check failed.
func (r Report) Failed() bool {
	return slices.ContainsFunc(r.Checks, func(c Check) bool { return c.Level == Failed })
}

// Examine makes all checks. The base is the version of Kueue that the swap is to.
func Examine(s *State, base string) Report {
	return Report{Checks: []Check{
		s.rights(), s.manager(base), s.replicas(), s.queues(), s.evictions(), s.groups(), s.gates(),
	}}
}

func check(name string, level Level, format string, args ...any) Check {
	return Check{Name: name, Level: level, Message: fmt.Sprintf(format, args...)}
}

func (s *State) unreadable(kind string) bool { return slices.Contains(s.Unreadable, kind) }

func (s *State) rights() Check {
	const name = "rights"
	if s.unreadable(ClusterQueues) || s.unreadable(Workloads) {
		return check(name, Failed, "Kueue's API v1beta2 can't be read: it is not installed, or you have no right to it")
	}
	if len(s.Unreadable) > 0 {
		return check(name, Warning, "not there, or you may not read it: %s", strings.Join(s.Unreadable, ", "))
	}
	return check(name, Passed, "everything can be read")
}

// managers are the Deployments that run a manager of Kueue's, with its container.
func (s *State) managers() map[*appsv1.Deployment]corev1.Container {
	out := map[*appsv1.Deployment]corev1.Container{}
	for i := range s.Deployments {
		d := &s.Deployments[i]
		for _, c := range d.Spec.Template.Spec.Containers {
			if c.Name == "manager" && d.Labels["app.kubernetes.io/name"] == "kueue" {
				out[d] = c
			}
		}
	}
	return out
}

// manager compares the running version with the base: a swap changes one thing at a
// time.
func (s *State) manager(base string) Check {
	const name = "manager"
	found := s.managers()
	if s.unreadable(Deployments) {
		return check(name, Warning, "the manager's Deployment can't be read")
	}
	if len(found) != 1 {
		return check(name, Failed, "there are %d Deployments of a Kueue manager, want one", len(found))
	}
	for d, c := range found {
		_, tag, _ := strings.Cut(c.Image[strings.LastIndex(c.Image, "/")+1:], ":")
		tag, _, _ = strings.Cut(tag, "@")
		if tag != base && !strings.HasPrefix(tag, base+"-fleet.") {
			return check(name, Warning, "%s/%s runs %s; the base of this release is %s: if that image has another version, go to %s first", d.Namespace, d.Name, c.Image, base, base)
		}
		return check(name, Passed, "%s/%s runs %s", d.Namespace, d.Name, c.Image)
	}
	return Check{}
}

func (s *State) replicas() Check {
	const name = "replicas"
	for d := range s.managers() {
		want := int32(1)
		if d.Spec.Replicas != nil {
			want = *d.Spec.Replicas
		}
		if d.Status.ReadyReplicas < want {
			return check(name, Failed, "%s/%s has %d of %d replicas ready", d.Namespace, d.Name, d.Status.ReadyReplicas, want)
		}
		return check(name, Passed, "%d of %d ready", d.Status.ReadyReplicas, want)
	}
	return check(name, Warning, "no manager is known")
}

func (s *State) queues() Check {
	const name = "queues"
	var inactive []string
	for i := range s.ClusterQueues {
		c := apimeta.FindStatusCondition(s.ClusterQueues[i].Status.Conditions, kueue.ClusterQueueActive)
		if c == nil || c.Status != metav1.ConditionTrue {
			inactive = append(inactive, s.ClusterQueues[i].Name)
		}
	}
	if len(inactive) > 0 {
		return check(name, Warning, "not active: %s", some(inactive))
	}
	return check(name, Passed, "all %d ClusterQueues are active", len(s.ClusterQueues))
}

// evictions names Workloads that are between two states: a swap is easier to judge
// when there are none.
func (s *State) evictions() Check {
	const name = "evictions"
	var between []string
	for i := range s.Workloads {
		wl := &s.Workloads[i]
		if wl.Status.Admission != nil && apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadEvicted) {
			between = append(between, wl.Namespace+"/"+wl.Name)
		}
	}
	if len(between) > 0 {
		return check(name, Warning, "evicted, and still holding quota: %s", some(between))
	}
	return check(name, Passed, "no Workload is being evicted")
}

// groups names jobs that Kueue's own manager would take as ordinary ones.
func (s *State) groups() Check {
	const name = "before going back: groups"
	var left []string
	for i := range s.RayJobs {
		job := &s.RayJobs[i]
		status, _, _ := unstructured.NestedString(job.Object, "status", "jobDeploymentStatus")
		if _, found := job.GetAnnotations()[groupScope]; found && status != "Complete" && status != "Failed" {
			left = append(left, job.GetNamespace()+"/"+job.GetName())
		}
	}
	if len(left) > 0 {
		return check(name, Warning, "RayJobs with %s that Kueue's own manager doesn't know how to run: %s", groupScope, some(left))
	}
	return check(name, Passed, "no unfinished RayJob has %s", groupScope)
}

// gates names gates on the command line that Kueue's own manager refuses.
func (s *State) gates() Check {
	const name = "before going back: flags"
	var left []string
	for d, c := range s.managers() {
		for _, arg := range slices.Concat(c.Command, c.Args) {
			flag, value, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
			if flag == "fleet-config" {
				left = append(left, d.Namespace+"/"+d.Name+" --fleet-config")
			}
			if flag != "feature-gates" {
				continue
			}
			for gate := range strings.SplitSeq(value, ",") {
				if strings.HasPrefix(gate, gatePrefix) {
					left = append(left, d.Namespace+"/"+d.Name+" "+gate)
				}
			}
		}
	}
	if len(left) > 0 {
		return check(name, Warning, "Kueue's own manager doesn't start with these (helm rollback removes them): %s", some(left))
	}
	return check(name, Passed, "the manager has no flag that Kueue's own doesn't know")
}

// some lists a few names and counts the rest.
func some(names []string) string {
	const most = 5
	slices.Sort(names)
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// Print writes the report for people.
func (r Report) Print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CHECK\tRESULT\tDETAIL")
	for _, c := range r.Checks {
		fmt.Fprintf(w, "%s\t%s\t%s\n", c.Name, c.Level, c.Message)
	}
	w.Flush()
}
