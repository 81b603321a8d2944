// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package ports

import (
	"errors"
	"math/rand/v2"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func allFree(int) error { return nil }

func allBut(used int) Free {
	return func(port int) error {
		if port == used {
			return errors.New("address already in use")
		}
		return nil
	}
}

func TestFixed(t *testing.T) {
	cases := map[string]struct {
		base    int
		taken   []int
		free    Free
		want    Set
		wantErr string
	}{
		"consecutive ports": {
			base: 21000, free: allFree,
			want: Set{
				EtcdClient: 21000, EtcdPeer: 21001, APIServer: 21002, ControllerManager: 21003, Scheduler: 21004,
				Kwok: 21005, ManagerHealth: 21006, ManagerMetrics: 21007, ManagerWebhook: 21008,
			},
		},
		"a port in use is named": {
			base: 21000, free: allBut(21002),
			wantErr: "port 21002 for kube-apiserver, is it in use? address already in use",
		},
		"a port of another sandbox is named": {
			base: 21000, taken: []int{21008}, free: allFree,
			wantErr: "port 21008 for manager-webhook: another sandbox has it",
		},
		"a privileged base":               {base: 80, free: allFree, wantErr: "must be from 1024 to 65527"},
		"a base too close to the end":     {base: 65528, free: allFree, wantErr: "must be from 1024 to 65527"},
		"a base that is no port whatever": {base: -1, free: allFree, wantErr: "must be from 1024 to 65527"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Fixed(tc.base, tc.taken, tc.free)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("got %v, want an error with %q", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("ports (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestRandomGivesDistinctPortsThatNobodyHas(t *testing.T) {
	// Few free ports make every collision likely.
	few := func(port int) error {
		if port%100 != 0 {
			return errors.New("in use")
		}
		return nil
	}
	taken := []int{20400, 21000}
	for seed := range uint64(20) {
		set, err := Random(rand.New(rand.NewPCG(seed, 1)), taken, few)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[int]Name{}
		for name, port := range set {
			if other, ok := seen[port]; ok {
				t.Errorf("seed %d: %s and %s share port %d", seed, name, other, port)
			}
			seen[port] = name
			if port%100 != 0 || port == taken[0] || port == taken[1] {
				t.Errorf("seed %d: %s got port %d, which is not free", seed, name, port)
			}
		}
		if len(set) != len(All()) {
			t.Errorf("seed %d: got %d ports, want %d", seed, len(set), len(All()))
		}
	}
}

func TestRandomGivesUp(t *testing.T) {
	_, err := Random(rand.New(rand.NewPCG(1, 1)), nil, func(int) error { return errors.New("no permission") })
	if err == nil || !strings.Contains(err.Error(), "no permission") {
		t.Errorf("got %v", err)
	}
}

func TestListenSeesAPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if err := Listen(l.Addr().(*net.TCPAddr).Port); err == nil {
		t.Error("a port in use counts as free")
	}
}
