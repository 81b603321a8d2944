// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// CacheEnv names the environment variable that moves the cache.
const CacheEnv = "KUEUE_FLEET_CACHE"

// lockPoll is how often a waiting build looks at the lock again.
const lockPoll = 200 * time.Millisecond

// CacheRoot is the folder for everything that checkouts share: $KUEUE_FLEET_CACHE
// or kueue-fleet in the user's cache folder.
func CacheRoot() (string, error) {
	if dir := os.Getenv(CacheEnv); dir != "" {
		if !filepath.IsAbs(dir) {
			return "", fmt.Errorf("%s is %q, want an absolute path", CacheEnv, dir)
		}
		return dir, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("failed to find the user's cache folder (set %s to choose one): %w", CacheEnv, err)
	}
	return filepath.Join(dir, "kueue-fleet"), nil
}

// cacheKey names the folder of one build: what a person wants to read, then a
// hash over everything else that shapes the programs.
func cacheKey(v Versions, goVersion, platform string, m toolModules, steps []step) string {
	sum := sha256.New()
	for _, part := range [][]byte{m.kubernetes.goMod, m.kubernetes.goSum, m.kwok.goMod, m.kwok.goSum} {
		fmt.Fprintf(sum, "%d\n", len(part))
		sum.Write(part)
	}
	fmt.Fprintf(sum, "%q %q\n", buildArgs, buildEnv)
	for _, s := range steps {
		// The module's folder differs between checkouts and is not an input.
		fmt.Fprintf(sum, "%q %q %q\n", s.output, s.ldflags, s.packages)
	}
	hash := hex.EncodeToString(sum.Sum(nil))[:8]
	return fmt.Sprintf("kubernetes-%s_etcd-%s_kwok-%s_%s_%s_%s", v.Kubernetes, v.Etcd, v.Kwok, goVersion, platform, hash)
}

// complete says whether dir holds all programs of a finished build.
func complete(dir string, want []program) bool {
	for _, p := range want {
		info, err := os.Stat(filepath.Join(dir, p.name))
		if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 || info.Size() == 0 {
			return false
		}
	}
	return true
}

// lock takes the lock file at path, and waits while another process holds it.
// The kernel drops the lock when its holder dies, so none is ever left over.
func lock(ctx context.Context, path string, waiting func()) (io.Closer, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("failed to open the lock: %w", err)
	}
	for first := true; ; first = false {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(fmt.Errorf("failed to lock %s: %w", path, err), file.Close())
		}
		if first {
			waiting()
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("failed to lock %s: %w", path, ctx.Err()), file.Close())
		case <-time.After(lockPoll):
		}
	}
}

// removeLeftovers deletes what builds that died have left beside dir.
func removeLeftovers(dir string) error {
	entries, err := os.ReadDir(filepath.Dir(dir))
	if err != nil {
		return fmt.Errorf("failed to list the cache: %w", err)
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), filepath.Base(dir)+tempInfix) {
			if err := os.RemoveAll(filepath.Join(filepath.Dir(dir), entry.Name())); err != nil {
				return fmt.Errorf("failed to remove a left-over build: %w", err)
			}
		}
	}
	return nil
}
