// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"fleet.ai/kueue-fleet/internal/sandbox/measure"
	"fleet.ai/kueue-fleet/internal/sandbox/recording"
	"fleet.ai/kueue-fleet/internal/sandbox/recording/recordingtest"
)

var update = flag.Bool("update", false, "write the expected reports anew")

// golden compares a report with the expected one in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want,+got), go test -update writes it anew:\n%s", path, diff)
	}
}

func text(t *testing.T, recs []*recording.Recording, o Options) string {
	t.Helper()
	var out strings.Builder
	if err := Text(&out, recs, o); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTextOfTwoArms(t *testing.T) {
	golden(t, "small.txt", text(t, recordingtest.Small(), Options{}))
}

func TestTextOfAWeek(t *testing.T) {
	golden(t, "week.txt", text(t, recordingtest.Week(), Options{MaxJobs: 12, Week: ptr.To(measure.DefaultWeekOptions(192))}))
}

// repeats are three runs of one manager, the second of which failed.
func repeats() []*recording.Recording {
	first := recordingtest.Small()[1]
	second, third := *first, *first
	second.Checks = slices.Clone(first.Checks)
	second.Checks[1].Passed = false
	second.Duration = 50
	return []*recording.Recording{first, &second, &third}
}

func TestTextOfRepeats(t *testing.T) {
	got := text(t, repeats(), Options{})
	for _, want := range []string{
		"FAILED 1 of 3 runs",
		"kueue-fleet, one of 3 runs",
		"✓ the eval reaches its full size (passed in 3 of 3 runs)",
		"✗ the arrival is admitted (passed in 2 of 3 runs)",
		"16.5 (51.5 %), 13.2 (41.2 %) to 16.5 (51.5 %)",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the report does not say %q:\n%s", want, got)
		}
	}
}

func TestTextOfSeveralScenarios(t *testing.T) {
	got := text(t, []*recording.Recording{recordingtest.Small()[0], recordingtest.Week()[0]}, Options{MaxJobs: 1})
	for _, want := range []string{"An eval gives way and comes back", "A week of training, with evals in the gaps", "… and 126 more jobs", "nothing was checked",
		"2 scenarios  upstream", "small-fleet  FAILED 1/2, 1 violated", "week         nothing was checked"} {
		if !strings.Contains(got, want) {
			t.Errorf("the report does not say %q:\n%s", want, got)
		}
	}
}

// sgr is a sequence that sets a colour.
var sgr = regexp.MustCompile("\x1b\\[[0-9]*m")

func TestTextIsSafeAndNarrow(t *testing.T) {
	week := ptr.To(measure.DefaultWeekOptions(192))
	cases := map[string]struct {
		recs    []*recording.Recording
		options Options
	}{
		"two arms":                           {recs: recordingtest.Small()},
		"two arms in colour":                 {recs: recordingtest.Small(), options: Options{Color: true, AllEvidence: true}},
		"a week":                             {recs: recordingtest.Week(), options: Options{Week: week}},
		"a wide window":                      {recs: recordingtest.Small(), options: Options{Width: 160}},
		"names that would steer a terminal":  {recs: hostile(), options: Options{Week: week}},
		"the same in colour":                 {recs: hostile(), options: Options{Color: true, Week: week}},
		"an empty recording":                 {recs: []*recording.Recording{{Version: recording.Version}}, options: Options{Week: week}},
		"a recording at its very first time": {recs: []*recording.Recording{recordingtest.Until(recordingtest.Small()[0], 0)}, options: Options{Week: week}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := text(t, tc.recs, tc.options)
			if colored := strings.Contains(got, "\x1b["); colored != tc.options.Color {
				t.Errorf("colours in the text: %v, want %v", colored, tc.options.Color)
			}
			width := tc.options.Width
			if width == 0 {
				width = 100
			}
			for line := range strings.SplitSeq(sgr.ReplaceAllString(got, ""), "\n") {
				if n := utf8.RuneCountInString(line); n > width {
					t.Errorf("a line has %d characters, want at most %d: %s", n, width, line)
				}
				if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r == 0x7f }) {
					t.Errorf("a line has control characters: %q", line)
				}
			}
		})
	}
}

