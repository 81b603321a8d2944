// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sandbox runs fleet-sandbox as its users do: as a program, with the
// queue manager it is given and the control plane that the checkout pins.
package sandbox

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"fleet.ai/kueue-fleet/internal/sandbox/recording"
)

// children are the programs that a sandbox runs besides the manager.
var children = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"}

func TestRunAfterACrash(t *testing.T) {
	p := findPrograms(t)
	stateDir := filepath.Join(t.TempDir(), "state")

	crashed := start(t, p.run(stateDir))
	crashed.waitFor("submitted")
	names := processesOf(t, stateDir)
	for _, want := range append([]string{filepath.Base(p.manager)}, children...) {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not running: %v", want, names)
		}
	}
	crashed.send(syscall.SIGKILL)
	if code := crashed.wait(); code != -1 {
		t.Fatalf("the killed run exited with %d", code)
	}

	reports := filepath.Join(t.TempDir(), "reports")
	next := start(t, p.run(stateDir, "--out", reports))
	if code := next.wait(); code != 0 {
		t.Fatalf("the run after the crash exited with %d", code)
	}
	wantReports(t, reports)
	wantNothingLeft(t, stateDir, "lock")
	for _, want := range []string{
		// What was left of the crashed run is gone before the next starts.
		`(?m)^cleaned up after sandbox sandbox-` + strconv.Itoa(crashed.cmd.Process.Pid) + `,`,
		`(?m) gang-2x2 +queued +in training-lq at q1, priority 10000$`,
		`(?m) gang-2x2 +admitted +2 workers on gpu-\d\d  \(\d+ ms after it was queued\)$`,
		`(?m) gang-2x2 +finished +SUCCEEDED`,
		`(?m) eval-1to6 +grown +1 -> 2, `,
		`(?m) eval-1to6 +grown +2 -> 3, `,
		`(?m) eval-1to6 +grown +3 -> 4, `,
		`(?m) eval-1to6 +grown +4 -> 5, `,
		`(?m) eval-1to6 +grown +5 -> 6, the new one on gpu-\d\d  \(\d+ ms after the autoscaler asked\)$`,
		`(?m) eval-1to6 +running +6 workers on `,
		`(?m) eval-1to6 +shrunk `,
		`(?m) eval-1to6 +finished +SUCCEEDED`,
		// The scenario's checks, and those that every job comes with.
		`(?m)^default on kueue-fleet: 6 of 6 checks passed, 0 invariants broken$`,
	} {
		if !regexp.MustCompile(want).MatchString(next.text()) {
			t.Errorf("the output lacks %q", want)
		}
	}
}

// wantReports checks that the reports of the default scenario are there and
// that the recording says what happened.
func wantReports(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"report.txt", "report.json", "report.html"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v, want a report", name, err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "default-1.recording.json"))
	if err != nil {
		t.Fatal(err)
	}
	var rec recording.Recording
	if err := json.Unmarshal(text, &rec); err != nil {
		t.Fatal(err)
	}
	if len(rec.Nodes) != 26 || len(rec.Jobs) != 2 || len(rec.Queues) != 1 || rec.Queues[0].GPUs != 192 {
		t.Errorf("the recording has %d nodes, %d jobs and queues %+v", len(rec.Nodes), len(rec.Jobs), rec.Queues)
	}
	for _, job := range rec.Jobs {
		if job.Result != "Succeeded" || job.ItemsDone != job.ItemsTotal || job.ItemsDone == 0 {
			t.Errorf("the recording has job %+v", job)
		}
	}
}

