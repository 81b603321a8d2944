// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package board

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"fleet.ai/kueue-fleet/internal/sandbox/recording"
	"fleet.ai/kueue-fleet/internal/sandbox/recording/recordingtest"
)

// fleetSource is a source whose recording a test sets.
type fleetSource struct {
	mu      sync.Mutex
	rec     *recording.Recording
	changed chan struct{}
}

func newSource(rec *recording.Recording) *fleetSource {
	return &fleetSource{rec: rec, changed: make(chan struct{})}
}

func (s *fleetSource) Snapshot() *recording.Recording {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rec
}

func (s *fleetSource) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

func (s *fleetSource) set(rec *recording.Recording) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rec = rec
	close(s.changed)
	s.changed = make(chan struct{})
}

// submitted keeps the names of the jobs that were submitted.
type submitted struct {
	mu    sync.Mutex
	names []string
	err   error
}

func (s *submitted) Submit(_ context.Context, job *unstructured.Unstructured) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = append(s.names, job.GetName())
	return s.err
}

func newServer(t *testing.T, o Options) *httptest.Server {
	t.Helper()
	if o.Source == nil {
		o.Source = newSource(recordingtest.Small()[0])
	}
	if o.Interval == 0 {
		o.Interval = time.Millisecond
	}
	o.Clock = clock.RealClock{}
	b, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(b)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server
}

// ask sends a request with headers; Host is one of them.
func ask(t *testing.T, method, url string, headers map[string]string) (int, string, http.Header) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	if host := headers["Host"]; host != "" {
		request.Host = host
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body), response.Header
}

var tokenInPage = regexp.MustCompile(`"token":"([^"]+)"`)

func tokenOf(t *testing.T, server *httptest.Server) string {
	t.Helper()
	_, page, _ := ask(t, http.MethodGet, server.URL, nil)
	match := tokenInPage.FindStringSubmatch(page)
	if match == nil {
		t.Fatal("the page has no token")
	}
	return match[1]
}

func TestGuard(t *testing.T) {
	server := newServer(t, Options{Hosts: []string{"box.lan"}})
	cases := map[string]struct {
		host string
		want int
	}{
		"localhost":                                {host: "localhost:8080", want: http.StatusOK},
		"in capitals":                              {host: "LOCALHOST", want: http.StatusOK},
		"a loopback address":                       {host: "127.0.0.1:1234", want: http.StatusOK},
		"another loopback address":                 {host: "127.9.9.9", want: http.StatusOK},
		"the loopback address of IPv6":             {host: "[::1]:80", want: http.StatusOK},
		"a host that is allowed":                   {host: "box.lan:80", want: http.StatusOK},
		"a name that somebody points here":         {host: "evil.example", want: http.StatusForbidden},
		"a name that begins like a good one":       {host: "localhost.evil.example", want: http.StatusForbidden},
		"an address that begins like a good one":   {host: "127.0.0.1.evil.example", want: http.StatusForbidden},
		"an address of another machine":            {host: "10.0.0.7:80", want: http.StatusForbidden},
		"the address of all interfaces":            {host: "0.0.0.0", want: http.StatusForbidden},
		"a user that looks like a host, no chance": {host: "localhost@evil.example", want: http.StatusForbidden},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{"/", "/recording.json"} {
				status, body, _ := ask(t, http.MethodGet, server.URL+path, map[string]string{"Host": tc.host})
				if status != tc.want {
					t.Errorf("%s: got %d, want %d: %.200s", path, status, tc.want, body)
				}
			}
		})
	}
}

func TestGuardOfARemoteBoard(t *testing.T) {
	server := newServer(t, Options{AllowRemote: true})
	for host, want := range map[string]int{
		"10.0.0.7:8080": http.StatusOK, "[fd00::7]:8080": http.StatusOK, "localhost": http.StatusOK,
		"evil.example": http.StatusForbidden, "10.0.0.7.evil.example": http.StatusForbidden,
	} {
		if status, body, _ := ask(t, http.MethodGet, server.URL, map[string]string{"Host": host}); status != want {
			t.Errorf("%s: got %d, want %d: %.200s", host, status, want, body)
		}
	}
}

func TestHeaders(t *testing.T) {
	server := newServer(t, Options{})
	_, body, header := ask(t, http.MethodGet, server.URL, nil)
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
		"Content-Security-Policy": "frame-ancestors 'none'", "Cross-Origin-Resource-Policy": "same-origin", "Access-Control-Allow-Origin": "",
	} {
		if got := header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if !strings.Contains(body, `"live":true`) || strings.Contains(body, `"token"`) {
		t.Error("the page is not live, or a board that only shows gave it a token")
	}
	if status, _, _ := ask(t, http.MethodGet, server.URL+"/elsewhere", nil); status != http.StatusNotFound {
		t.Errorf("an unknown path got %d, want %d", status, http.StatusNotFound)
	}
}

func TestRecordingCanBeKept(t *testing.T) {
	want := recordingtest.Small()[0]
	_, body, _ := ask(t, http.MethodGet, newServer(t, Options{Source: newSource(want)}).URL+"/recording.json", nil)
	var got recording.Recording
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, &got); diff != "" {
		t.Errorf("recording (-want,+got):\n%s", diff)
	}
}

