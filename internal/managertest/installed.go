// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package managertest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

const (
	// configKey is the manager's configuration file, in its ConfigMap and, below
	// the root, in its container.
	configKey = "controller_manager_config.yaml"
	// stepTimeout bounds each wait; a loaded machine needs seconds.
	stepTimeout = 2 * time.Minute
)

// Installed is a manager that runs as a rendered installation says: with the
// arguments of its Deployment, the file of its ConfigMap, and the rights of its
// ServiceAccount.
type Installed struct {
	// Plane is the API server with the installation.
	Plane *Plane

	recorder *Recorder
	process  *Process
	health   string
	metrics  string

	webhookPort int
	ownsPlane   bool
}

// StartInstalled installs what was rendered in an API server with the programs in
// assets and starts the manager at program beside it, as StartOn does. Stop ends
// both.
func StartInstalled(ctx context.Context, assets, program, dir string, rendered, definitions []*unstructured.Unstructured) (*Installed, error) {
	plane, err := StartPlane(ctx, assets, rendered, definitions)
	if err != nil {
		return nil, err
	}
	i, err := StartOn(ctx, plane, plane.WebhookPort, program, dir, rendered)
	if err != nil {
		return nil, errors.Join(err, plane.Stop())
	}
	i.ownsPlane = true
	return i, nil
}

// StartOn starts the manager at program on an API server that has the installation.
// Files go into dir. What the kubelet and the cluster's network would do is replaced:
// addresses are those of this machine, and the visibility server, whose folder is
// fixed, is off. Of several managers, each has a folder and a port for its webhook
// server of its own.
func StartOn(ctx context.Context, plane *Plane, webhookPort int, program, dir string, rendered []*unstructured.Unstructured) (i *Installed, err error) {
	i = &Installed{Plane: plane, webhookPort: webhookPort}
	defer func() {
		if err != nil {
			err = errors.Join(err, i.Stop(ctx))
		}
	}()
	if i.recorder, err = i.Plane.NewRecorder(); err != nil {
		return i, err
	}
	kubeconfig, err := WriteKubeconfig(dir, i.recorder.URL())
	if err != nil {
		return i, err
	}
	if err := i.Plane.Certificates.WriteTo(dir); err != nil {
		return i, err
	}
	args, err := managerArgs(rendered)
	if err != nil {
		return i, err
	}
	// Kueue takes gates in one place only.
	gates := slices.IndexFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--feature-gates=") })
	if gates >= 0 {
		args[gates] += ",VisibilityOnDemand=false"
	}
	config, err := i.writeConfig(dir, rendered, gates < 0)
	if err != nil {
		return i, err
	}
	for n := range args {
		args[n] = strings.Replace(args[n], "/"+configKey, config, 1)
	}
	env := []string{"KUBECONFIG=" + kubeconfig, "HOME=" + dir, "TMPDIR=" + dir}
	i.process, err = Start(program, args, env)
	return i, err
}

// managerArgs are the arguments of the container called manager.
func managerArgs(rendered []*unstructured.Unstructured) ([]string, error) {
	for _, object := range rendered {
		if object.GetKind() != "Deployment" {
			continue
		}
		containers, _, err := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
		if err != nil {
			return nil, fmt.Errorf("failed to read the containers of the Deployment %s: %w", object.GetName(), err)
		}
		for _, container := range containers {
			fields, _ := container.(map[string]any)
			if fields["name"] == "manager" {
				args, _, err := unstructured.NestedStringSlice(fields, "args")
				return args, err
			}
		}
	}
	return nil, errors.New("failed to find the manager's arguments: no Deployment has a container called manager")
}

type configChange struct {
	value any
	path  []string
}

// writeConfig writes the file of the installation's ConfigMap, changed to run
// beside the API server, with the gate that differs if gates is true, and returns
// its path.
func (i *Installed) writeConfig(dir string, rendered []*unstructured.Unstructured, gates bool) (string, error) {
	at := slices.IndexFunc(rendered, func(o *unstructured.Unstructured) bool {
		_, found, _ := unstructured.NestedString(o.Object, "data", configKey)
		return o.GetKind() == "ConfigMap" && found
	})
	if at < 0 {
		return "", fmt.Errorf("failed to find the manager's configuration: no ConfigMap has the key %s", configKey)
	}
	text, _, _ := unstructured.NestedString(rendered[at].Object, "data", configKey)
	var config map[string]any
	if err := yaml.Unmarshal([]byte(text), &config); err != nil {
		return "", fmt.Errorf("failed to read the manager's configuration: %w", err)
	}
	healthPort, err := FreePort()
	if err != nil {
		return "", err
	}
	metricsPort, err := FreePort()
	if err != nil {
		return "", err
	}
	i.health, i.metrics = fmt.Sprintf("127.0.0.1:%d", healthPort), fmt.Sprintf("127.0.0.1:%d", metricsPort)
	changes := []configChange{
		{i.health, []string{"health", "healthProbeBindAddress"}},
		{i.metrics, []string{"metrics", "bindAddress"}},
		{"127.0.0.1", []string{"webhook", "host"}},
		{int64(i.webhookPort), []string{"webhook", "port"}},
		{dir, []string{"webhook", "certDir"}},
		{Namespace, []string{"leaderElection", "resourceNamespace"}},
	}
	if gates {
		changes = append(changes, configChange{false, []string{"featureGates", "VisibilityOnDemand"}})
	}
	for _, change := range changes {
		if err := unstructured.SetNestedField(config, change.value, change.path...); err != nil {
			return "", fmt.Errorf("failed to change %s of the manager's configuration: %w", strings.Join(change.path, "."), err)
		}
	}
	data, err := yaml.Marshal(config)
	if err != nil {
		return "", fmt.Errorf("failed to encode the manager's configuration: %w", err)
	}
	path := filepath.Join(dir, configKey)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return "", fmt.Errorf("failed to write the manager's configuration: %w", err)
	}
	return path, nil
}

