// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"io"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// Log is where the libraries in this process log to. They take a logger once
// and for all, so a process that starts several sandboxes, one after the
// other, has one Log and turns it to the file of each.
type Log struct {
	logger logr.Logger

	mu  sync.Mutex
	out io.Writer
}

// NewLog returns a Log that leads nowhere yet, and gives it to the libraries.
func NewLog() *Log {
	l := &Log{out: io.Discard}
	l.logger = zap.New(zap.WriteTo(l), zap.UseDevMode(false))
	// KubeRay logs through the global logger.
	ctrl.SetLogger(l.logger)
	klog.SetLogger(l.logger)
	return l
}

// Write writes to where the Log leads.
func (l *Log) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(text)
}

// turn makes the Log lead to out.
func (l *Log) turn(out io.Writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out = out
}
