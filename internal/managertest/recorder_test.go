// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package managertest

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

func TestClassify(t *testing.T) {
	cases := map[string]struct {
		method, target string
		want           Request
	}{
		"list of a core resource":        {"GET", "/api/v1/pods?limit=500", Request{"list", "pods"}},
		"list in a namespace":            {"GET", "/api/v1/namespaces/a/secrets", Request{"list", "secrets"}},
		"a namespace itself":             {"GET", "/api/v1/namespaces/a", Request{"get", "namespaces"}},
		"watch":                          {"GET", "/apis/batch/v1/jobs?watch=true", Request{"watch", "batch/jobs"}},
		"one object":                     {"GET", "/apis/batch/v1/namespaces/a/jobs/b", Request{"get", "batch/jobs"}},
		"patch of a status":              {"PATCH", "/apis/batch/v1/namespaces/a/jobs/b/status", Request{"patch", "batch/jobs/status"}},
		"create":                         {"POST", "/api/v1/namespaces/a/events", Request{"create", "events"}},
		"update":                         {"PUT", "/apis/batch/v1/namespaces/a/jobs/b", Request{"update", "batch/jobs"}},
		"delete of one":                  {"DELETE", "/api/v1/namespaces/a/pods/b", Request{"delete", "pods"}},
		"delete of many":                 {"DELETE", "/api/v1/namespaces/a/pods", Request{"deletecollection", "pods"}},
		"discovery is named by its path": {"GET", "/apis/batch/v1", Request{"get", "/apis/batch/v1"}},
		"version":                        {"GET", "/version", Request{"get", "/version"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u, err := url.Parse(tc.target)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, classify(tc.method, u)); diff != "" {
				t.Errorf("unexpected request (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestRecorderNotesWhatPassesAndWhoAsks(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if req.URL.Path == "/api/v1/secrets" {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	defer api.Close()
	recorder, err := NewRecorder(&rest.Config{Host: api.URL, BearerToken: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	defer recorder.Close()

	for _, path := range []string{"/api/v1/pods", "/api/v1/secrets"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, recorder.URL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("User-Agent", "manager/v1")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}

	want := map[Request]bool{{"list", "pods"}: true, {"list", "secrets"}: true}
	if diff := cmp.Diff(want, recorder.Requests()); diff != "" {
		t.Errorf("unexpected requests (-want,+got):\n%s", diff)
	}
	if diff := cmp.Diff(map[Request]bool{{"list", "secrets"}: true}, recorder.Denied()); diff != "" {
		t.Errorf("unexpected denied requests (-want,+got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"manager/v1"}, recorder.UserAgents()); diff != "" {
		t.Errorf("unexpected user agents (-want,+got):\n%s", diff)
	}
}
