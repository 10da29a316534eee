// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/cli/manifest"
)

// Checked is one object of a file.
type Checked struct {
	// Where is the file, the number of its document, and the object.
	Where    string
	Findings []Finding
	// Note is what else there is to say: the goals of its batches.
	Note string
}

// File checks all RolloutTraits and MetricTemplates of a file of YAML documents or JSON, and passes over objects of other kinds.
// Size is how many pods the workloads have, nil when that is not known. An error names what cannot be read at all.
func File(file string, r io.Reader, size *int) ([]Checked, error) {
	var all []Checked
	err := manifest.Each(file, r, func(kind metav1.TypeMeta, where string, raw []byte) error {
		one := Checked{Where: where}
		switch kind.Kind {
		case rolloutv1alpha1.RolloutTraitKind:
			rollout := &rolloutv1alpha1.RolloutTrait{}
			if one.Findings = decode(kind, raw, rollout); len(one.Findings) == 0 {
				one.Findings = Rollout(rollout, size)
			}
			if len(one.Findings) == 0 {
				arithmetic, _ := Goals(&rollout.Spec, size) // it adds up: Rollout has looked
				one.Note = arithmetic.String()
			}
		case rolloutv1alpha1.MetricTemplateKind:
			template := &rolloutv1alpha1.MetricTemplate{}
			if one.Findings = decode(kind, raw, template); len(one.Findings) == 0 {
				one.Findings = Template(template)
			}
		default:
			return nil
		}
		all = append(all, one)
		return nil
	})
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%s: holds neither a RolloutTrait nor a MetricTemplate", file)
	}
	return all, err
}

// decode reads an object, and reports each field that does not exist.
func decode(kind metav1.TypeMeta, raw []byte, into runtime.Object) []Finding {
	if want := rolloutv1alpha1.GroupVersion.String(); kind.APIVersion != want {
		return []Finding{{Field: "apiVersion", Value: fmt.Sprintf("%q", kind.APIVersion), Allowed: fmt.Sprintf("a %s is of %s", kind.Kind, want)}}
	}
	err := manifest.Decode(raw, into, rolloutv1alpha1.AddToScheme)
	if err == nil {
		return nil
	}
	strict, isStrict := runtime.AsStrictDecodingError(err)
	if !isStrict {
		return []Finding{misread(err)}
	}
	var found []Finding
	for _, e := range strict.Errors() {
		found = append(found, misread(e))
	}
	return found
}

var (
	unknownField = regexp.MustCompile(`unknown field "([^"]+)"`)
	wrongType    = regexp.MustCompile(`cannot unmarshal (\S+) (?:[^ ]+ )?into Go struct field \w+\.(\S+) of type (\S+)`)
)

// misread says in the words of a manifest what the decoder says in those of Go.
func misread(err error) Finding {
	text := err.Error()
	if m := unknownField.FindStringSubmatch(text); m != nil {
		return Finding{Field: m[1], Allowed: "there is no such field"}
	}
	if m := wrongType.FindStringSubmatch(text); m != nil {
		return Finding{Field: m[2], Value: "a " + m[1], Allowed: "use a " + typeName(m[3])}
	}
	if inner := errors.Unwrap(err); inner != nil {
		text = inner.Error()
	}
	return Finding{Field: "(the document)", Allowed: text}
}

func typeName(goType string) string {
	switch goType = strings.TrimPrefix(goType, "*"); {
	case strings.HasPrefix(goType, "int"), strings.HasPrefix(goType, "uint"):
		return "whole number"
	case goType == "bool":
		return "true or false"
	case goType == "string":
		return "text; numbers and words like true are put in quotes"
	case strings.HasPrefix(goType, "[]"):
		return "list"
	}
	return "map of fields"
}
