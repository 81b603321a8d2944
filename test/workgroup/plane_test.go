// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"fleet.ai/kueue-fleet/internal/controlplane"
	"fleet.ai/kueue-fleet/internal/managertest"
	"fleet.ai/kueue-fleet/internal/repo"
	"fleet.ai/kueue-fleet/internal/sandbox/kuberay"
)

// hung is when a wait is given up. Nothing is expected to take that long, on
// whatever machine.
const hung = 45 * time.Second

const managerConfig = `apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
namespace: kueue-system
health:
  healthProbeBindAddress: 127.0.0.1:%d
metrics:
  bindAddress: 127.0.0.1:%d
webhook:
  host: 127.0.0.1
  port: %d
  certDir: %s
leaderElection:
  leaderElect: false
internalCertManagement:
  enable: true
clientConnection:
  qps: 300
  burst: 500
waitForPodsReady:
  timeout: 30m
  recoveryTimeout: 30m
  requeuingStrategy:
    backoffBaseSeconds: 1
integrations:
  frameworks: [pod, ray.io/raycluster, ray.io/rayjob]
featureGates:
  ElasticJobsViaWorkloadSlicesWithTAS: true
  FleetWorkgroup: true
  FleetReadinessRecovery: true
  VisibilityOnDemand: false
`

// plane is a control plane with a manager that can be killed and started again.
type plane struct {
	client    client.Client
	admin     *rest.Config
	ray       *fakeRay
	kubelet   *fakeKubelet
	binary    string
	args, env []string
	readyURL  string
	manager   *managertest.Process
}

func startPlane(t *testing.T) *plane {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	root, err := repo.FromWorkingDir()
	if err != nil {
		t.Fatal(err)
	}
	p := &plane{binary: os.Getenv("KUEUE_FLEET_BIN")}
	if p.binary == "" {
		p.binary = filepath.Join(root, "bin", "kueue-fleet")
	}
	if _, err := os.Stat(p.binary); err != nil {
		t.Fatalf("%v; build it with make build, or set KUEUE_FLEET_BIN", err)
	}
	programs, err := controlplane.Ensure(t.Context(), root, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	module, err := managertest.FindModule(t.Context(), root, "github.com/ray-project/kuberay/ray-operator")
	if err != nil {
		t.Fatal(err)
	}
	crds := filepath.Join(module.Dir, "config", "crd", "bases")
	definitions, err := managertest.ReadObjects(filepath.Join(crds, "ray.io_rayclusters.yaml"), filepath.Join(crds, "ray.io_rayjobs.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	installation, err := managertest.Render(filepath.Join(root, "third_party", "kueue", "config", "default"))
	if err != nil {
		t.Fatal(err)
	}
	env, err := managertest.StartPlane(t.Context(), programs.Dir, installation, definitions)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	p.admin = env.AdminConfig()
	p.admin.QPS, p.admin.Burst = 500, 1000
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, kueue.AddToScheme, rayv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	if p.client, err = client.New(p.admin, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	p.configure(t, env)
	p.startManager(t)
	t.Cleanup(func() { p.manager.Kill() })
	t.Cleanup(func() {
		if t.Failed() {
			lines := p.manager.Lines()
			t.Logf("the manager's last lines:\n%s", strings.Join(lines[max(0, len(lines)-60):], "\n"))
		}
	})
	p.startControllers(t, programs)
	return p
}

// configure writes what the manager is started with.
func (p *plane) configure(t *testing.T, env *managertest.Plane) {
	t.Helper()
	recorder, err := env.NewRecorder()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(recorder.Close)
	dir := t.TempDir()
	kubeconfig, err := managertest.WriteKubeconfig(dir, recorder.URL())
	if err != nil {
		t.Fatal(err)
	}
	certs := filepath.Join(dir, "certs")
	if err := os.MkdirAll(certs, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := env.Certificates.WriteTo(certs); err != nil {
		t.Fatal(err)
	}
	health, metrics := freePort(t), freePort(t)
	config := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, managerConfig, health, metrics, env.WebhookPort, certs), 0o600); err != nil {
		t.Fatal(err)
	}
	p.readyURL = fmt.Sprintf("http://127.0.0.1:%d/readyz", health)
	p.args = []string{"--config=" + config, "--zap-log-level=2"}
	p.env = []string{"KUBECONFIG=" + kubeconfig, "HOME=" + dir, "TMPDIR=" + dir}
}

// startManager starts the manager and waits until its webhooks answer.
func (p *plane) startManager(t *testing.T) {
	t.Helper()
	var err error
	if p.manager, err = managertest.Start(p.binary, p.args, p.env); err != nil {
		t.Fatal(err)
	}
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, hung, true, func(ctx context.Context) (bool, error) {
		select {
		case <-p.manager.Done():
			return false, fmt.Errorf("it has ended: %s", strings.Join(p.manager.Lines(), "\n"))
		default:
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.readyURL, nil)
		if err != nil {
			return false, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false, nil // It doesn't listen yet.
		}
		defer response.Body.Close()
		return response.StatusCode == http.StatusOK, nil
	})
	if err != nil {
		t.Fatalf("failed to wait for the manager: %v", err)
	}
}

// restartManager kills the manager, lets things happen without it, and starts it.
func (p *plane) restartManager(t *testing.T, meanwhile func()) {
	t.Helper()
	p.manager.Kill()
	if meanwhile != nil {
		meanwhile()
	}
	p.startManager(t)
}

// startControllers starts what else works on objects.
func (p *plane) startControllers(t *testing.T, programs controlplane.Binaries) {
	t.Helper()
	kubeconfig := p.writeAdminKubeconfig(t)
	for path, args := range map[string][]string{
		programs.ControllerManager(): {"--controllers=garbage-collector-controller", "--leader-elect=false", "--secure-port=0"},
		programs.Scheduler():         {"--leader-elect=false", "--secure-port=0"},
	} {
		process, err := managertest.Start(path, append(args, "--kubeconfig="+kubeconfig), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(process.Kill)
		t.Cleanup(func() {
			if lines := process.Lines(); t.Failed() {
				t.Logf("the last lines of %s:\n%s", filepath.Base(path), strings.Join(lines[max(0, len(lines)-10):], "\n"))
			}
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	mgr, err := kuberay.NewManager(p.admin, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	p.ray = newFakeRay(mgr.GetClient())
	if err := kuberay.AddReconcilers(ctx, mgr, p.ray); err != nil {
		t.Fatal(err)
	}
	p.kubelet = newFakeKubelet(p.client)
	if err := mgr.Add(p.kubelet); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(done)
		if err := mgr.Start(ctx); err != nil && ctx.Err() == nil {
			t.Errorf("KubeRay's reconcilers ended: %v", err)
		}
	}()
}

func (p *plane) writeAdminKubeconfig(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "admin.kubeconfig")
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: p.admin.Host, CertificateAuthorityData: p.admin.CAData}
	config.AuthInfos["admin"] = &clientcmdapi.AuthInfo{ClientCertificateData: p.admin.CertData, ClientKeyData: p.admin.KeyData}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "admin"}
	config.CurrentContext = "test"
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func freePort(t *testing.T) int {
	t.Helper()
	port, err := managertest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}
