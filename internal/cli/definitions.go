// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/definition"
	"slipway.dev/slipway/internal/application/render"
	manifests "slipway.dev/slipway/internal/cli/manifest"
)

// Renderer evaluates templates. Those of others may take for ever, so the program has it done by workers.
type Renderer interface {
	Render(ctx context.Context, request render.Request) (render.Result, error)
	Describe(ctx context.Context, d render.Definition) (render.Description, error)
}

// direct evaluates here, without limits of time and memory.
type direct struct{}

func (direct) Render(_ context.Context, request render.Request) (render.Result, error) {
	return render.Evaluate(request, nil)
}

func (direct) Describe(_ context.Context, d render.Definition) (render.Description, error) {
	return render.Describe(d)
}

// found is a definition with the place that it was read from.
type found struct {
	definition.Definition
	where string
}

// definitionsIn reads the definitions of a file: one in CUE, or any number as manifests, of which other kinds are passed over.
func definitionsIn(file string, r io.Reader) ([]found, error) {
	if strings.HasSuffix(file, ".cue") {
		text, err := io.ReadAll(io.LimitReader(r, 1<<20))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		d, err := definition.FromCUE(file, text, func(name string) ([]byte, error) {
			return os.ReadFile(filepath.Join(filepath.Dir(file), "include", filepath.Base(name)+".cue"))
		})
		if err != nil {
			return nil, err
		}
		return []found{{d, file}}, nil
	}
	var all []found
	err := manifests.Each(file, r, func(kind metav1.TypeMeta, where string, raw []byte) error {
		d, err := fromManifest(kind, raw)
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		if d != nil {
			all = append(all, found{*d, where})
		}
		return nil
	})
	return all, err
}

// fromManifest is nil for kinds that define nothing.
func fromManifest(kind metav1.TypeMeta, raw []byte) (*definition.Definition, error) {
	if kind.APIVersion != oamv1beta1.GroupVersion.String() {
		return nil, nil
	}
	d := &definition.Definition{}
	switch kind.Kind {
	case oamv1beta1.ComponentDefinitionKind:
		d.Component = &oamv1beta1.ComponentDefinition{}
		return d, manifests.Decode(raw, d.Component, oamv1beta1.AddToScheme)
	case oamv1beta1.TraitDefinitionKind:
		d.Trait = &oamv1beta1.TraitDefinition{}
		return d, manifests.Decode(raw, d.Trait, oamv1beta1.AddToScheme)
	}
	return nil, nil
}

// known are the shipped definitions, and those in directories, which win over them.
func known(directories []string) ([]found, error) {
	shipped, err := definition.Shipped()
	if err != nil {
		return nil, err
	}
	var all []found
	for _, d := range shipped {
		all = append(all, found{d, "shipped with slipway"})
	}
	for _, directory := range directories {
		entries, err := os.ReadDir(directory)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			if entry.IsDir() || !slices.Contains([]string{".cue", ".yaml", ".yml", ".json"}, filepath.Ext(entry.Name())) {
				continue
			}
			file := filepath.Join(directory, entry.Name())
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			read, err := definitionsIn(file, bytes.NewReader(text))
			if err != nil {
				return nil, err
			}
			all = append(all, read...)
		}
	}
	return all, nil
}

// read is a file, or standard input for "-".
func (e Environment) read(file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(e.Streams.In)
	}
	return os.ReadFile(file)
}
