// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package web is the page that shows recordings: a report of runs that are
// over, or the board of a fleet that runs. The page is one file and asks no
// server for anything but, if it is live, for what has changed.
package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"strings"
	"text/template"

	"fleet.ai/kueue-fleet/internal/sandbox/measure"
	"fleet.ai/kueue-fleet/internal/sandbox/recording"
)

//go:embed assets
var assets embed.FS

// The page's parts, in the order in which they need each other.
var (
	styles  = []string{"base.css", "stage.css", "parts.css"}
	scripts = []string{
		"dom.js", "format.js", "color.js", "model.js", "clock.js", "chart.js", "board.js", "queue.js", "stage.js",
		"jobs.js", "checks.js", "figures.js", "story.js", "head.js", "main.js", "live.js", "start.js",
	}
)

// Page is what the page shows.
type Page struct {
	// Title is of the window.
	Title string `json:"-"`
	// Text is shown where no script runs.
	Text string `json:"-"`

	Runs []Run `json:"runs"`
	// Week says what the figures of a week are about, if there are any.
	Week *WeekNames `json:"week,omitempty"`

	// Live says that the page keeps itself up to date from the server.
	Live bool `json:"live,omitempty"`
	// Since is the version of the stream that the page comes with.
	Since string `json:"since,omitempty"`
	// Actions can be asked of the server; Token must come with them. Without
	// a token the page only tells of them.
	Actions []Action `json:"actions,omitempty"`
	Token   string   `json:"token,omitempty"`
}

// Run is a recording with its figures.
type Run struct {
	Recording *recording.Recording `json:"recording"`
	Figures   measure.Figures      `json:"figures"`
	Week      *measure.Week        `json:"week,omitempty"`
}

// WeekNames are the options of a week that its tables name.
type WeekNames struct {
	Filler  string  `json:"filler"`
	Waiting string  `json:"waiting"`
	High    float64 `json:"high"`
}

// Action is something that a user can ask of a live fleet.
type Action struct {
	// Name is part of its address.
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
}

// Write writes the page as one file.
func Write(w io.Writer, page Page) error {
	// Marshal escapes what could end the script element.
	data, err := json.Marshal(page)
	if err != nil {
		return fmt.Errorf("failed to write the page: %w", err)
	}
	style, script, err := parts()
	if err != nil {
		return err
	}
	source, err := assets.ReadFile("assets/page.html")
	if err != nil {
		return fmt.Errorf("failed to read the page's frame: %w", err)
	}
	frame, err := template.New("page").Parse(string(source))
	if err != nil {
		return fmt.Errorf("failed to parse the page's frame: %w", err)
	}
	err = frame.Execute(w, map[string]string{
		"Title": html.EscapeString(page.Title), "Text": html.EscapeString(page.Text),
		"Policy": policy(style, script, page.Live), "Style": style, "Script": script, "Data": string(data),
	})
	if err != nil {
		return fmt.Errorf("failed to write the page: %w", err)
	}
	return nil
}

// parts are the style and the script of the page. The script is a block of
// its own: it puts no name into the window.
func parts() (style, script string, err error) {
	join := func(names []string) (string, error) {
		var joined bytes.Buffer
		for _, name := range names {
			part, readErr := assets.ReadFile("assets/" + name)
			if readErr != nil {
				return "", fmt.Errorf("failed to read a part of the page: %w", readErr)
			}
			joined.Write(part)
		}
		return joined.String(), nil
	}
	if style, err = join(styles); err != nil {
		return "", "", err
	}
	if script, err = join(scripts); err != nil {
		return "", "", err
	}
	return "\n" + style, "\n'use strict';\n{\n" + script + "}\n", nil
}

// policy lets the page run its own script and style and nothing else; only a
// live page may talk to its server.
func policy(style, script string, live bool) string {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	connect := "'none'"
	if live {
		connect = "'self'"
	}
	return strings.Join([]string{
		"default-src 'none'", "script-src " + hash(script), "style-src " + hash(style), "img-src data:",
		"connect-src " + connect, "base-uri 'none'", "form-action 'none'",
	}, "; ")
}
