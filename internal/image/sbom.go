// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"fleet.ai/kueue-fleet/internal/release"
)

const (
	kueueModule = "sigs.k8s.io/kueue"
	rootsModule = "golang.org/x/crypto/x509roots/fallback"
	// unversioned is what Go says of a module that it took from a folder.
	unversioned = "(devel)"
	noAssertion = "NOASSERTION"
)

// document is the part of SPDX 2.3 that is used.
type document struct {
	Version       string         `json:"spdxVersion"`
	DataLicense   string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	CreationInfo  creationInfo   `json:"creationInfo"`
	Packages      []part         `json:"packages"`
	Relationships []relationship `json:"relationships"`
}

type creationInfo struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

// part is a package of the document.
type part struct {
	ID               string        `json:"SPDXID"`
	Name             string        `json:"name"`
	Version          string        `json:"versionInfo"`
	DownloadLocation string        `json:"downloadLocation"`
	FilesAnalyzed    bool          `json:"filesAnalyzed"`
	LicenseDeclared  string        `json:"licenseDeclared"`
	LicenseConcluded string        `json:"licenseConcluded"`
	Copyright        string        `json:"copyrightText"`
	SourceInfo       string        `json:"sourceInfo,omitempty"`
	Purpose          string        `json:"primaryPackagePurpose,omitempty"`
	Refs             []externalRef `json:"externalRefs,omitempty"`
}

type externalRef struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	From string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

// describe writes the bill of materials of one platform's image: what the
// manager was linked from, by its own build information, and what lies beside it.
func describe(r release.Release, platform Platform, img v1.Image, manager string, base Base) ([]byte, error) {
	info, err := buildinfo.ReadFile(manager)
	if err != nil {
		return nil, fmt.Errorf("failed to read the build information of the manager: %w", err)
	}
	parts, err := modules(r, info)
	if err != nil {
		return nil, err
	}
	parts = append(parts,
		goPart(rootsModule, base.RootsVersion, "its certificates are /"+rootsPath),
		newPart("tzdata", base.ZonesVersion, "the time zones of the Go distribution, in /"+zonesPath))

	digest, err := img.Digest()
	if err != nil {
		return nil, fmt.Errorf("failed to compute the digest: %w", err)
	}
	top := newPart(localName, r.Version, fmt.Sprintf("%s, image manifest %s, commit %s, %s with the patch series %s",
		platform, digest, r.Revision, r.Base(), r.Series))
	top.LicenseDeclared, top.Purpose = "Apache-2.0", "CONTAINER"
	doc := document{
		Version: "SPDX-2.3", DataLicense: "CC0-1.0", ID: "SPDXRef-DOCUMENT",
		Name: fmt.Sprintf("%s-%s-%s-%s", localName, r.Version, platform.OS, platform.Arch),
		// Documents of two images need two names; the digest is the image's.
		Namespace:     "urn:kueue-fleet:spdx:" + digest.String(),
		CreationInfo:  creationInfo{Created: r.Date.Format(time.RFC3339), Creators: []string{"Tool: fleet-image"}},
		Packages:      append([]part{top}, parts...),
		Relationships: []relationship{{From: "SPDXRef-DOCUMENT", Type: "DESCRIBES", To: top.ID}},
	}
	for _, p := range parts {
		doc.Relationships = append(doc.Relationships, relationship{From: top.ID, Type: "CONTAINS", To: p.ID})
	}
	out, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("failed to encode the bill of materials: %w", err)
	}
	return append(out, '\n'), nil
}

// modules are the parts that a program was linked from: the Go distribution and
// the modules, the main one left out.
func modules(r release.Release, info *debug.BuildInfo) ([]part, error) {
	parts := []part{goPart("stdlib", strings.TrimPrefix(info.GoVersion, "go"), "the Go distribution's standard library")}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		switch {
		case module.Version == unversioned && module.Path == kueueModule:
			parts = append(parts, goPart(module.Path, r.Base(), "with the patch series "+r.Series))
		case module.Version == unversioned || module.Version == "":
			return nil, fmt.Errorf("failed to describe the module %s: it was built from a folder and has no version", module.Path)
		default:
			parts = append(parts, goPart(module.Path, module.Version, "go.sum "+module.Sum))
		}
	}
	return parts, nil
}

// notInID matches what an SPDX identifier may not have.
var notInID = regexp.MustCompile(`[^a-zA-Z0-9.-]+`)

func newPart(name, version, source string) part {
	return part{
		ID:   "SPDXRef-Package-" + notInID.ReplaceAllString(name+"-"+version, "-"),
		Name: name, Version: version, SourceInfo: source,
		DownloadLocation: noAssertion, LicenseDeclared: noAssertion, LicenseConcluded: noAssertion, Copyright: noAssertion,
	}
}

func goPart(path, version, source string) part {
	p := newPart(path, version, source)
	p.Refs = []externalRef{{Category: "PACKAGE-MANAGER", Type: "purl", Locator: "pkg:golang/" + strings.ReplaceAll(path, "%", "%25") + "@" + strings.ReplaceAll(version, "+", "%2B")}}
	return p
}
