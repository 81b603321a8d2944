// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster starts a real control plane on the loopback interface:
// etcd, kube-apiserver, kube-controller-manager and kube-scheduler, and kwok
// in place of the kubelets.
package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"fleet.ai/kueue-fleet/internal/sandbox/pki"
	"fleet.ai/kueue-fleet/internal/sandbox/ports"
	"fleet.ai/kueue-fleet/internal/sandbox/process"
)

// Binaries are the paths of the programs.
type Binaries struct {
	Etcd, APIServer, ControllerManager, Scheduler, Kwok string
}

// User is an account of the cluster.
type User struct {
	Name   string
	Groups []string
}

// admin may do everything; KubeRay and the sandbox itself use it too.
var admin = User{Name: "sandbox-admin", Groups: []string{"system:masters"}}

// The accounts of the components. The scheduler runs under its own RBAC
// role. The controller manager's role expects a service account for each
// controller and kwok's is not installed, so those two are administrators.
var (
	controllerManager = User{Name: "system:kube-controller-manager", Groups: []string{"system:masters"}}
	scheduler         = User{Name: "system:kube-scheduler"}
	kwok              = User{Name: "kwok-controller", Groups: []string{"system:masters"}}
)

// Cluster is a control plane of which every file is below one folder.
type Cluster struct {
	dir      string
	ports    ports.Set
	binaries Binaries
	sup      *process.Supervisor
	settings Settings

	ca     *pki.CA
	tokens map[string]string
}

// New prepares keys, certificates, tokens and kubeconfigs in dir. extra are
// accounts besides the components' own.
func New(dir string, set ports.Set, binaries Binaries, sup *process.Supervisor, settings Settings, now time.Time, extra ...User) (*Cluster, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("failed to create the cluster's folder: %w", err)
	}
	ca, err := pki.NewCA("sandbox-ca", "fleet-sandbox", now)
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir, ports: set, binaries: binaries, sup: sup, settings: settings, ca: ca, tokens: map[string]string{}}
	server, err := ca.Server(now, []string{"localhost", "kubernetes.default.svc"}, net.IPv4(127, 0, 0, 1))
	if err != nil {
		return nil, err
	}
	saPrivate, saPublic, err := pki.SigningKey()
	if err != nil {
		return nil, err
	}
	users := append([]User{admin, controllerManager, scheduler, kwok}, extra...)
	var tokens strings.Builder
	for _, user := range users {
		token := pki.Token()
		c.tokens[user.Name] = token
		fmt.Fprintf(&tokens, "%s,%s,%s,%q\n", token, user.Name, user.Name, strings.Join(user.Groups, ","))
	}
	for name, content := range map[string][]byte{
		"apiserver.crt": server.CertPEM,
		"apiserver.key": server.KeyPEM,
		"sa.key":        saPrivate,
		"sa.pub":        saPublic,
		"tokens.csv":    []byte(tokens.String()),
	} {
		if err := os.WriteFile(c.path(name), content, 0o600); err != nil {
			return nil, fmt.Errorf("failed to write %s: %w", name, err)
		}
	}
	for _, user := range users {
		if err := c.writeKubeconfig(user.Name); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// AdminKubeconfig is the path of a kubeconfig that may do everything.
func (c *Cluster) AdminKubeconfig() string {
	return c.Kubeconfig(admin.Name)
}

// Kubeconfig is the path of the kubeconfig of an account.
func (c *Cluster) Kubeconfig(user string) string {
	return c.path(strings.ReplaceAll(user, ":", "-") + ".kubeconfig")
}

// RESTConfig returns the administrator's client configuration.
func (c *Cluster) RESTConfig(userAgent string) *rest.Config {
	return &rest.Config{
		Host:            c.url(),
		BearerToken:     c.tokens[admin.Name],
		TLSClientConfig: rest.TLSClientConfig{CAData: c.ca.CertPEM},
		UserAgent:       userAgent,
		// Everything runs on one machine: the API server is the only brake.
		QPS: -1,
	}
}

// StartAPIServer starts etcd and kube-apiserver and waits until the API
// server is ready.
func (c *Cluster) StartAPIServer(ctx context.Context) error {
	if err := c.sup.Start(c.etcd()); err != nil {
		return err
	}
	if err := c.sup.Start(c.apiServer()); err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.ca.CertPEM)
	return WaitHTTP(ctx, c.url()+"/readyz", c.tokens[admin.Name], &tls.Config{RootCAs: roots})
}

// StartControllers starts the controller manager, the scheduler and kwok.
// Custom resource definitions should be established before: the garbage
// collector then watches them from its start.
func (c *Cluster) StartControllers() error {
	if err := os.WriteFile(c.path("scheduler.yaml"), []byte(c.schedulerConfig()), 0o600); err != nil {
		return fmt.Errorf("failed to write the scheduler's configuration: %w", err)
	}
	if err := os.WriteFile(c.path("stages.yaml"), []byte(c.settings.stagesFile()), 0o600); err != nil {
		return fmt.Errorf("failed to write kwok's stages: %w", err)
	}
	for _, spec := range []process.Spec{c.controllerManager(), c.scheduler(), c.kwok()} {
		if err := c.sup.Start(spec); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) url() string {
	return "https://" + c.ports.Addr(ports.APIServer)
}

func (c *Cluster) path(name string) string {
	return filepath.Join(c.dir, name)
}

func (c *Cluster) writeKubeconfig(user string) error {
	const name = "fleet-sandbox"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: c.url(), CertificateAuthorityData: c.ca.CertPEM}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{Token: c.tokens[user]}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: user}
	config.CurrentContext = name
	if err := clientcmd.WriteToFile(*config, c.Kubeconfig(user)); err != nil {
		return fmt.Errorf("failed to write the kubeconfig of %s: %w", user, err)
	}
	return nil
}
