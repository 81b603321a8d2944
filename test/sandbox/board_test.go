// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fleet.ai/kueue-fleet/internal/sandbox/recording"
	"fleet.ai/kueue-fleet/internal/sandbox/web"
)

// liveBoard is the board of a fleet that runs.
type liveBoard struct {
	t       *testing.T
	address string
	page    web.Page
}

// openBoard waits for the board of fleet-sandbox up and reads its page.
func openBoard(t *testing.T, run *running) *liveBoard {
	t.Helper()
	run.waitFor("fleet-sandbox down")
	match := regexp.MustCompile(`The board is at (http://127\.0\.0\.1:\d+)\n`).FindStringSubmatch(run.text())
	if match == nil {
		t.Fatal("the board's address is not named")
	}
	b := &liveBoard{t: t, address: match[1]}
	status, page := b.ask(http.MethodGet, "/", "")
	_, data, _ := strings.Cut(page, `<script type="application/json" id="data">`)
	data, _, _ = strings.Cut(data, "</script>")
	if err := json.Unmarshal([]byte(data), &b.page); status != http.StatusOK || err != nil {
		t.Fatalf("the board answers %d, %v, want a page with data", status, err)
	}
	return b
}

// ask sends a request as a program does, with the token if it is not empty.
func (b *liveBoard) ask(method, path, token string) (status int, body string) {
	b.t.Helper()
	request, err := http.NewRequestWithContext(b.t.Context(), method, b.address+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("X-Fleet-Token", token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func (b *liveBoard) recording() *recording.Recording {
	b.t.Helper()
	status, text := b.ask(http.MethodGet, "/recording.json", "")
	rec := &recording.Recording{}
	if err := json.Unmarshal([]byte(text), rec); status != http.StatusOK || err != nil {
		b.t.Fatalf("the recording: status %d, %v", status, err)
	}
	return rec
}

// waitUntil waits until the recording is as it should be.
func (b *liveBoard) waitUntil(what string, holds func(*recording.Recording) bool) *recording.Recording {
	b.t.Helper()
	deadline := time.Now().Add(hung)
	for {
		rec := b.recording()
		if holds(rec) {
			return rec
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("it never came that %s; jobs are %+v", what, rec.Jobs)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// TestABoardThatOnlyShows starts a fleet without jobs, looks at its board,
// presses every button in vain, and ends it as a user does.
func TestABoardThatOnlyShows(t *testing.T) {
	p := findPrograms(t)
	stateDir := filepath.Join(t.TempDir(), "state")
	run := start(t, p.command(append([]string{"up", "--kueue-bin", p.manager, "--state-dir", stateDir}, p.extra...)...))
	b := openBoard(t, run)
	if nodes := b.page.Runs[0].Recording.Nodes; len(nodes) != 26 || b.page.Token != "" || len(b.page.Actions) == 0 {
		t.Errorf("the page has %d nodes, token %q and %d actions, want 26, none and some", len(nodes), b.page.Token, len(b.page.Actions))
	}
	for _, action := range b.page.Actions {
		if status, answer := b.ask(http.MethodPost, "/actions/"+action.Name, "x"); status != http.StatusForbidden || !strings.Contains(answer, "start it with --allow-changes") {
			t.Errorf("%s: status %d, %s", action.Name, status, answer)
		}
	}
	if jobs := b.recording().Jobs; len(jobs) != 0 {
		t.Errorf("there are jobs: %+v", jobs)
	}
	run.send(syscall.SIGINT)
	if code := run.wait(); code != 0 {
		t.Errorf("exited with %d, want 0: to end it is no failure", code)
	}
	wantNothingLeft(t, stateDir, "lock")
}

// TestEveryButtonOfTheBoard presses each button of a board on a fleet that has
// room for all of them.
func TestEveryButtonOfTheBoard(t *testing.T) {
	p := findPrograms(t)
	stateDir := filepath.Join(t.TempDir(), "state")
	run := start(t, p.command(append([]string{"up", "--allow-changes", "--kueue-bin", p.manager, "--state-dir", stateDir}, p.extra...)...))
	b := openBoard(t, run)
	first := b.page.Actions[0].Name
	for name, token := range map[string]string{"no token": "", "another token": "x"} {
		if status, _ := b.ask(http.MethodPost, "/actions/"+first, token); status != http.StatusForbidden {
			t.Errorf("with %s the answer is %d, want a refusal", name, status)
		}
	}
	if status, answer := b.ask(http.MethodPost, "/actions/nothing", b.page.Token); status != http.StatusNotFound || !strings.Contains(answer, "allowed are "+first) {
		t.Errorf("an unknown button: status %d, %s", status, answer)
	}

	var names []string
	for _, action := range b.page.Actions {
		status, answer := b.ask(http.MethodPost, "/actions/"+action.Name, b.page.Token)
		list, ok := strings.CutPrefix(strings.TrimSuffix(strings.TrimSpace(answer), "."), "Submitted ")
		if status != http.StatusOK || !ok {
			t.Fatalf("%s: status %d, %s", action.Name, status, answer)
		}
		names = append(names, strings.Split(list, ", ")...)
	}
	if len(names) < len(b.page.Actions) {
		t.Fatalf("%d buttons made the jobs %v", len(b.page.Actions), names)
	}
	admitted := func(rec *recording.Recording, job string) bool {
		return slices.ContainsFunc(rec.Workloads, func(w recording.Workload) bool {
			return w.Job == job && slices.ContainsFunc(w.Spans, func(s recording.Span) bool { return s.State == recording.Admitted && s.GPUs > 0 })
		})
	}
	rec := b.waitUntil("every job is admitted", func(rec *recording.Recording) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return !admitted(rec, name) })
	})
	if len(rec.Jobs) != len(names) {
		t.Errorf("there are %d jobs, want %v", len(rec.Jobs), names)
	}
	for _, job := range rec.Jobs {
		if !slices.Contains(names, job.Name) || job.Class == "" || job.ItemsTotal == 0 || job.Queue == "" {
			t.Errorf("job %+v is not of a button, or lacks a class, items or a queue", job)
		}
	}
	rec = b.waitUntil("a job has done its work", func(rec *recording.Recording) bool {
		return slices.ContainsFunc(rec.Jobs, func(j recording.Job) bool { return j.Result == "Succeeded" && j.ItemsDone == j.ItemsTotal })
	})
	if len(rec.Violations) > 0 {
		t.Errorf("invariants were broken: %+v", rec.Violations)
	}
	run.send(syscall.SIGINT)
	if code := run.wait(); code != 0 {
		t.Errorf("exited with %d, want 0", code)
	}
	wantNothingLeft(t, stateDir, "lock")
}
