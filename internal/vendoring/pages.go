// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package vendoring

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"fleet.ai/kueue-fleet/internal/patchseries"
)

// page is a file that says what the patches say.
type page struct {
	// name is relative to the root.
	name, content string
}

// stalePages returns the pages about the series that are not up to date, as they
// should be. A page with the order in it is written by hand around it, so it is none
// of ours where there is none.
func (c Config) stalePages(patches []*patchseries.Patch) ([]page, error) {
	ledger, err := c.LedgerPage(patches)
	if err != nil {
		return nil, err
	}
	var stale []page
	now, _, err := c.read(c.Ledger)
	if err != nil {
		return nil, err
	}
	if now != ledger {
		stale = append(stale, page{c.Ledger, ledger})
	}
	now, found, err := c.read(c.Order)
	if err != nil || !found {
		return stale, err
	}
	order, err := patchseries.PlaceOrder(now, patches)
	if err != nil {
		return nil, fmt.Errorf("failed to write the order into %s: %w", c.Order, err)
	}
	if now != order {
		stale = append(stale, page{c.Order, order})
	}
	return stale, nil
}

func (c Config) read(name string) (content string, found bool, err error) {
	raw, err := os.ReadFile(filepath.Join(c.Root, name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("failed to read %s: %w", name, err)
	}
	return string(raw), true, nil
}

// writePages brings the pages about the series up to date.
func (c Config) writePages(files []patchseries.File) error {
	patches, err := patchseries.ParseAll(files)
	if err != nil {
		return err
	}
	stale, err := c.stalePages(patches)
	if err != nil {
		return err
	}
	for _, p := range stale {
		if err := replaceFile(filepath.Join(c.Root, p.name), []byte(p.content)); err != nil {
			return err
		}
		c.say("wrote %s", p.name)
	}
	return nil
}

// LedgerPage renders the page about the series.
func (c Config) LedgerPage(patches []*patchseries.Patch) (string, error) {
	base, err := c.Base()
	if err != nil {
		return "", err
	}
	return patchseries.NewLedger(base, patches).Markdown(), nil
}

// Base names the module and version that go.mod asks for.
func (c Config) Base() (string, error) {
	mods, err := readModFile(c.Root)
	if err != nil {
		return "", err
	}
	base, err := mods.required(c.Module)
	if err != nil {
		return "", err
	}
	return base.Path + " " + base.Version, nil
}