func TestActions(t *testing.T) {
	cases := map[string]struct {
		readOnly bool
		shape    string
		headers  map[string]string
		noToken  bool
		err      error

		wantStatus int
		wantBody   string
		wantNames  []string
	}{
		"a shape is submitted": {
			shape: "fixed-gang", wantStatus: http.StatusOK, wantBody: "Submitted fixed-gang-1.", wantNames: []string{"fixed-gang-1"},
		},
		"the page's own origin may": {
			shape: "arrival", headers: map[string]string{"Sec-Fetch-Site": "same-origin"},
			wantStatus: http.StatusOK, wantBody: "Submitted arrival-1.", wantNames: []string{"arrival-1"},
		},
		"a sweep is several jobs": {
			shape: "sweep", wantStatus: http.StatusOK, wantBody: "Submitted sweep-1-1, sweep-1-2, sweep-1-3, sweep-1-4, sweep-1-5, sweep-1-6.",
			wantNames: []string{"sweep-1-1", "sweep-1-2", "sweep-1-3", "sweep-1-4", "sweep-1-5", "sweep-1-6"},
		},
		"an unknown shape is named": {
			shape: "square", wantStatus: http.StatusNotFound,
			wantBody: `there is no shape "square", allowed are fixed-gang, elastic-eval, shaped-units, arrival, two-by-four, large-gang, sweep`,
		},
		"the cluster's answer is passed on": {
			shape: "sweep", err: errors.New("admission webhook denied it"), wantStatus: http.StatusUnprocessableEntity,
			wantBody: "sweep-1-1: admission webhook denied it", wantNames: []string{"sweep-1-1"},
		},
		"a board that only shows does not": {
			readOnly: true, shape: "fixed-gang", noToken: true, wantStatus: http.StatusForbidden, wantBody: "start it with --allow-changes",
		},
		"without the token it does not": {
			shape: "fixed-gang", noToken: true, wantStatus: http.StatusForbidden, wantBody: "load it again",
		},
		"a page of another origin may not, even with the token": {
			shape: "fixed-gang", headers: map[string]string{"Origin": "https://evil.example"}, wantStatus: http.StatusForbidden, wantBody: "cross-origin",
		},
		"nor one of another site": {
			shape: "fixed-gang", headers: map[string]string{"Sec-Fetch-Site": "cross-site"}, wantStatus: http.StatusForbidden, wantBody: "cross-origin",
		},
		"nor one of another port of this machine": {
			shape: "fixed-gang", headers: map[string]string{"Origin": "http://127.0.0.1:1"}, wantStatus: http.StatusForbidden, wantBody: "cross-origin",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			jobs := &submitted{err: tc.err}
			server := newServer(t, Options{Submitter: jobs, AllowChanges: !tc.readOnly})
			headers := map[string]string{}
			if !tc.noToken {
				headers[tokenHeader] = tokenOf(t, server)
			}
			for name, value := range tc.headers {
				headers[name] = value
			}
			status, body, _ := ask(t, http.MethodPost, server.URL+"/actions/"+tc.shape, headers)
			if status != tc.wantStatus || !strings.Contains(body, tc.wantBody) {
				t.Errorf("got %d %q, want %d %q", status, body, tc.wantStatus, tc.wantBody)
			}
			if diff := cmp.Diff(tc.wantNames, jobs.names); diff != "" {
				t.Errorf("submitted (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestEveryJobHasANameOfItsOwn(t *testing.T) {
	jobs := &submitted{}
	server := newServer(t, Options{Submitter: jobs, AllowChanges: true})
	token := tokenOf(t, server)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/actions/sweep", nil)
			if err != nil {
				t.Error(err)
				return
			}
			request.Header.Set(tokenHeader, token)
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Error(err)
				return
			}
			_ = response.Body.Close()
		})
	}
	group.Wait()
	seen := map[string]bool{}
	for _, name := range jobs.names {
		seen[name] = true
	}
	if len(seen) != 48 || len(jobs.names) != 48 {
		t.Errorf("%d jobs have %d names, want 48 of each", len(jobs.names), len(seen))
	}
}

func TestNewNamesWhatIsMissing(t *testing.T) {
	source, now := newSource(nil), clock.RealClock{}
	cases := map[string]struct {
		options Options
		want    string
	}{
		"no source":    {options: Options{Clock: now}, want: "failed to make the board: source is missing"},
		"no clock":     {options: Options{Source: source}, want: "failed to make the board: clock is missing"},
		"no submitter": {options: Options{Source: source, Clock: now, AllowChanges: true}, want: "failed to make the board: changes are allowed, but submitter is missing"},
		"going back":   {options: Options{Source: source, Clock: now, Interval: -1}, want: "failed to make the board: interval is -1ns, it must not be negative"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := New(tc.options); err == nil || err.Error() != tc.want {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

func TestCheckAddress(t *testing.T) {
	cases := map[string]struct {
		address string
		remote  bool
		want    string
	}{
		"loopback":                     {address: "127.0.0.1:8080"},
		"loopback of IPv6":             {address: "[::1]:0"},
		"localhost":                    {address: "localhost:8080"},
		"all interfaces":               {address: ":8080", want: `address is ":8080", which other machines can reach; allowed are loopback addresses such as 127.0.0.1:8080, or any with --remote`},
		"all interfaces, on demand":    {address: ":8080", remote: true},
		"an address others can reach":  {address: "10.0.0.7:80", want: `address is "10.0.0.7:80", which other machines can reach; allowed are loopback addresses such as 127.0.0.1:8080, or any with --remote`},
		"no port":                      {address: "127.0.0.1", want: `address is "127.0.0.1", it must be host:port: address 127.0.0.1: missing port in address`},
		"no port, whatever is allowed": {address: "127.0.0.1", remote: true, want: `address is "127.0.0.1", it must be host:port: address 127.0.0.1: missing port in address`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := CheckAddress(tc.address, "--remote", tc.remote); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
