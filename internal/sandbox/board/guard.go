// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package board

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// guard lets only requests through that are meant for this board. A page of
// another site can make a browser send requests here: under a name of that
// site, which it points at this machine (so the host is checked), or across
// origins (so those may not change anything).
type guard struct {
	hosts []string
	// addresses lets requests through under any address. A site can't point
	// an address, only a name.
	addresses bool
	next      http.Handler
}

func newGuard(hosts []string, addresses bool, next http.Handler) http.Handler {
	return &guard{hosts: hosts, addresses: addresses, next: http.NewCrossOriginProtection().Handler(next)}
}

// ServeHTTP implements http.Handler.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	// The page has a policy for itself; what a page can't say is that nobody
	// may put it into a frame.
	header.Set("Content-Security-Policy", "frame-ancestors 'none'")
	header.Set("Cache-Control", "no-store")
	if !g.allowed(r.Host) {
		http.Error(w, fmt.Sprintf("host %q is not allowed: use localhost or 127.0.0.1", r.Host), http.StatusForbidden)
		return
	}
	g.next.ServeHTTP(w, r)
}

// allowed reports whether a Host header names this machine.
func (g *guard) allowed(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if addr, err := netip.ParseAddr(name); err == nil && (g.addresses || addr.IsLoopback()) {
		return true
	}
	name = strings.ToLower(name)
	return name == "localhost" || slices.Contains(g.hosts, name)
}

// CheckAddress refuses an address to listen on that others can reach, unless
// that is allowed. It names the flag that allows it.
func CheckAddress(address, flag string, allowRemote bool) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("address is %q, it must be host:port: %w", address, err)
	}
	if addr, err := netip.ParseAddr(host); host == "localhost" || (err == nil && addr.IsLoopback()) || allowRemote {
		return nil
	}
	return fmt.Errorf("address is %q, which other machines can reach; allowed are loopback addresses such as 127.0.0.1:8080, or any with %s", address, flag)
}
