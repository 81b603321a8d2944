// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package readinessrecovery

import (
	"fmt"
	"slices"
	"strings"
	"time"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// Request is what Resolve judges: a job as its integration sees it.
type Request struct {
	// PodSets of the job, as the user wrote them.
	PodSets []kueue.PodSet
	// JobAnnotations are those of the job object.
	JobAnnotations map[string]string
	// Generated are the PodSets that the integration has added.
	Generated []string
	// MaxWindow is the longest duration that the administrator allows.
	MaxWindow time.Duration
}

// Resolve decides what the owner of a job asks for. A key of the pod templates
// applies if all of them have it with the same value; if they don't, the cluster's
// setting applies, whatever the job's own annotation says. Where no template has a
// key, the job's annotation applies.
func Resolve(r Request) *Policy {
	p := &Policy{Generated: slices.Clone(r.Generated)}
	job := r.jobSettings(p)

	p.Start = r.duration(p, StartupTimeoutAnnotation, job.Start)
	p.Recovery = r.duration(p, RecoveryTimeoutAnnotation, job.Recovery)
	p.BackoffBase = r.duration(p, BackoffBaseAnnotation, nil)
	p.BackoffMax = r.duration(p, BackoffMaxAnnotation, nil)
	if value, found := r.agreed(p, BackoffLimitAnnotation, sameLimit); found {
		if limit, err := ParseLimit(value); err != nil {
			p.ignore(BackoffLimitAnnotation, invalidValue(value, err))
		} else {
			p.BackoffLimit = &limit
		}
	}
	return p
}

func (r *Request) jobSettings(p *Policy) Policy {
	value, found := r.JobAnnotations[WaitForPodsReadyAnnotation]
	if !found {
		return Policy{}
	}
	parsed, err := ParseWaitForPodsReady(value, r.MaxWindow)
	if err != nil {
		p.ignore(WaitForPodsReadyAnnotation, invalidValue(value, err))
		return Policy{}
	}
	settings := Policy{Start: newDuration(time.Duration(*parsed.TimeoutSeconds)*time.Second, Job)}
	if parsed.RecoveryTimeoutSeconds != nil {
		settings.Recovery = newDuration(time.Duration(*parsed.RecoveryTimeoutSeconds)*time.Second, Job)
	}
	return settings
}

func (r *Request) duration(p *Policy, key string, job *Duration) *Duration {
	if !r.anyTemplateHas(key) {
		return job
	}
	value, found := r.agreed(p, key, sameDuration)
	if !found {
		return nil
	}
	d, err := ParseDuration(value, r.MaxWindow)
	if err != nil {
		p.ignore(key, invalidValue(value, err))
		return nil
	}
	return newDuration(d, PodTemplate)
}

func (r *Request) anyTemplateHas(key string) bool {
	return slices.ContainsFunc(r.PodSets, func(ps kueue.PodSet) bool {
		_, found := ps.Template.Annotations[key]
		return found
	})
}

// agreed returns the value that all templates have for the key. If some have
// another one, or none, it notes that the key is ignored.
func (r *Request) agreed(p *Policy, key string, same func(a, b string) bool) (string, bool) {
	var first string
	var found, differ bool
	var seen []string
	for i := range r.PodSets {
		ps := &r.PodSets[i]
		value, has := ps.Template.Annotations[key]
		switch {
		case !has && slices.Contains(r.Generated, string(ps.Name)):
			continue
		case !has:
			seen = append(seen, fmt.Sprintf("%s has none", ps.Name))
			differ = true
		default:
			seen = append(seen, fmt.Sprintf("%s has %q", ps.Name, value))
			differ = differ || (found && !same(first, value))
			if !found {
				first, found = value, true
			}
		}
	}
	if found && differ {
		p.ignore(key, "the PodSets differ: "+strings.Join(seen, ", "))
		return "", false
	}
	return first, found
}

func (p *Policy) ignore(key, reason string) {
	p.Ignored = append(p.Ignored, Ignored{Key: key, Reason: reason})
}

func invalidValue(value string, err error) string {
	return fmt.Sprintf("value %q %v", value, err)
}

func sameDuration(a, b string) bool {
	da, errA := time.ParseDuration(a)
	db, errB := time.ParseDuration(b)
	return a == b || (errA == nil && errB == nil && da == db)
}

func sameLimit(a, b string) bool {
	la, errA := ParseLimit(a)
	lb, errB := ParseLimit(b)
	return a == b || (errA == nil && errB == nil && la == lb)
}
