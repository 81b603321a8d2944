// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package managertest

import (
	"encoding/json"
	"regexp"
	"sort"
	"strings"
)

// Line is one line of a manager's log.
type Line struct {
	// Raw is the line as written.
	Raw string
	// Level, Logger, Message and Error are set for a structured line.
	Level, Logger, Message, Error string
	// Fields are the other keys of a structured line, without those that say
	// when and where in the source it was written.
	Fields map[string]any
}

// klogHeader is the head of a line that klog wrote: severity, month and day,
// time, thread, file and line.
var klogHeader = regexp.MustCompile(`^([IWEF])\d{4} [\d:.]+\s+\d+ [^\]]+\] `)

// ParseLine reads one line. A line that is no JSON object has only Raw.
func ParseLine(raw string) Line {
	line := Line{Raw: raw}
	var fields map[string]any
	if !strings.HasPrefix(raw, "{") || json.Unmarshal([]byte(raw), &fields) != nil {
		return line
	}
	take := func(key string) string {
		value, _ := fields[key].(string)
		delete(fields, key)
		return value
	}
	line.Level, line.Logger, line.Message, line.Error = take("level"), take("logger"), take("msg"), take("error")
	for _, key := range []string{"ts", "caller", "stacktrace"} {
		delete(fields, key)
	}
	line.Fields = fields
	return line
}

// String is the line without what differs from run to run: times, process
// numbers and places in the source.
func (l Line) String() string {
	if l.Fields == nil {
		return klogHeader.ReplaceAllString(l.Raw, "$1 ")
	}
	parts := []string{l.Level, l.Logger, l.Message}
	if l.Error != "" {
		parts = append(parts, "error="+l.Error)
	}
	keys := make([]string, 0, len(l.Fields))
	for key := range l.Fields {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	for _, key := range keys {
		value, err := json.Marshal(l.Fields[key])
		if err != nil {
			value = []byte(err.Error())
		}
		parts = append(parts, key+"="+string(value))
	}
	return strings.Join(parts, " | ")
}