// WaitReady waits until the manager's ready probe answers.
func (i *Installed) WaitReady(ctx context.Context) error {
	return i.wait(ctx, "the manager to be ready", func(ctx context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+i.health+"/readyz", nil)
		if err != nil {
			return false, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false, nil //nolint:nilerr // it doesn't listen yet
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK, nil
	})
}

// Until polls until the condition holds; it ends early when the manager does.
func (i *Installed) Until(ctx context.Context, what string, condition wait.ConditionWithContextFunc) error {
	return i.wait(ctx, what, condition)
}

// AdmitJobs creates the objects, among them jobs with spec.suspend, and waits until
// the manager has admitted and started every job.
func (i *Installed) AdmitJobs(ctx context.Context, objects []*unstructured.Unstructured) error {
	var jobs []*unstructured.Unstructured
	for _, object := range objects {
		if err := i.Plane.Admin.Create(ctx, object); err != nil {
			return fmt.Errorf("failed to create %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		if strings.HasSuffix(object.GetKind(), "Job") {
			if suspended, _, _ := unstructured.NestedBool(object.Object, "spec", "suspend"); !suspended {
				return fmt.Errorf("%s %s was not suspended at its creation: the webhook didn't see it", object.GetKind(), object.GetName())
			}
			jobs = append(jobs, object)
		}
	}
	if len(jobs) == 0 {
		return errors.New("there is no job among the objects")
	}
	if err := i.wait(ctx, "the jobs to be admitted", func(ctx context.Context) (bool, error) {
		admitted, err := i.admitted(ctx)
		return admitted == len(jobs), err
	}); err != nil {
		return err
	}
	return i.wait(ctx, "the jobs to be started", func(ctx context.Context) (bool, error) {
		for _, job := range jobs {
			if err := i.Plane.Admin.Get(ctx, client.ObjectKeyFromObject(job), job); err != nil {
				return false, err
			}
			if suspended, _, _ := unstructured.NestedBool(job.Object, "spec", "suspend"); suspended {
				return false, nil
			}
		}
		return true, nil
	})
}

func (i *Installed) admitted(ctx context.Context) (int, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "kueue.x-k8s.io", Version: "v1beta2", Kind: "WorkloadList"})
	if err := i.Plane.Admin.List(ctx, list); err != nil {
		return 0, err
	}
	count := 0
	for _, item := range list.Items {
		conditions, _, _ := unstructured.NestedSlice(item.Object, "status", "conditions")
		for _, condition := range conditions {
			fields, _ := condition.(map[string]any)
			if fields["type"] == "Admitted" && fields["status"] == "True" {
				count++
			}
		}
	}
	return count, nil
}

// Denied lists the requests that the ServiceAccount had no right to.
func (i *Installed) Denied() []string {
	var denied []string
	for request := range i.recorder.Denied() {
		denied = append(denied, request.Verb+" "+request.Resource)
	}
	slices.Sort(denied)
	return denied
}

// Log returns the manager's log so far.
func (i *Installed) Log() []string { return i.process.Lines() }

// Stop ends the manager by SIGTERM, as the kubelet does, then the API server if it was
// started with it. It fails when the manager's exit code is not 0.
func (i *Installed) Stop(ctx context.Context) error {
	var problems []error
	if i.process != nil {
		problems = append(problems, i.end(ctx))
	}
	if i.recorder != nil {
		i.recorder.Close()
	}
	if i.ownsPlane {
		problems = append(problems, i.Plane.Stop())
	}
	return errors.Join(problems...)
}

func (i *Installed) end(ctx context.Context) error {
	defer i.process.Kill()
	if err := i.process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stepTimeout)
	defer cancel()
	code, err := i.process.Wait(ctx)
	if err != nil {
		return err
	}
	if code != 0 {
		return fmt.Errorf("the manager ended with exit code %d", code)
	}
	return nil
}

// wait polls until the condition holds; it ends early when the manager does.
func (i *Installed) wait(ctx context.Context, what string, condition wait.ConditionWithContextFunc) error {
	err := i.process.Until(ctx, stepTimeout, condition)
	if err != nil {
		lines := i.process.Lines()
		return fmt.Errorf("failed to wait for %s: %w; the last lines of its log are:\n%s", what, err, strings.Join(lines[max(0, len(lines)-20):], "\n"))
	}
	return nil
}
