// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package dropin

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fleet.ai/kueue-fleet/internal/managertest"
)

// liveConfig is upstream's default configuration with addresses that can stand
// beside other programs, with the Ray integrations, and without the visibility
// server, which keeps its certificates in a fixed folder at the root.
const liveConfig = `apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
health:
  healthProbeBindAddress: 127.0.0.1:%[1]d
metrics:
  bindAddress: 127.0.0.1:%[2]d
  enableClusterQueueResources: true
webhook:
  host: 127.0.0.1
  port: %[3]d
  certDir: %[4]s
leaderElection:
  leaderElect: true
  resourceNamespace: kueue-system
clientConnection:
  qps: 300
  burst: 500
waitForPodsReady:
  timeout: 30m
integrations:
  frameworks: ["batch/job", "ray.io/rayjob", "ray.io/raycluster", "pod", "deployment", "statefulset"]
featureGates:
  VisibilityOnDemand: false
`

// live is a manager that runs against an API server of its own.
type live struct {
	*session
	program  *program
	plane    *managertest.Plane
	recorder *managertest.Recorder
	process  *managertest.Process

	health, metrics string
	http            *http.Client
}

// observe starts a program as an upgrade would find it - upstream's installation,
// upstream's roles - takes it through its life, and notes what it shows in each
// area. Metrics that the program is known to have are waited for.
func (s *session) observe(t *testing.T, p *program, assets string, installation, definitions []*unstructured.Unstructured, known Facts) map[string]Facts {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	l := s.startLive(ctx, t, p, assets, installation, definitions)
	facts := map[string]Facts{areaProbes: {}, areaLife: {}}

	l.waitProbe(ctx, t, "/healthz")
	l.probes(ctx, t, "before it has certificates", facts[areaProbes])
	if err := l.plane.Certificates.WriteTo(l.certDir()); err != nil {
		t.Fatal(err)
	}
	l.waitProbe(ctx, t, "/readyz")
	l.probes(ctx, t, "when ready", facts[areaProbes])
	l.metricsAccess(ctx, t, facts[areaProbes])
	facts[areaWebhooks] = l.webhooks(ctx, t)
	facts[areaScenario] = l.scenario(ctx, t)
	facts[areaMetrics] = l.scrape(ctx, t, known)
	l.lease(ctx, t, "while it runs", facts[areaLife])

	if err := l.process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	code, err := l.process.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	facts[areaLife]["exit code after SIGTERM"] = strconv.Itoa(code)
	l.lease(ctx, t, "after its end", facts[areaLife])
	facts[areaRequests] = l.requests()
	facts[areaVersion] = l.versions(t)
	facts[areaLog] = l.setupLog()
	return facts
}

func (s *session) startLive(ctx context.Context, t *testing.T, p *program, assets string, installation, definitions []*unstructured.Unstructured) *live {
	t.Helper()
	l := &live{session: s, program: p}
	var err error
	if l.plane, err = managertest.StartPlane(ctx, assets, installation, definitions); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	if l.recorder, err = l.plane.NewRecorder(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.recorder.Close)
	kubeconfig, err := managertest.WriteKubeconfig(t.TempDir(), l.recorder.URL())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(l.certDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	healthPort, metricsPort := freePort(t), freePort(t)
	config := filepath.Join(s.dir, p.name+".yaml")
	content := fmt.Sprintf(liveConfig, healthPort, metricsPort, l.plane.WebhookPort, l.certDir())
	if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	l.health = fmt.Sprintf("http://127.0.0.1:%d", healthPort)
	l.metrics = fmt.Sprintf("127.0.0.1:%d", metricsPort)
	l.http = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
		TLSClientConfig: l.plane.Certificates.ClientConfig(managertest.WebhookHost),
	}}
	if l.process, err = managertest.Start(p.path, []string{"--config=" + config, "--zap-log-level=2"}, s.environment(kubeconfig)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.process.Kill)
	t.Cleanup(func() {
		if t.Failed() {
			lines := l.process.Lines()
			t.Logf("the last lines of %s:\n%s", p.name, strings.Join(lines[max(0, len(lines)-20):], "\n"))
		}
	})
	return l
}

func (l *live) certDir() string { return filepath.Join(l.dir, l.program.name+"-certificates") }

func freePort(t *testing.T) int {
	t.Helper()
	port, err := managertest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// waitUntil polls until the condition holds. It ends early when the manager does.
func (l *live) waitUntil(ctx context.Context, t *testing.T, what string, condition func(context.Context) (bool, error)) {
	t.Helper()
	err := l.process.Until(ctx, startTimeout, condition)
	if err != nil {
		t.Fatalf("failed to wait for %s of %s: %v", what, l.program.name, err)
	}
}

// lease notes which lease the manager leads by: an old and a new manager must
// never lead at once.
func (l *live) lease(ctx context.Context, t *testing.T, when string, facts Facts) {
	t.Helper()
	var leases coordinationv1.LeaseList
	if err := l.plane.Admin.List(ctx, &leases, client.InNamespace(managertest.Namespace)); err != nil {
		t.Fatal(err)
	}
	for _, lease := range leases.Items {
		state := "free"
		if ptr.Deref(lease.Spec.HolderIdentity, "") != "" {
			state = "held"
		}
		facts["lease "+lease.Name+" "+when] = state
	}
}

// requests are what the manager watches, and whatever the API server denied it.
func (l *live) requests() Facts {
	facts := Facts{}
	for request := range l.recorder.Requests() {
		// The client library lists, or lets a watch begin with what is there.
		if request.Verb == "list" || request.Verb == "watch" {
			facts["watch "+request.Resource] = "allowed"
		}
	}
	for request := range l.recorder.Denied() {
		facts[request.Verb+" "+request.Resource] = "denied"
	}
	return facts
}

// agentVersion is the version in a user agent.
var agentVersion = regexp.MustCompile(`v\d+\.\d+\.\d+[^ ]*`)

// versions are the places where the program says which one it is.
func (l *live) versions(t *testing.T) Facts {
	t.Helper()
	facts := Facts{}
	short := l.program.commit[:min(7, len(l.program.commit))]
	for _, agent := range l.recorder.UserAgents() {
		agent = strings.ReplaceAll(agent, short, "<commit>")
		agent = strings.Replace(agent, runtime.GOOS+"/"+runtime.GOARCH, "<platform>", 1)
		version := agentVersion.FindString(agent)
		facts["user agent "+strings.Replace(agent, version, "<version>", 1)] = version
	}
	for _, raw := range l.process.Lines() {
		line := managertest.ParseLine(raw)
		if line.Message != "Initializing" {
			continue
		}
		facts["gitVersion in the log"] = fmt.Sprint(line.Fields["gitVersion"])
		for key := range line.Fields {
			facts["key in the log's first line: "+key] = "there"
		}
	}
	if len(facts) < 2 {
		t.Errorf("%s says nothing of its version", l.program.name)
	}
	return facts
}

// setupLog is what is said while the manager is set up. The order is left out: a
// part of it comes from other goroutines.
func (l *live) setupLog() Facts {
	facts := Facts{}
	for _, raw := range l.process.Lines() {
		if line := managertest.ParseLine(raw); line.Logger == "setup" {
			facts[line.Message] = strings.TrimSpace(line.Level + " " + line.Error)
		}
	}
	return facts
}
