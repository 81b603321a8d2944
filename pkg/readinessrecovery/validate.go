// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package readinessrecovery

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateObject checks the annotations of an object of any kind, in the form that
// JSON decodes to: those of all pod templates in it, however deep, and the job's own.
// Errors name the field, the value and what is allowed.
func ValidateObject(object map[string]any, maxWindow time.Duration) field.ErrorList {
	v := validator{maxWindow: maxWindow}
	v.walk(object, nil)
	return v.errs
}

// ValidateChange returns the errors of ValidateObject that the old object doesn't
// have, so that an object which slipped through can still be changed.
func ValidateChange(old, updated map[string]any, maxWindow time.Duration) field.ErrorList {
	known := ValidateObject(old, maxWindow)
	return slices.DeleteFunc(ValidateObject(updated, maxWindow), func(e *field.Error) bool {
		return slices.ContainsFunc(known, func(k *field.Error) bool {
			return k.Field == e.Field && k.BadValue == e.BadValue
		})
	})
}

type validator struct {
	maxWindow time.Duration
	errs      field.ErrorList
}

func (v *validator) walk(value any, path *field.Path) {
	switch value := value.(type) {
	case map[string]any:
		// In a fixed order, so that the message is always the same.
		for _, key := range sortedKeys(value) {
			at := path.Child(key)
			annotations, isMap := value[key].(map[string]any)
			if key == "annotations" && isMap {
				v.annotations(annotations, at)
				continue
			}
			// What a controller reports is not the user's.
			if path == nil && key == "status" {
				continue
			}
			v.walk(value[key], at)
		}
	case []any:
		for i := range value {
			v.walk(value[i], path.Index(i))
		}
	}
}

func (v *validator) annotations(annotations map[string]any, path *field.Path) {
	check := func(key string, parse func(string) error) {
		value, isString := annotations[key].(string)
		if !isString {
			return
		}
		if err := parse(value); err != nil {
			v.errs = append(v.errs, field.Invalid(path.Key(key), value, fmt.Sprint(err)))
		}
	}
	for _, key := range TemplateKeys() {
		check(key, func(value string) error {
			if key == BackoffLimitAnnotation {
				_, err := ParseLimit(value)
				return err
			}
			_, err := ParseDuration(value, v.maxWindow)
			return err
		})
	}
	check(WaitForPodsReadyAnnotation, func(value string) error {
		_, err := ParseWaitForPodsReady(value, v.maxWindow)
		return err
	})
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
