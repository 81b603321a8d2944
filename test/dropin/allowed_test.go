// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package dropin

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"k8s.io/component-base/featuregate"

	"fleet.ai/kueue-fleet/pkg/features"
)

// fleetVersion is the form of our version: the base, and a number.
var fleetVersion = regexp.MustCompile(`^v0\.19\.2-fleet\.\d+$`)

// allowedDifferences are those that are meant to be there. Each one is on the
// compatibility page; the test fails for any other, and for an entry here that
// nothing needs any more.
func allowedDifferences() []Allowed {
	list := []Allowed{
		{
			Area: areaFlags, Key: "fleet-config", Check: OnlyOurs,
			Change: "ours has it besides",
			Reason: "our settings stand in a file of their own, so that upstream's configuration file stays as it is; without the flag, nothing of ours is on",
		},
		{
			Area: areaMetrics, Key: "kueue_fleet_build_info", Check: OnlyOurs,
			Change: "ours tells it besides",
			Reason: "a dashboard has to tell which version runs, during a swap most of all; all other metrics of ours have gates",
		},
		{
			Area: areaLog, Key: ourFirstMessage, Check: OnlyOurs,
			Change: "ours says it besides",
			Reason: "the base version and the hash of the patch series, for a bug report",
		},
		{
			Area: areaVersion, Key: "gitVersion in the log", Check: checkVersion,
			Change: "`v0.19.2` with a suffix `-fleet.N`",
			Reason: "a log has to tell which program wrote it",
		},
		{
			Area: areaVersion, Key: "user agent kueue/<version> (<platform>) <commit>", Check: checkVersion,
			Change: "`v0.19.2` with a suffix `-fleet.N`",
			Reason: "so has an audit log",
		},
	}
	gates := features.Gates()
	for _, name := range slices.Sorted(maps.Keys(gates)) {
		list = append(list, Allowed{
			Area: areaGates, Key: string(name), Check: checkGate(gates[name]),
			Change: "ours knows it besides, off by default",
			Reason: "what ours does beyond upstream has a gate",
		})
	}
	return list
}

// checkGate demands that a gate of ours is off unless it is switched on.
func checkGate(specs featuregate.VersionedSpecs) func(upstream, ours string) error {
	return func(upstream, ours string) error {
		for _, spec := range specs {
			if spec.Default {
				return errors.New("it is on by default")
			}
		}
		return OnlyOurs(upstream, ours)
	}
}

func checkVersion(upstream, ours string) error {
	if upstream != "v0.19.2" {
		return errors.New("upstream is not v0.19.2")
	}
	if !fleetVersion.MatchString(ours) {
		return fmt.Errorf("ours doesn't match %s", fleetVersion)
	}
	return nil
}
