// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package managertest

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"
)

// Names of the manager's installation, as its kustomization renders them.
const (
	Namespace          = "kueue-system"
	WebhookService     = "kueue-webhook-service"
	WebhookSecret      = "kueue-webhook-server-cert"
	serviceAccount     = "kueue-controller-manager"
	metricsReaderRole  = "kueue-metrics-reader"
	metricsReader      = "metrics-reader"
	pollInterval       = 100 * time.Millisecond
	establishedTimeout = time.Minute
)

// WebhookHost is the name in the webhook server's certificate.
const WebhookHost = WebhookService + "." + Namespace + ".svc"

// installed are the kinds of a rendered installation that a manager outside the
// cluster needs; what is left out runs it, or routes to it, inside.
var installed = []string{
	"CustomResourceDefinition", "Namespace", "ServiceAccount", "Role", "RoleBinding",
	"ClusterRole", "ClusterRoleBinding", "Secret",
	"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
}

// Plane is an API server on which a manager is installed but doesn't run yet.
type Plane struct {
	// Admin is a client with every right.
	Admin client.Client
	// Certificates are those of the webhook server; they are in the Secret, and
	// not yet in a folder.
	Certificates *Certificates
	// WebhookPort is where the API server expects the manager's webhook server.
	WebhookPort int
	// MetricsToken may read the manager's metrics; OtherToken is a known user
	// that may not.
	MetricsToken, OtherToken string

	env     *envtest.Environment
	manager *rest.Config
}

// StartPlane starts an API server with the programs in assets and installs the
// rendered manager in it, together with CustomResourceDefinitions of others.
func StartPlane(ctx context.Context, assets string, rendered, definitions []*unstructured.Unstructured) (*Plane, error) {
	p := &Plane{env: &envtest.Environment{BinaryAssetsDirectory: assets, ControlPlaneStartTimeout: 2 * time.Minute}}
	config, err := p.env.Start()
	if err != nil {
		return nil, fmt.Errorf("failed to start the API server: %w", err)
	}
	if err := p.install(ctx, config, rendered, definitions); err != nil {
		_ = p.env.Stop()
		return nil, err
	}
	return p, nil
}

// Stop ends the API server.
func (p *Plane) Stop() error {
	if err := p.env.Stop(); err != nil {
		return fmt.Errorf("failed to stop the API server: %w", err)
	}
	return nil
}

// AdminConfig reaches the API server with every right. It is a copy.
func (p *Plane) AdminConfig() *rest.Config { return rest.CopyConfig(p.env.Config) }

// NewRecorder starts a recorder that speaks as the manager's service account.
func (p *Plane) NewRecorder() (*Recorder, error) { return NewRecorder(p.manager) }

func (p *Plane) install(ctx context.Context, config *rest.Config, rendered, definitions []*unstructured.Unstructured) error {
	// The client's own limit would make the installation slow.
	config.QPS, config.Burst = 200, 400
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return fmt.Errorf("failed to make the client's scheme: %w", err)
		}
	}
	var err error
	if p.Admin, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("failed to make the client: %w", err)
	}
	if p.Certificates, err = NewCertificates(WebhookHost); err != nil {
		return err
	}
	if p.WebhookPort, err = FreePort(); err != nil {
		return err
	}
	if err := p.createAll(ctx, rendered, definitions); err != nil {
		return err
	}
	if err := p.waitEstablished(ctx); err != nil {
		return err
	}
	managerToken, err := p.token(ctx, Namespace, serviceAccount)
	if err != nil {
		return err
	}
	p.manager = rest.AnonymousClientConfig(config)
	p.manager.BearerToken = managerToken
	return p.addReaders(ctx)
}

