// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package board

import (
	"context"
	"crypto/subtle"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// tokenHeader must carry the page's token. A page of another origin can
// neither read the token nor set the header.
const tokenHeader = "X-Fleet-Token"

// Submitter creates a job.
type Submitter interface {
	Submit(ctx context.Context, job *unstructured.Unstructured) error
}

// SubmitFunc is a function that is a Submitter.
type SubmitFunc func(ctx context.Context, job *unstructured.Unstructured) error

// Submit implements Submitter.
func (f SubmitFunc) Submit(ctx context.Context, job *unstructured.Unstructured) error {
	return f(ctx, job)
}

// serveAction submits the jobs of a shape.
func (b *Board) serveAction(w http.ResponseWriter, r *http.Request) {
	if !b.AllowChanges {
		http.Error(w, "this board only shows; start it with --allow-changes", http.StatusForbidden)
		return
	}
	if subtle.ConstantTimeCompare([]byte(r.Header.Get(tokenHeader)), []byte(b.token)) != 1 {
		http.Error(w, "the page is older than the fleet: load it again", http.StatusForbidden)
		return
	}
	shape, ok := findShape(r.PathValue("name"))
	if !ok {
		http.Error(w, fmt.Sprintf("there is no shape %q, allowed are %s", r.PathValue("name"), strings.Join(shapeNames(), ", ")), http.StatusNotFound)
		return
	}
	jobs, err := b.shapes.jobs(shape)
	if err != nil {
		b.Log.Error("failed to make the jobs", "shape", shape.Name, "error", err)
		http.Error(w, "failed to make the jobs", http.StatusInternalServerError)
		return
	}
	var names []string
	for _, job := range jobs {
		if err := b.Submitter.Submit(r.Context(), job); err != nil {
			b.Log.Info("job was not submitted", "job", job.GetName(), "error", err)
			http.Error(w, fmt.Sprintf("%s: %v", job.GetName(), err), http.StatusUnprocessableEntity)
			return
		}
		names = append(names, job.GetName())
	}
	b.Log.Info("jobs were submitted", "shape", shape.Name, "jobs", names)
	_, _ = fmt.Fprintf(w, "Submitted %s.\n", strings.Join(names, ", "))
}
