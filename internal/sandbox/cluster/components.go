// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"fleet.ai/kueue-fleet/internal/sandbox/ports"
	"fleet.ai/kueue-fleet/internal/sandbox/process"
)

// stages tell kwok how nodes and pods move through their lives.
//
//go:embed stages.yaml
var stages []byte

const loopback = "127.0.0.1"

// controllers are those that the scenarios need: owners' deletions cascade,
// namespaces get their service account, nodes lose their not-ready taint and
// are noticed when they fail, and Jobs run.
var controllers = []string{
	"namespace-controller",
	"serviceaccount-controller",
	"garbage-collector-controller",
	"job-controller",
	"pod-garbage-collector-controller",
	"endpointslice-controller",
	"node-lifecycle-controller",
	"taint-eviction-controller",
}

func (c *Cluster) etcd() process.Spec {
	client := "http://" + c.ports.Addr(ports.EtcdClient)
	peer := "http://" + c.ports.Addr(ports.EtcdPeer)
	return process.Spec{
		Name: "etcd",
		Path: c.binaries.Etcd,
		Args: []string{
			"--data-dir", c.path("etcd"),
			"--unsafe-no-fsync=true", // The data is disposable.
			"--listen-client-urls", client,
			"--advertise-client-urls", client,
			"--listen-peer-urls", peer,
			"--initial-advertise-peer-urls", peer,
			"--initial-cluster", "default=" + peer,
			"--log-level", "warn",
		},
	}
}

func (c *Cluster) apiServer() process.Spec {
	return process.Spec{
		Name: "kube-apiserver",
		Path: c.binaries.APIServer,
		Args: []string{
			"--etcd-servers", "http://" + c.ports.Addr(ports.EtcdClient),
			"--bind-address", loopback,
			"--advertise-address", loopback,
			"--secure-port", c.port(ports.APIServer),
			"--tls-cert-file", c.path("apiserver.crt"),
			"--tls-private-key-file", c.path("apiserver.key"),
			"--service-cluster-ip-range", "10.96.0.0/16",
			"--service-account-key-file", c.path("sa.pub"),
			"--service-account-signing-key-file", c.path("sa.key"),
			"--service-account-issuer", "https://kubernetes.default.svc",
			"--token-auth-file", c.path("tokens.csv"),
			"--authorization-mode", "RBAC",
			"--endpoint-reconciler-type", "none",
			"--enable-priority-and-fairness=false",
			"--max-requests-inflight", "2000",
			"--max-mutating-requests-inflight", "1000",
			"--event-ttl", "30m",
			"--default-not-ready-toleration-seconds", c.settings.tolerationSeconds(),
			"--default-unreachable-toleration-seconds", c.settings.tolerationSeconds(),
		},
		// Custom resource schemas make most of its memory. A lower limit saves
		// some and costs start-up time.
		Env: []string{"GOMEMLIMIT=650MiB", "GOGC=150"},
	}
}

func (c *Cluster) controllerManager() process.Spec {
	return process.Spec{
		Name: "kube-controller-manager",
		Path: c.binaries.ControllerManager,
		Args: []string{
			"--kubeconfig", c.Kubeconfig(controllerManager.Name),
			"--leader-elect=false",
			"--bind-address", loopback,
			"--secure-port", c.port(ports.ControllerManager),
			"--use-service-account-credentials=false",
			"--controllers=" + strings.Join(controllers, ","),
			// Its usual 20 requests a second are of real time, in which many
			// times as much of a story goes on.
			"--kube-api-qps=200",
			"--kube-api-burst=400",
		},
	}
}

func (c *Cluster) scheduler() process.Spec {
	return process.Spec{
		Name: "kube-scheduler",
		Path: c.binaries.Scheduler,
		Args: []string{
			"--config", c.path("scheduler.yaml"),
			"--bind-address", loopback,
			"--secure-port", c.port(ports.Scheduler),
		},
	}
}

func (c *Cluster) schedulerConfig() string {
	return fmt.Sprintf(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: false
clientConnection:
  kubeconfig: %q
  qps: 200
  burst: 400
`, c.Kubeconfig(scheduler.Name))
}

func (c *Cluster) kwok() process.Spec {
	return process.Spec{
		Name: "kwok",
		Path: c.binaries.Kwok,
		Args: []string{
			"--kubeconfig", c.Kubeconfig(kwok.Name),
			"--config", c.path("stages.yaml"),
			"--manage-all-nodes",
			"--cidr", "10.200.0.0/16",
			"--node-ip", loopback,
			"--node-lease-duration-seconds", "40",
			"--server-address", c.ports.Addr(ports.Kwok),
		},
	}
}

func (c *Cluster) port(name ports.Name) string {
	return strconv.Itoa(c.ports[name])
}
