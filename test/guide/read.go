// SPDX-License-Identifier: Apache-2.0

package guide

import (
	"fmt"
	"os"
	"regexp"
)

// Section is a numbered part of a guide.
type Section struct {
	// Text is all of it.
	Text string
	// Commands are its blocks marked sh, Manifests those marked yaml, and Shown those marked console.
	Commands, Manifests, Shown []string
}

var (
	step  = regexp.MustCompile(`(?m)^## \d+\. `)
	block = regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$")
)

// Read reads the numbered sections of a guide.
func Read(path string) ([]Section, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading a guide: %w", err)
	}
	var sections []Section
	for _, text := range step.Split(string(text), -1)[1:] {
		s := Section{Text: text}
		for _, b := range block.FindAllStringSubmatch(text, -1) {
			switch b[1] {
			case "sh":
				s.Commands = append(s.Commands, b[2])
			case "yaml":
				s.Manifests = append(s.Manifests, b[2])
			case "console":
				s.Shown = append(s.Shown, b[2])
			}
		}
		sections = append(sections, s)
	}
	return sections, nil
}
