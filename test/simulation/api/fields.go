// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"io/fs"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"slipway.dev/slipway/config/crd"
)

// Who owns which field is the business of the library that the real server uses. It is told the same schemas: those of the built-in
// kinds, and those of our CustomResourceDefinitions, as the server reads them: by key where a list has one, and as a whole
// where nothing is said of it.

// fieldManagers are those of the kinds that were asked for.
type fieldManagers struct {
	mu    sync.Mutex
	known map[schema.GroupVersionKind]*managedfields.FieldManager
}

var owners = &fieldManagers{known: map[schema.GroupVersionKind]*managedfields.FieldManager{}}

// of is the manager of the fields of a kind. It panics when the kind has no schema: that is a mistake of the test.
func (f *fieldManagers) of(id schema.GroupVersionKind) *managedfields.FieldManager {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known[id] != nil {
		return f.known[id]
	}
	made, err := newFieldManager(id)
	if err != nil {
		panic(fmt.Sprintf("the fields of %s have no owners: %v", id, err))
	}
	f.known[id] = made
	return made
}

func newFieldManager(id schema.GroupVersionKind) (*managedfields.FieldManager, error) {
	if clientgoscheme.Scheme.Recognizes(id) {
		return managedfields.NewDefaultFieldManager(builtIn(), oneVersion{}, oneVersion{}, oneVersion{}, id, id.GroupVersion(), "", nil)
	}
	converter, err := ours()
	if err != nil {
		return nil, err
	}
	return managedfields.NewDefaultCRDFieldManager(converter, oneVersion{}, oneVersion{}, oneVersion{}, id, id.GroupVersion(), "", nil)
}

var builtIn = sync.OnceValue(func() managedfields.TypeConverter {
	return applyconfigurations.NewTypeConverter(clientgoscheme.Scheme)
})

// ours has the schemas of our definitions, with metadata as the server adds it.
var ours = sync.OnceValues(func() (managedfields.TypeConverter, error) {
	const models = "#/definitions/"
	name := func(path string) spec.Ref { return spec.MustCreateRef(models + path) }
	schemas := map[string]*spec.Schema{}
	for path, d := range apiextensions.GetOpenAPIDefinitions(name) {
		schemas[path] = &d.Schema
	}
	files, err := fs.Glob(crd.Files, "*_*.yaml")
	if err != nil {
		return nil, fmt.Errorf("listing definitions: %w", err)
	}
	for _, file := range files {
		raw, err := crd.Files.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading a definition: %w", err)
		}
		if err := addSchemas(schemas, raw, name(metav1.ObjectMeta{}.OpenAPIModelName())); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return managedfields.NewTypeConverter(schemas, false)
})

// addSchemas adds those of each version of a definition.
func addSchemas(schemas map[string]*spec.Schema, raw []byte, metadata spec.Ref) error {
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(raw, &definition); err != nil {
		return fmt.Errorf("reading it: %w", err)
	}
	for _, version := range definition.Spec.Versions {
		text, err := yaml.Marshal(version.Schema.OpenAPIV3Schema)
		if err != nil {
			return fmt.Errorf("writing its schema: %w", err)
		}
		one := &spec.Schema{}
		if err := yaml.Unmarshal(text, one); err != nil {
			return fmt.Errorf("reading its schema: %w", err)
		}
		one.Properties["metadata"] = spec.Schema{SchemaProps: spec.SchemaProps{Ref: metadata}}
		one.AddExtension("x-kubernetes-group-version-kind", []any{map[string]any{
			"group": definition.Spec.Group, "version": version.Name, "kind": definition.Spec.Names.Kind,
		}})
		schemas[strings.Join([]string{definition.Spec.Group, version.Name, definition.Spec.Names.Kind}, ".")] = one
	}
	return nil
}

// oneVersion is for kinds that have one version, and no defaults but those that objects are stored with.
type oneVersion struct{}

func (oneVersion) Convert(_, _, _ any) error {
	return fmt.Errorf("converting into another object: %w", ErrUnsupported)
}

func (oneVersion) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

func (oneVersion) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

func (oneVersion) Default(runtime.Object) {}

func (oneVersion) New(id schema.GroupVersionKind) (runtime.Object, error) {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetGroupVersionKind(id)
	return o, nil
}