// TestAScenarioThatFails plays a scenario of which one check cannot hold, with
// the manager killed on the way.
func TestAScenarioThatFails(t *testing.T) {
	p := findPrograms(t)
	dir := t.TempDir()
	stateDir := filepath.Join(dir, "state")
	file := filepath.Join(dir, "restart.yaml")
	text := strings.ReplaceAll(restartScenario, "EXAMPLES", filepath.Join(p.root, "examples"))
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	run := start(t, p.run(stateDir, file))
	if code := run.wait(); code != 1 {
		t.Errorf("exited with %d, want 1: a check fails", code)
	}
	wantNothingLeft(t, stateDir, "last-failure", "lock")
	for _, want := range []string{
		`(?m) event +the queue manager was killed$`,
		`(?m)^✓ the gang is admitted after the restart$`,
		`(?m)^✗ it runs on no node at all$`,
		`(?m)^restart on kueue-fleet: 2 of 3 checks passed, 0 invariants broken$`,
		`(?m)^fleet-sandbox: not every check passed$`,
	} {
		if !regexp.MustCompile(want).MatchString(run.text()) {
			t.Errorf("the output lacks %q", want)
		}
	}
}

const restartScenario = `title: A job that comes while the manager is away
fleet: {gpuNodes: 1, cpuNodes: 1, racks: 1, racksPerBlock: 1}
jobs:
  - name: gang
    file: EXAMPLES/fixed-gang.yaml
    when: {event: restart}
    work: {phases: [{items: 1, duration: 5s, workers: 2}]}
events:
  - {name: restart, restartManager: {downFor: 10s}}
checks:
  - name: the gang is admitted after the restart
    sequence: [{event: restart}, {job: gang, state: running, workers: 2}]
  - name: it runs on no node at all
    nodes: {job: gang, are: [nowhere]}
`

func TestInterrupt(t *testing.T) {
	p := findPrograms(t)
	stateDir := filepath.Join(t.TempDir(), "state")
	run := start(t, p.run(stateDir))
	run.waitFor("submitted")
	run.send(syscall.SIGINT)
	if code := run.wait(); code != 128+int(syscall.SIGINT) {
		t.Errorf("exited with %d, want 130", code)
	}
	wantNothingLeft(t, stateDir, "lock")
	if !strings.Contains(run.text(), "fleet-sandbox: interrupted by signal: interrupt\n") {
		t.Error("it does not say why it ended")
	}
}