func (p *Plane) createAll(ctx context.Context, rendered, definitions []*unstructured.Unstructured) error {
	target := webhookTarget{address: fmt.Sprintf("127.0.0.1:%d", p.WebhookPort), caCert: p.Certificates.CACert}
	objects := slices.Concat(definitions, rendered)
	// In the order of the list above: a namespace comes before what is in it.
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int {
		return slices.Index(installed, a.GetKind()) - slices.Index(installed, b.GetKind())
	})
	for _, object := range objects {
		if !slices.Contains(installed, object.GetKind()) {
			continue
		}
		object = object.DeepCopy()
		if err := target.redirectObject(object); err != nil {
			return err
		}
		if object.GetKind() == "Secret" && object.GetName() == WebhookSecret {
			data := map[string]any{}
			for key, value := range p.Certificates.SecretData() {
				data[key] = base64.StdEncoding.EncodeToString(value)
			}
			object.Object["data"] = data
		}
		// Roles in kube-system stand in a namespace that the API server makes by
		// itself, a moment after it is ready.
		err := wait.PollUntilContextTimeout(ctx, pollInterval, establishedTimeout, true, func(ctx context.Context) (bool, error) {
			err := p.Admin.Create(ctx, object.DeepCopy())
			return err == nil, client.IgnoreNotFound(err)
		})
		if err != nil {
			return fmt.Errorf("failed to create %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

func (p *Plane) waitEstablished(ctx context.Context) error {
	var missing []string
	err := wait.PollUntilContextTimeout(ctx, pollInterval, establishedTimeout, true, func(ctx context.Context) (bool, error) {
		var list apiextensionsv1.CustomResourceDefinitionList
		if err := p.Admin.List(ctx, &list); err != nil {
			return false, err
		}
		missing = nil
		for _, definition := range list.Items {
			if !slices.ContainsFunc(definition.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
				return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
			}) {
				missing = append(missing, definition.Name)
			}
		}
		return len(missing) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("failed to wait for the CustomResourceDefinitions %v: %w", missing, err)
	}
	return nil
}

// addReaders makes one user with the role that upstream ships for reading the
// metrics, and one without any.
func (p *Plane) addReaders(ctx context.Context) error {
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: metricsReader},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: metricsReaderRole},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: Namespace, Name: metricsReader}},
	}
	if err := p.Admin.Create(ctx, binding); err != nil {
		return fmt.Errorf("failed to create the reader of the metrics: %w", err)
	}
	for name, token := range map[string]*string{metricsReader: &p.MetricsToken, "other": &p.OtherToken} {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name}}
		if err := p.Admin.Create(ctx, account); err != nil {
			return fmt.Errorf("failed to create the service account %s: %w", name, err)
		}
		var err error
		if *token, err = p.token(ctx, Namespace, name); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plane) token(ctx context.Context, namespace, name string) (string, error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	request := &authenticationv1.TokenRequest{}
	if err := p.Admin.SubResource("token").Create(ctx, account, request); err != nil {
		return "", fmt.Errorf("failed to get a token for the service account %s/%s: %w", namespace, name, err)
	}
	return request.Status.Token, nil
}

// FreePort returns a port of the loopback address that nothing listens on.
func FreePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("failed to find a free port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// WriteKubeconfig writes a kubeconfig for the server at url, without credentials,
// into dir and returns its path.
func WriteKubeconfig(dir, url string) (string, error) {
	config := map[string]any{
		"apiVersion":      "v1",
		"kind":            "Config",
		"current-context": "test",
		"clusters":        []any{map[string]any{"name": "test", "cluster": map[string]any{"server": url}}},
		"contexts":        []any{map[string]any{"name": "test", "context": map[string]any{"cluster": "test", "user": "test"}}},
		"users":           []any{map[string]any{"name": "test", "user": map[string]any{}}},
	}
	data, err := yaml.Marshal(config)
	if err != nil {
		return "", fmt.Errorf("failed to encode the kubeconfig: %w", err)
	}
	path := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return "", fmt.Errorf("failed to write the kubeconfig: %w", err)
	}
	return path, nil
}
