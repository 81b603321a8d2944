// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fleet.ai/kueue-fleet/internal/sandbox/cluster"
	"fleet.ai/kueue-fleet/internal/sandbox/pki"
	"fleet.ai/kueue-fleet/internal/sandbox/ports"
	"fleet.ai/kueue-fleet/internal/sandbox/process"
)

// Name is what the process is called in messages and log files.
const Name = "kueue-manager"

// Account is the identity that the installation's own RBAC objects give
// rights to. The process uses no other, so a missing right shows.
var Account = cluster.User{
	Name:   "system:serviceaccount:" + Namespace + ":kueue-controller-manager",
	Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + Namespace},
}

// Manager is the queue manager's process.
type Manager struct {
	dir   string
	ports ports.Set
	ca    *pki.CA
	cert  pki.Pair
	fleet bool
}

// New makes the certificates and writes all files to dir.
func New(dir string, set ports.Set, settings Settings, now time.Time) (*Manager, error) {
	// The rotation in the manager keeps a CA only if it looks like its own.
	ca, err := pki.NewCA("kueue-ca", "kueue", now)
	if err != nil {
		return nil, err
	}
	cert, err := ca.Server(now, []string{serviceName + "." + Namespace + ".svc"})
	if err != nil {
		return nil, err
	}
	m := &Manager{dir: dir, ports: set, ca: ca, cert: cert}
	if err = os.MkdirAll(m.certDir(), 0o700); err != nil {
		return nil, fmt.Errorf("failed to create the manager's folder: %w", err)
	}
	config, err := Config(set, m.certDir(), settings)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{
		m.configFile(): config,
		// A kubelet would mount the Secret here.
		filepath.Join(m.certDir(), "tls.crt"): cert.CertPEM,
		filepath.Join(m.certDir(), "tls.key"): cert.KeyPEM,
	}
	if len(settings.FleetConfig) > 0 {
		m.fleet = true
		files[m.fleetConfigFile()] = settings.FleetConfig
	}
	for path, content := range files {
		if err = os.WriteFile(path, content, 0o600); err != nil {
			return nil, fmt.Errorf("failed to write %s: %w", path, err)
		}
	}
	return m, nil
}

// CACert is the certificate that the webhooks are checked with.
func (m *Manager) CACert() []byte {
	return m.ca.CertPEM
}

// Objects returns the Secret of the webhook certificate, complete, so that
// the manager has nothing to issue, and the webhook Service as an alias of
// this machine.
func (m *Manager) Objects() []client.Object {
	return []client.Object{
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: secretName, Namespace: Namespace},
			Data: map[string][]byte{
				"ca.crt": m.ca.CertPEM, "ca.key": m.ca.KeyPEM,
				"tls.crt": m.cert.CertPEM, "tls.key": m.cert.KeyPEM,
			},
		},
		&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: serviceName, Namespace: Namespace},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
		},
	}
}

// Spec is the process, of the given program.
func (m *Manager) Spec(binary, kubeconfig string) process.Spec {
	args := []string{"--config", m.configFile(), "--zap-log-level=2"}
	if m.fleet {
		args = append(args, "--fleet-config", m.fleetConfigFile())
	}
	return process.Spec{
		Name: Name,
		Path: binary,
		Args: args,
		Env:  []string{"KUBECONFIG=" + kubeconfig},
	}
}

// ReadyURL answers 200 when the manager is ready.
func (m *Manager) ReadyURL() string {
	return "http://" + m.ports.Addr(ports.ManagerHealth) + "/readyz"
}

func (m *Manager) certDir() string {
	return filepath.Join(m.dir, "certs")
}

func (m *Manager) fleetConfigFile() string {
	return filepath.Join(m.dir, "fleet-config.yaml")
}

func (m *Manager) configFile() string {
	return filepath.Join(m.dir, "config.yaml")
}
