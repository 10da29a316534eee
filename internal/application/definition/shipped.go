// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/config/definitions"
	"slipway.dev/slipway/internal/application/render"
)

// Shipped are the definitions that belong to Slipway, by name of their files.
func Shipped() ([]Definition, error) {
	files, err := fs.Glob(definitions.Sources, "*.cue")
	if err != nil {
		return nil, fmt.Errorf("listing the shipped definitions: %w", err)
	}
	include := func(name string) ([]byte, error) {
		return fs.ReadFile(definitions.Sources, path.Join("include", name+".cue"))
	}
	var all []Definition
	for _, file := range files {
		text, err := fs.ReadFile(definitions.Sources, file)
		if err != nil {
			return nil, fmt.Errorf("reading a shipped definition: %w", err)
		}
		one, err := FromCUE(file, text, include)
		if err != nil {
			return nil, err
		}
		if want := strings.TrimSuffix(file, ".cue"); one.Name() != want {
			return nil, fmt.Errorf("%s: defines %s; a file has the name of its definition", file, one.Name())
		}
		all = append(all, one)
	}
	return all, nil
}

// ByName puts definitions together as rendering takes them. Of two with the same name the later one counts.
func ByName(all []Definition) render.Definitions {
	byName := render.Definitions{Components: map[string]oamv1beta1.ComponentDefinition{}, Traits: map[string]oamv1beta1.TraitDefinition{}}
	for _, d := range all {
		if d.Component != nil {
			byName.Components[d.Name()] = *d.Component
		} else {
			byName.Traits[d.Name()] = *d.Trait
		}
	}
	return byName
}
