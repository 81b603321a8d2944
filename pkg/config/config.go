// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package config reads the FleetConfiguration file.
package config

import (
	"errors"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"

	configapi "fleet.ai/kueue-fleet/apis/config/v1alpha1"
)

// defaultMaxWindow is the cap that Kueue's KEP-4803 has.
const defaultMaxWindow = 2 * time.Hour

var errEmpty = errors.New("the file is empty")

// Load reads the FleetConfiguration in the file at path, or returns the default
// one if path is empty. Decoding is strict: the error names each field that the
// configuration doesn't have, or has twice, and the file.
func Load(path string) (*configapi.FleetConfiguration, error) {
	if path == "" {
		return newDefault(), nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("failed to read the fleet configuration: %w", err)
	}
	cfg, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("failed to load the fleet configuration from %s: %w", path, err)
	}
	return cfg, nil
}

func newDefault() *configapi.FleetConfiguration {
	cfg := &configapi.FleetConfiguration{}
	cfg.SetGroupVersionKind(configapi.GroupVersion.WithKind(configapi.Kind))
	setDefaults(cfg)
	return cfg
}

func decode(data []byte) (*configapi.FleetConfiguration, error) {
	if len(data) == 0 {
		return nil, fmt.Errorf("%w: want apiVersion %q, kind %q", errEmpty, configapi.GroupVersion, configapi.Kind)
	}
	scheme := runtime.NewScheme()
	if err := configapi.AddToScheme(scheme); err != nil {
		return nil, err
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	obj, _, err := decoder.Decode(data, nil, nil)
	switch {
	case runtime.IsMissingVersion(err), runtime.IsMissingKind(err), runtime.IsNotRegisteredError(err):
		return nil, fmt.Errorf("%w: want apiVersion %q, kind %q", err, configapi.GroupVersion, configapi.Kind)
	case err != nil:
		return nil, err
	}
	cfg, ok := obj.(*configapi.FleetConfiguration)
	if !ok {
		return nil, fmt.Errorf("the file holds a %T: want apiVersion %q, kind %q", obj, configapi.GroupVersion, configapi.Kind)
	}
	setDefaults(cfg)
	if errs := validate(cfg); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	return cfg, nil
}

func setDefaults(cfg *configapi.FleetConfiguration) {
	if cfg.ReadinessRecovery == nil {
		cfg.ReadinessRecovery = &configapi.ReadinessRecovery{}
	}
	if cfg.ReadinessRecovery.MaxWindow == nil {
		cfg.ReadinessRecovery.MaxWindow = &metav1.Duration{Duration: defaultMaxWindow}
	}
}

func validate(cfg *configapi.FleetConfiguration) field.ErrorList {
	var errs field.ErrorList
	if window := cfg.ReadinessRecovery.MaxWindow.Duration; window <= 0 {
		errs = append(errs, field.Invalid(field.NewPath("readinessRecovery", "maxWindow"), window.String(),
			"must be longer than 0, for example 2h"))
	}
	return errs
}
