// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package managertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

// Request is one request that a manager sent to the API server, without what
// names a single object.
type Request struct {
	// Verb is the API verb: get, list, watch, create, update, patch, delete, or
	// deletecollection; for a path outside the API groups, the lower-case method.
	Verb string
	// Resource is group/resource or group/resource/subresource, or the path
	// outside the API groups.
	Resource string
}

// Recorder stands between a manager and the API server. It authenticates as the
// manager's service account and notes every request.
type Recorder struct {
	server *httptest.Server

	mu         sync.Mutex
	requests   map[Request]bool
	denied     map[Request]bool
	userAgents map[string]bool
}

// NewRecorder starts a recorder in front of the API server of config, which also
// says as whom the requests go there.
func NewRecorder(config *rest.Config) (*Recorder, error) {
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("failed to read the API server's address %q: %w", config.Host, err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("failed to make the recorder's transport: %w", err)
	}
	r := &Recorder{requests: map[Request]bool{}, denied: map[Request]bool{}, userAgents: map[string]bool{}}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(req *httputil.ProxyRequest) { req.SetURL(target) },
		Transport: transport,
		// A watch has to pass event by event.
		FlushInterval: -1,
		ModifyResponse: func(resp *http.Response) error {
			r.note(resp)
			return nil
		},
		// The manager goes away in the middle of watches when it is stopped.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	r.server = httptest.NewServer(proxy)
	return r, nil
}

// URL is the address for the manager's kubeconfig.
func (r *Recorder) URL() string { return r.server.URL }

// Close ends the recorder and cuts the connections through it.
func (r *Recorder) Close() {
	r.server.CloseClientConnections()
	r.server.Close()
}

func (r *Recorder) note(resp *http.Response) {
	req := resp.Request
	what := classify(req.Method, req.URL)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests[what] = true
	r.userAgents[req.UserAgent()] = true
	if resp.StatusCode == http.StatusForbidden || resp.StatusCode == http.StatusUnauthorized {
		r.denied[what] = true
	}
}

// Requests returns what was asked for so far.
func (r *Recorder) Requests() map[Request]bool { return r.copyOf(r.requests) }

// Denied returns the requests that the API server refused for lack of rights.
func (r *Recorder) Denied() map[Request]bool { return r.copyOf(r.denied) }

func (r *Recorder) copyOf(set map[Request]bool) map[Request]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make(map[Request]bool, len(set))
	for key := range set {
		out[key] = true
	}
	return out
}

// UserAgents returns the user agents seen so far.
func (r *Recorder) UserAgents() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]string, 0, len(r.userAgents))
	for agent := range r.userAgents {
		out = append(out, agent)
	}
	return out
}

// classify says which API verb a request has on which resource, by the rules of
// the API server's paths: /api/v1/... and /apis/GROUP/VERSION/..., then
// namespaces/NAME if there is one, then RESOURCE[/NAME[/SUBRESOURCE]].
func classify(method string, u *url.URL) Request {
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	var group string
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		group, parts = parts[1], parts[3:]
	default:
		return Request{Verb: strings.ToLower(method), Resource: u.Path}
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	resource, named := parts[0], len(parts) > 1
	if len(parts) > 2 {
		resource += "/" + parts[2]
	}
	if group != "" {
		resource = group + "/" + resource
	}
	return Request{Verb: verb(method, named, u.Query().Get("watch")), Resource: resource}
}

func verb(method string, named bool, watch string) string {
	switch method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		if named {
			return "delete"
		}
		return "deletecollection"
	}
	switch {
	case watch == "true" || watch == "1":
		return "watch"
	case named:
		return "get"
	default:
		return "list"
	}
}