// hostile has texts that are harmful wherever they are not just text.
func hostile() []*recording.Recording {
	rec := recordingtest.Small()[0]
	evil := strings.Repeat("\x1b[31m\x1b]0;owned\x07</script><img src=x onerror=alert(1)> \r\u202e&<!-- ", 4)
	rec.Title, rec.Description, rec.Manager.Name, rec.Manager.Version, rec.Scenario = evil, evil, evil, evil, evil
	names := map[string]string{}
	for i := range rec.Jobs {
		names[rec.Jobs[i].Name] = rec.Jobs[i].Name + evil
		rec.Jobs[i].Name += evil
		rec.Jobs[i].Priority += evil
		rec.Jobs[i].Class += evil
		rec.Jobs[i].Result = evil
	}
	for i := range rec.Workloads {
		rec.Workloads[i].Job = names[rec.Workloads[i].Job]
		for j := range rec.Workloads[i].Spans {
			rec.Workloads[i].Spans[j].Reason, rec.Workloads[i].Spans[j].Message = evil, evil
		}
	}
	for i := range rec.Pods {
		rec.Pods[i].Job, rec.Pods[i].Name = names[rec.Pods[i].Job], evil
	}
	for i := range rec.Events {
		rec.Events[i].Job, rec.Events[i].What, rec.Events[i].Text, rec.Events[i].Since = names[rec.Events[i].Job], evil, evil, evil
	}
	for i := range rec.Nodes {
		rec.Nodes[i].Block, rec.Nodes[i].Rack = evil, evil
	}
	for i := range rec.Checks {
		rec.Checks[i] = recording.Check{Name: evil, Want: evil, Got: evil, Evidence: []string{evil}}
	}
	rec.Violations = []recording.Violation{{Rule: evil, Detail: evil}}
	rec.Comparisons = []recording.Comparison{{Measure: evil, Reference: evil, Here: evil}}
	return []*recording.Recording{rec}
}

