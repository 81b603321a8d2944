// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// licensesPath is the folder with the terms of everything in the image: the
// program's own at the top, the rest below the module's path.
const licensesPath = "licenses"

// goLicensesPath holds the terms of the Go distribution, whose library and time
// zones are in the image. No module path has a first part without a dot.
const goLicensesPath = licensesPath + "/go"

// termsName matches the files in a module's folder that must travel with it.
var termsName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// licenses returns the license and notice files of the modules that the program
// is linked from, as they are in the modules.
func (p Program) licenses(ctx context.Context, platform Platform) ([]entry, error) {
	modules, err := p.modules(ctx, platform)
	if err != nil {
		return nil, err
	}
	distribution, err := goSays(ctx, "env", "GOROOT")
	if err != nil {
		return nil, fmt.Errorf("failed to find the Go distribution: %w", err)
	}
	modules[goLicensesPath] = distribution
	modules[path.Join(licensesPath, rootsModule)], err = goSays(ctx, "list", "-m", "-f", "{{.Dir}}", rootsModule)
	if err != nil {
		return nil, fmt.Errorf("failed to find the certificate authorities: %w", err)
	}
	var entries []entry
	for below, dir := range modules {
		found, err := terms(dir, below)
		if err != nil {
			return nil, err
		}
		entries = append(entries, found...)
	}
	return entries, nil
}

// modules maps the folder in the image of each module's terms to the module's
// folder.
func (p Program) modules(ctx context.Context, platform Platform) (map[string]string, error) {
	const line = "{{with .Module}}{{$.DepOnly}}\t{{.Path}}\t{{.Dir}}{{end}}"
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-f", line, p.Package)
	cmd.Dir, cmd.Env = p.Dir, environment(platform)
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w:\n%s", err, exit.Stderr)
		}
		return nil, fmt.Errorf("failed to list the modules of %s for %s: %w", p.Package, platform, err)
	}
	modules := map[string]string{}
	var own string
	for text := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSpace(text), "\t")
		if len(fields) != 3 {
			continue // a package of the Go distribution has no module
		}
		if fields[0] == "false" {
			own = fields[1]
		}
		modules[path.Join(licensesPath, fields[1])] = fields[2]
	}
	if own == "" {
		return nil, fmt.Errorf("failed to list the modules of %s for %s: it is in none", p.Package, platform)
	}
	modules[licensesPath] = modules[path.Join(licensesPath, own)]
	delete(modules, path.Join(licensesPath, own))
	return modules, nil
}

// terms reads the license and notice files of one folder. To pass a module on
// without its license is not allowed, so none is an error.
func terms(dir, below string) ([]entry, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("failed to look for the license of %s: %w", below, err)
	}
	var entries []entry
	for _, file := range files {
		if !file.Type().IsRegular() || !termsName.MatchString(file.Name()) {
			continue
		}
		body, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err != nil {
			return nil, fmt.Errorf("failed to read the license of %s: %w", below, err)
		}
		entries = append(entries, entry{name: path.Join(below, file.Name()), mode: 0o644, body: body})
	}
	if !slices.ContainsFunc(entries, func(e entry) bool { return !isNotice(e.name) }) {
		return nil, fmt.Errorf("failed to find the license of %s: %s has no file LICENSE or COPYING", strings.TrimPrefix(below, licensesPath+"/"), dir)
	}
	return entries, nil
}

func isNotice(name string) bool {
	upper := strings.ToUpper(path.Base(name))
	return strings.HasPrefix(upper, "NOTICE") || strings.HasPrefix(upper, "PATENTS")
}
