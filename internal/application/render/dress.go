// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// Scope tells whether objects of a kind live in a namespace. An error for which meta.IsNoMatchError holds says that there is no such
// kind; any other one passes.
type Scope func(schema.GroupVersionKind) (namespaced bool, err error)

// auxiliary is the type of trait of an object that no trait gave but the component itself.
const auxiliary = "AuxiliaryWorkload"

// Dress gives the objects of a component what templates need not say: namespace, names, and the labels by which they are found. It
// refuses what an application may not have: objects of another namespace or of none, names that do not fit, and fields that belong
// to the API server. The result itself stays as it is. The error is of type Problems, or one of scope.
func Dress(request Request, result Result, scope Scope) (Result, error) {
	d := dresser{request: request, scope: scope, seen: map[string]string{}}
	dressed := Result{Warnings: result.Warnings}
	var err error
	if dressed.Workload, err = d.object(source{component: request.Component.Name, definition: request.Component.Type}, "output",
		result.Workload, request.Component.Name, map[string]string{oamv1beta1.LabelWorkloadType: request.Component.Type}); err != nil {
		return Result{}, err
	}
	for _, e := range result.Extras {
		s := source{component: request.Component.Name, definition: e.Trait, isTrait: true}
		labels := map[string]string{oamv1beta1.LabelTraitType: e.Trait, oamv1beta1.LabelTraitResource: e.Name}
		if e.Trait == "" {
			s = source{component: request.Component.Name, definition: request.Component.Type}
			labels[oamv1beta1.LabelTraitType] = auxiliary
		}
		object, err := d.object(s, fieldPath([]string{"outputs", e.Name}), e.Object, request.Component.Name+"-"+strings.ToLower(e.Name), labels)
		if err != nil {
			return Result{}, err
		}
		dressed.Extras = append(dressed.Extras, Extra{Name: e.Name, Trait: e.Trait, Object: object})
	}
	if len(d.problems) > 0 {
		return Result{}, d.problems.enough()
	}
	return dressed, nil
}

type dresser struct {
	request  Request
	scope    Scope
	seen     map[string]string // where an object of a kind and name was given first
	problems Problems
}

// ofTheServer are fields of metadata that nobody writes into a template.
var ofTheServer = []string{"creationTimestamp", "deletionTimestamp", "generateName", "generation", "managedFields", "ownerReferences", "resourceVersion", "selfLink", "uid"}

// object dresses one object. What is wrong with it is collected; the error is that of scope.
func (d *dresser) object(s source, field string, object map[string]any, name string, labels map[string]string) (map[string]any, error) {
	report := func(at, format string, values ...any) {
		d.problems = append(d.problems, s.problem(field+at, format, values...))
	}
	object = runtime.DeepCopyJSON(object)
	metadata, problem := section(object, "metadata")
	if problem != "" {
		report(".metadata", "%s", problem)
		return object, nil
	}
	for _, key := range ofTheServer {
		if _, has := metadata[key]; has {
			report(".metadata."+key, "is not for a template: it is set by others")
		}
	}
	kind := schema.FromAPIVersionAndKind(fmt.Sprint(object["apiVersion"]), fmt.Sprint(object["kind"]))
	if err := d.place(report, kind, metadata); err != nil {
		return nil, fmt.Errorf("looking up %s of %s: %w", kind.Kind, kind.GroupVersion(), err)
	}
	d.name(report, field, kind, metadata, name)
	for _, texts := range []string{"labels", "annotations"} {
		d.texts(report, metadata, texts)
	}
	c := d.request.Context
	ours := map[string]string{
		oamv1beta1.LabelAppName: c.AppName, oamv1beta1.LabelComponent: d.request.Component.Name,
		oamv1beta1.LabelAppRevision: c.AppRevision, oamv1beta1.LabelComponentRevision: c.Revision,
	}
	maps.Copy(ours, labels)
	d.label(report, metadata, ours)
	return object, nil
}

// section is a map in a map; it is made when it is missing.
func section(object map[string]any, name string) (map[string]any, string) {
	switch at := object[name].(type) {
	case nil:
		made := map[string]any{}
		object[name] = made
		return made, ""
	case map[string]any:
		return at, ""
	}
	return nil, "has to be an object"
}