// TestKeepAfterAFailure lets a job wait for ever, stays up to look inside, and
// ends the sandbox from elsewhere.
func TestKeepAfterAFailure(t *testing.T) {
	p := findPrograms(t)
	dir := t.TempDir()
	stateDir := filepath.Join(dir, "state")
	gang, err := os.ReadFile(filepath.Join(p.root, "examples", "fixed-gang.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	// Five workers of two GPUs do not fit one node of eight.
	big := strings.NewReplacer("replicas: 2", "replicas: 5", "minReplicas: 2", "minReplicas: 5", "maxReplicas: 2", "maxReplicas: 5").Replace(string(gang))
	file := filepath.Join(dir, "big.yaml")
	if err = os.WriteFile(file, []byte(big), 0o644); err != nil {
		t.Fatal(err)
	}

	run := start(t, p.run(stateDir, "--keep", "--job", file, "--timeout", "10s"))
	run.waitFor("The sandbox stays up.")
	// The line after that is printed with it, but may come later.
	run.waitFor("fleet-sandbox down")
	match := regexp.MustCompile(`export KUBECONFIG=(\S+)\n`).FindStringSubmatch(run.text())
	if match == nil {
		t.Fatal("the kubeconfig is not named")
	}
	config, err := clientcmd.BuildConfigFromFlags("", match[1])
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := client.CoreV1().Nodes().List(context.Background(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 26 {
		t.Errorf("the kubeconfig leads to %d nodes, %v, want 26", len(nodes.Items), err)
	}

	down := start(t, p.command("down", "--state-dir", stateDir))
	if code := down.wait(); code != 0 {
		t.Errorf("down exited with %d", code)
	}
	if code := run.wait(); code != 1 {
		t.Errorf("the run exited with %d, want 1: its job did not finish", code)
	}
	wantNothingLeft(t, stateDir, "last-failure", "lock")
	for _, want := range []string{
		`(?m)^✗ the scenario comes to its end$`,
		`(?m)^ +want an end within 10s$`,
		// Lines are wrapped anywhere between words.
		`allows\s+to\s+fit\s+only\s+4\s+out\s+of\s+5\s+pod`,
		`(?m)^ad-hoc on kueue-fleet: 0 of 2 checks passed, 0 invariants broken$`,
	} {
		if !regexp.MustCompile(want).MatchString(run.text()) {
			t.Errorf("the output lacks %q", want)
		}
	}
	logs, err := filepath.Glob(filepath.Join(stateDir, "last-failure", "*.log"))
	if err != nil || len(logs) != len(children)+2 {
		t.Errorf("kept logs are %v, %v, want those of the children, the manager and KubeRay", logs, err)
	}

	again := start(t, p.command("down", "--state-dir", stateDir))
	if code := again.wait(); code != 0 || !strings.Contains(again.text(), "no sandbox runs") {
		t.Errorf("a second down exited with %d", code)
	}
}

func TestClearErrorsBeforeAnythingStarts(t *testing.T) {
	p := findPrograms(t)
	dir := t.TempDir()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	used := listener.Addr().(*net.TCPAddr).Port
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cases := map[string]struct {
		args []string
		want string
	}{
		"a port in use": {
			args: []string{"--port-base", strconv.Itoa(used)},
			want: "failed to use port " + strconv.Itoa(used) + " for etcd-client, is it in use?",
		},
		"no manager": {
			args: []string{"--kueue-bin", filepath.Join(dir, "none")},
			want: `missing program: the queue manager is not at "` + filepath.Join(dir, "none") + `"; build it with make build`,
		},
		"no control plane": {
			args: []string{"--controlplane-dir", dir},
			want: `missing program: kube-apiserver is not at "` + filepath.Join(dir, "kube-apiserver") + `"`,
		},
		"no manifests": {
			args: []string{"--kueue-src", dir},
			want: "missing manifests: there is no " + filepath.Join(dir, "config/default/kustomization.yaml") + "; get them with make vendor",
		},
		"too little memory": {
			args: []string{"--meminfo", write("meminfo", "MemAvailable: 1048576 kB\n")},
			want: "too little memory: 1024 MiB are available, a sandbox needs 2048 MiB",
		},
		"a job without work": {
			args: []string{"--job", write("job.yaml", "apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: a, namespace: fleet-train-jobs}\n")},
			want: `failed to read job "a" of scenario ad-hoc: annotation sandbox.fleet.ai/work has no phase`,
		},
		"a scenario that is not there": {args: []string{"nodefault"}, want: `scenario "nodefault" is neither a file nor one of: `},
		"a scenario with a mistake": {
			args: []string{write("bad.yaml", "title: t\njobs: [{name: a}]\n")},
			want: `bad.yaml:2: jobs[0] has neither file nor manifest, allowed is exactly one of file and manifest`,
		},
		"no runs at all":  {args: []string{"--repeat", "0"}, want: "--repeat is 0, allowed is 1 or more"},
		"an unknown flag": {args: []string{"--nodes", "3"}, want: "unknown flag: --nodes"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			stateDir := filepath.Join(t.TempDir(), "state")
			run := start(t, p.run(stateDir, tc.args...))
			if code := run.wait(); code != 1 {
				t.Errorf("exited with %d, want 1", code)
			}
			if !strings.Contains(run.text(), "fleet-sandbox: ") || !strings.Contains(run.text(), tc.want) {
				t.Errorf("the output lacks %q", tc.want)
			}
			// Not even the state folder was made.
			if _, err := os.Stat(stateDir); !os.IsNotExist(err) {
				t.Errorf("the state folder: %v, want that there is none", err)
			}
		})
	}
}