func TestResultOf(t *testing.T) {
	cases := map[string]struct {
		job      recording.Job
		rejected bool
		want     cell
	}{
		"done with all its work":    {job: recording.Job{Result: "Succeeded", ItemsDone: 2, ItemsTotal: 2}, want: cell{"Succeeded", green}},
		"done with work missing":    {job: recording.Job{Result: "Succeeded", ItemsDone: 1, ItemsTotal: 2}, want: cell{"work missing", red}},
		"failed":                    {job: recording.Job{Result: "Failed"}, want: cell{"Failed", red}},
		"not at its end":            {want: cell{"unfinished", yellow}},
		"refused by the API server": {rejected: true, want: cell{"rejected", red}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := resultOf(tc.job, measure.JobFigures{Rejected: tc.rejected}); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestUseColor(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	// A character device, as a terminal is.
	device, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = device.Close() })
	cases := map[string]struct {
		out  *os.File
		env  map[string]string
		want bool
	}{
		"a terminal":                        {out: device, want: true},
		"a terminal, but NO_COLOR is set":   {out: device, env: map[string]string{"NO_COLOR": "1"}},
		"a terminal that can't show colour": {out: device, env: map[string]string{"TERM": "dumb"}},
		"a file":                            {out: file},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := UseColor(tc.out, func(key string) string { return tc.env[key] }); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
	if UseColor(&strings.Builder{}, func(string) string { return "" }) {
		t.Error("a writer that is no file gets no colours")
	}
}

func TestWhatCannotBeReported(t *testing.T) {
	small := recordingtest.Small()
	old := *small[0]
	old.Version = 99
	cases := map[string]struct {
		recs []*recording.Recording
		week *measure.WeekOptions
		want string
	}{
		"nothing":            {want: "failed to report: there is no recording"},
		"another version":    {recs: []*recording.Recording{small[1], &old}, want: `failed to report on "small-fleet": recording of another version: its version is 99, allowed is 1`},
		"an impossible week": {recs: small, week: &measure.WeekOptions{Filler: "evals"}, want: "invalid week: day is 0 s, it must be above 0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := Options{Week: tc.week}
			var out strings.Builder
			for form, err := range map[string]error{"text": Text(&out, tc.recs, o), "JSON": JSON(&out, tc.recs, o), "HTML": HTML(&out, tc.recs, o)} {
				if err == nil || err.Error() != tc.want {
					t.Errorf("%s: got %v, want %s", form, err, tc.want)
				}
			}
			if out.Len() > 0 {
				t.Errorf("something was written: %s", out.String())
			}
		})
	}
	if err := Text(&strings.Builder{}, []*recording.Recording{&old}, Options{}); !errors.Is(err, ErrVersion) {
		t.Errorf("got %v, want ErrVersion", err)
	}
}

// Whoever reports on a scenario that is about filling need not ask for it.
func TestTheShareThatWasFilledIsShownWhereItMatters(t *testing.T) {
	cases := map[string]struct {
		filler string
		week   *measure.WeekOptions
		want   string
	}{
		"it is about something else": {},
		"it is about filling":        {filler: "evals", want: "How much of the spare capacity evals filled"},
		"what was asked for comes first": {
			filler: "evals", week: &measure.WeekOptions{Filler: "training", Day: 10, High: 0.9},
			want: "How much of the spare capacity training filled",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rec := *recordingtest.Small()[0]
			if tc.filler != "" {
				rec.Filling = &recording.Filling{Class: tc.filler}
			}
			var text strings.Builder
			if err := Text(&text, []*recording.Recording{&rec}, Options{Week: tc.week}); err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(text.String(), "How much of the spare capacity"); got != (tc.want != "") || !strings.Contains(text.String(), tc.want) {
				t.Errorf("want %q, the text tells of a share: %v", tc.want, got)
			}
			var page strings.Builder
			if err := HTML(&page, []*recording.Recording{&rec}, Options{Week: tc.week}); err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(page.String(), `"week":{"filler":`); got != (tc.want != "") {
				t.Errorf("the page tells of a share: %v", got)
			}
			var out strings.Builder
			if err := JSON(&out, []*recording.Recording{&rec}, Options{Week: tc.week}); err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(out.String(), `"filled":`); got != (tc.want != "") {
				t.Errorf("JSON tells of a share: %v", got)
			}
		})
	}
}

// full is a writer without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestWriteErrors(t *testing.T) {
	for form, write := range map[string]func() error{
		"text": func() error { return Text(full{}, recordingtest.Small(), Options{}) },
		"JSON": func() error { return JSON(full{}, recordingtest.Small(), Options{}) },
		"HTML": func() error { return HTML(full{}, recordingtest.Small(), Options{}) },
	} {
		if err := write(); err == nil || !strings.Contains(err.Error(), "no space") {
			t.Errorf("%s: got %v, want that there is no space", form, err)
		}
	}
}

func TestDuration(t *testing.T) {
	cases := map[string]struct {
		seconds float64
		want    string
	}{
		"next to nothing":   {seconds: 0.001, want: "0s"},
		"less than ten":     {seconds: 9.5, want: "9.50s"},
		"two minutes":       {seconds: 119, want: "119.0s"},
		"rounds to minutes": {seconds: 119.97, want: "2m00s"},
		"under an hour":     {seconds: 3599, want: "59m59s"},
		"an hour":           {seconds: 3600, want: "1h00m"},
		"rounds to an hour": {seconds: 3599.7, want: "1h00m"},
		"two days":          {seconds: 2 * 86400, want: "2d00h"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := duration(tc.seconds); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