func (d *dresser) place(report func(at, format string, values ...any), kind schema.GroupVersionKind, metadata map[string]any) error {
	namespaced, err := d.scope(kind)
	switch {
	case meta.IsNoMatchError(err):
		report("", "the cluster has no kind %s of %s", kind.Kind, kind.GroupVersion())
		return nil
	case err != nil:
		return err
	case !namespaced:
		report("", "%s is a %s, which belongs to the whole cluster: only objects in the namespace of the application are allowed", nameOf(metadata), kind.Kind)
		return nil
	}
	if own := d.request.Context.Namespace; metadata["namespace"] == nil || metadata["namespace"] == "" {
		metadata["namespace"] = own
	} else if metadata["namespace"] != own {
		report(".metadata.namespace", "%s %s is put into %s: only the namespace of the application is allowed, %q", kind.Kind, nameOf(metadata), written(metadata["namespace"]), own)
	}
	return nil
}

func nameOf(metadata map[string]any) string {
	if metadata["name"] == nil {
		return "an object without a name"
	}
	return written(metadata["name"])
}

// name fills in the name where there is none, and checks that it is free and fits.
func (d *dresser) name(report func(at, format string, values ...any), field string, kind schema.GroupVersionKind, metadata map[string]any, name string) {
	if metadata["name"] == nil || metadata["name"] == "" {
		metadata["name"] = name
	}
	text, isText := metadata["name"].(string)
	if !isText {
		report(".metadata.name", "has to be text, not %s", written(metadata["name"]))
		return
	}
	fits, most := validation.IsDNS1123Subdomain, validation.DNS1123SubdomainMaxLength
	if field == "output" || kind.Kind == "Service" && kind.Group == "" {
		fits, most = validation.IsDNS1123Label, validation.DNS1123LabelMaxLength
	}
	if len(text) > most {
		report(".metadata.name", "%q has %d characters; at most %d are allowed", shorten(text), len(text), most)
	} else if wrong := fits(text); len(wrong) > 0 {
		report(".metadata.name", "%q is not allowed: use lower case letters, digits and '-'", shorten(text))
	}
	key := kind.GroupKind().String() + "/" + text
	if first, taken := d.seen[key]; taken {
		report(".metadata.name", "%s %q is given by %s already; each object needs a name of its own", kind.Kind, shorten(text), first)
	}
	d.seen[key] = field
}

// texts checks that labels or annotations are text: the API server takes nothing else.
func (d *dresser) texts(report func(at, format string, values ...any), metadata map[string]any, name string) {
	if metadata[name] == nil {
		delete(metadata, name)
		return
	}
	all, isMap := metadata[name].(map[string]any)
	if !isMap {
		report(".metadata."+name, "has to be an object")
		return
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		text, isText := all[key].(string)
		at := ".metadata." + name + "[\"" + shorten(key) + "\"]"
		switch {
		case !isText:
			report(at, "%s is not allowed: use text, in quotes", written(all[key]))
		case len(validation.IsQualifiedName(key)) > 0:
			report(at, "is not allowed as a key: use a name of at most 63 letters, digits, '-', '_' and '.', behind a domain and '/' or not")
		case name == "labels" && len(validation.IsValidLabelValue(text)) > 0:
			report(at, "%q is not allowed: a label has at most 63 letters, digits, '-', '_' and '.', and begins and ends with a letter or digit", shorten(text))
		}
	}
}

// label sets the labels by which the object is found. A template may say the same, and nothing else.
func (d *dresser) label(report func(at, format string, values ...any), metadata map[string]any, ours map[string]string) {
	labels, problem := section(metadata, "labels")
	if problem != "" {
		return // texts has told of it
	}
	for _, key := range slices.Sorted(maps.Keys(ours)) {
		if has, taken := labels[key]; taken && has != ours[key] {
			report(".metadata.labels[\""+key+"\"]", "%s is not allowed: this label is set to %q", written(has), ours[key])
			continue
		}
		if ours[key] == "" {
			continue
		}
		if len(validation.IsValidLabelValue(ours[key])) > 0 {
			report(".metadata.labels[\""+key+"\"]", "%q does not fit into a label: at most 63 letters, digits, '-', '_' and '.'", shorten(ours[key]))
			continue
		}
		labels[key] = ours[key]
	}
}
