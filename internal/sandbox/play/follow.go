// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fleet.ai/kueue-fleet/internal/sandbox/simray"
)

// Follow records what happens on the cluster until ctx is done, without a
// story of its own. Invariants are checked meanwhile. ready is called when all
// that is there is recorded.
func (p *Player) Follow(parent context.Context, ready func()) error {
	ctx, stop := context.WithCancelCause(parent)
	defer stop(nil)
	p.Runtime.SetTimeScale(p.scenario.TimeScale)
	if err := p.watch(ctx); err != nil {
		return err
	}
	guarded := p.guard(ctx, stop)
	defer func() { <-guarded }()
	if err := p.prepare(ctx); err != nil {
		stop(err)
		return err
	}
	ready()
	ticker := p.Clock.NewTicker(beat)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C():
			p.recorder.Tick(p.Clock.Now())
		}
	}
}

// Submit creates a job that is not of the scenario. Its work and its class are
// what its annotations say.
func (p *Player) Submit(ctx context.Context, object *unstructured.Unstructured) error {
	if _, err := simray.ParseWork(object.GetAnnotations()[simray.WorkAnnotation]); err != nil {
		return err
	}
	if err := p.provide(ctx, object); err != nil {
		return err
	}
	_, err := p.Applier.CreateRetrying(ctx, object)
	return err
}
