// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kueue-fleet is the manager: Kueue's, with the extensions listed here.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"sigs.k8s.io/kueue/cmd/kueue/app"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"

	"fleet.ai/kueue-fleet/pkg/config"
	fitadapter "fleet.ai/kueue-fleet/pkg/elasticfit/kueueadapter"
	"fleet.ai/kueue-fleet/pkg/features"
	"fleet.ai/kueue-fleet/pkg/metrics"
	readinessadapter "fleet.ai/kueue-fleet/pkg/readinessrecovery/kueueadapter"
	"fleet.ai/kueue-fleet/pkg/version"
	"fleet.ai/kueue-fleet/pkg/workgroup"
)

func main() {
	if err := features.Register(utilfeature.DefaultMutableFeatureGate); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	app.Main(options()...)
}

// options is the whole wiring: what this manager has besides upstream's.
func options() []app.Option {
	var configFile string
	readiness := readinessadapter.New()
	groups := workgroup.NewClaimer()
	return append([]app.Option{
		app.WithFlags(func(fs *flag.FlagSet) {
			fs.StringVar(&configFile, "fleet-config", "",
				"The file that holds the FleetConfiguration (config.fleet.ai/v1alpha1). Omit this flag to use the defaults.")
		}),
		app.WithUserAgent(version.UserAgent()),
		app.WithTopologyFit(topologyFit),
		app.WithInit(func(log logr.Logger) error {
			v := version.Get()
			log.Info("Starting kueue-fleet", "version", v.Version, "base", v.Base, "patchSeries", v.PatchSeries)
			if err := metrics.RegisterBuildInfo(ctrlmetrics.Registry, v.Version, v.Base, v.PatchSeries); err != nil {
				return err
			}
			cfg, err := config.Load(configFile)
			if err != nil {
				return err
			}
			readiness.Configure(cfg.ReadinessRecovery)
			return nil
		}),
		app.WithManagerOptions(letRayJobsRunSideBySide),
		app.WithJobClaimerIf(workgroupEnabled, groups),
		app.WithExtension(workgroupExtension{claimer: groups, readiness: readiness}),
		app.WithExtension(observeExtension{}),
	}, readiness.Options()...)
}

// topologyFit returns the engines that place pods, or nil to leave it to Kueue.
func topologyFit() schdcache.TopologyFit {
	if !utilfeature.DefaultFeatureGate.Enabled(features.FleetElasticFit) {
		return nil
	}
	engines := fitadapter.New()
	ctrlmetrics.Registry.MustRegister(engines)
	return engines
}
