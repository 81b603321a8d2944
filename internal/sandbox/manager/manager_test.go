// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"bytes"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	configapi "sigs.k8s.io/kueue/apis/config/v1beta2"
	"sigs.k8s.io/kueue/pkg/config"
	// The validation asks for the integrations that are linked in.
	_ "sigs.k8s.io/kueue/pkg/controller/jobs"

	"fleet.ai/kueue-fleet/internal/repo"
	"fleet.ai/kueue-fleet/internal/sandbox/ports"
)

func testPorts() ports.Set {
	set := ports.Set{}
	for i, name := range ports.All() {
		set[name] = 21000 + i
	}
	return set
}

func testSettings() Settings {
	return Settings{StartWindow: StartWindow, RecoveryWindow: RecoveryWindow, TimeScale: 1}
}

func TestTheManagerAcceptsItsConfiguration(t *testing.T) {
	m, err := New(t.TempDir(), testPorts(), testSettings(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err = configapi.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	// The manager's own loader: strict, and with its defaults.
	options, cfg, err := config.Load(scheme, m.configFile())
	if err != nil {
		t.Fatal(err)
	}
	if options.HealthProbeBindAddress != "127.0.0.1:21006" || options.Metrics.BindAddress != "127.0.0.1:21007" {
		t.Errorf("health is at %q, metrics at %q", options.HealthProbeBindAddress, options.Metrics.BindAddress)
	}
	if *cfg.Webhook.Port != 21008 || cfg.Webhook.Host != "127.0.0.1" || cfg.Webhook.CertDir != m.certDir() {
		t.Errorf("webhook is %+v", cfg.Webhook)
	}
	if !*cfg.InternalCertManagement.Enable || *cfg.InternalCertManagement.WebhookSecretName != secretName {
		t.Errorf("certificates are %+v", cfg.InternalCertManagement)
	}
	if cfg.WaitForPodsReady.Timeout.Duration != 30*time.Minute || cfg.WaitForPodsReady.RecoveryTimeout.Duration != 5*time.Minute {
		t.Errorf("windows are %+v", cfg.WaitForPodsReady)
	}
	if diff := cmp.Diff(installedConcurrency(t), options.Controller.GroupKindConcurrency); diff != "" {
		t.Errorf("concurrency, beside that of an installation (-want,+got):\n%s", diff)
	}
	if errs := config.Validate(&cfg, scheme); len(errs) > 0 {
		t.Error(errs.ToAggregate())
	}
}

// installedConcurrency is what Kueue's own manifests configure.
func installedConcurrency(t *testing.T) map[string]int {
	t.Helper()
	root, err := repo.FromWorkingDir()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "third_party", "kueue", "config", "components", "manager", "controller_manager_config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var installed configapi.Configuration
	if err := yaml.Unmarshal(text, &installed); err != nil {
		t.Fatal(err)
	}
	return installed.Controller.GroupKindConcurrency
}

func TestSecretAndFilesHoldTheSameCertificate(t *testing.T) {
	m, err := New(t.TempDir(), testPorts(), testSettings(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var secret *corev1.Secret
	var service *corev1.Service
	for _, object := range m.Objects() {
		switch object := object.(type) {
		case *corev1.Secret:
			secret = object
		case *corev1.Service:
			service = object
		}
	}
	if service == nil || service.Spec.Type != corev1.ServiceTypeExternalName || service.Spec.ExternalName != "localhost" {
		t.Errorf("the service is %+v", service)
	}
	if secret == nil {
		t.Fatal("there is no secret")
	}
	for _, name := range []string{"tls.crt", "tls.key"} {
		file, err := os.ReadFile(filepath.Join(m.certDir(), name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(file, secret.Data[name]) {
			t.Errorf("%s differs between file and secret", name)
		}
	}
	if !bytes.Equal(secret.Data["ca.crt"], m.CACert()) {
		t.Error("the webhooks are checked with another CA")
	}
	if block, _ := pem.Decode(secret.Data["ca.key"]); block == nil || block.Type != "RSA PRIVATE KEY" {
		t.Error("the CA key is not PKCS#1, which the rotation does not take")
	}
}

func TestSpec(t *testing.T) {
	m, err := New(t.TempDir(), testPorts(), testSettings(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	spec := m.Spec("/bin/manager", "/tmp/kubeconfig")
	if spec.Name != Name || spec.Path != "/bin/manager" || spec.Args[1] != m.configFile() || spec.Env[0] != "KUBECONFIG=/tmp/kubeconfig" {
		t.Errorf("got %+v", spec)
	}
	if got := m.ReadyURL(); got != "http://127.0.0.1:21006/readyz" {
		t.Errorf("ready URL is %q", got)
	}
}
