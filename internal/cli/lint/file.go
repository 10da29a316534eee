// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
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

// File checks all RolloutTraits, AppRollouts, rolloutPlans of Applications and MetricTemplates of a file of YAML documents or JSON, and
// passes over objects of other kinds.
// Size is how many pods the workloads have, nil when that is not known. An error names what cannot be read at all.
func File(file string, r io.Reader, size *int) ([]Checked, error) {
	var all []Checked
	err := manifest.Each(file, r, func(kind metav1.TypeMeta, where string, raw []byte) error {
		one := Checked{Where: where}
		switch kind.Kind {
		case rolloutv1alpha1.RolloutTraitKind:
			one.rolloutTrait(kind, raw, size)
		case oamv1beta1.AppRolloutKind:
			one.appRollout(kind, raw, size)
		case oamv1beta1.ApplicationKind:
			if kind.APIVersion != oamv1beta1.GroupVersion.String() { // others have a kind of that name
				return nil
			}
			one.application(kind, raw, size)
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
		err = fmt.Errorf("%s: holds no RolloutTrait, AppRollout, Application or MetricTemplate", file)
	}
	return all, err
}

func (c *Checked) rolloutTrait(kind metav1.TypeMeta, raw []byte, size *int) {
	rollout := &rolloutv1alpha1.RolloutTrait{}
	if c.Findings = decodeRollout(kind, raw, rollout, true); len(c.Findings) == 0 {
		c.Findings = Rollout(rollout, size)
	}
	if len(c.Findings) == 0 {
		arithmetic, _ := Goals(&rollout.Spec, size) // it adds up: Rollout has looked
		c.Note = arithmetic.String()
	}
}

func (c *Checked) appRollout(kind metav1.TypeMeta, raw []byte, size *int) {
	rollout := &oamv1beta1.AppRollout{}
	if c.Findings = decodeRollout(kind, raw, rollout, true); len(c.Findings) == 0 {
		c.Findings = AppRollout(rollout, size)
	}
	if len(c.Findings) == 0 {
		arithmetic, _ := RevisionGoals(&rollout.Spec.RolloutPlan, rollout.Spec.SourceAppRevisionName != "", size)
		c.Note = arithmetic.String()
	}
}

func (c *Checked) application(kind metav1.TypeMeta, raw []byte, size *int) {
	app := &oamv1beta1.Application{}
	if c.Findings = decodeRollout(kind, raw, app, false); len(c.Findings) == 0 {
		c.Findings = Application(app, size)
	}
	switch {
	case len(c.Findings) > 0:
	case app.Spec.RolloutPlan == nil:
		c.Note = "it has no rolloutPlan: what changes is applied at once"
	default:
		arithmetic, _ := RevisionGoals(app.Spec.RolloutPlan, true, size)
		c.Note = arithmetic.String()
	}
}

// decode reads an object, and reports each field that does not exist.
func decode(kind metav1.TypeMeta, raw []byte, into runtime.Object) []Finding {
	want := rolloutv1alpha1.GroupVersion.String()
	switch into.(type) {
	case *oamv1beta1.AppRollout, *oamv1beta1.Application:
		want = oamv1beta1.GroupVersion.String()
	}
	if kind.APIVersion != want {
		return []Finding{{Field: "apiVersion", Value: fmt.Sprintf("%q", kind.APIVersion), Allowed: fmt.Sprintf("the kind %s is of %s", kind.Kind, want)}}
	}
	err := manifest.Decode(raw, into, addToScheme)
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

func addToScheme(scheme *runtime.Scheme) error {
	return errors.Join(rolloutv1alpha1.AddToScheme(scheme), oamv1beta1.AddToScheme(scheme))
}

// decodeRollout says of an interval that is no time where it stands; the decoder does not. Planned: a plan has to be there.
func decodeRollout(kind metav1.TypeMeta, raw []byte, into runtime.Object, planned bool) []Finding {
	passedOver, found := unread(raw, planned), decode(kind, raw, into)
	if len(passedOver) > 0 {
		found = slices.DeleteFunc(found, func(f Finding) bool { return f.Field == document })
	}
	return append(found, passedOver...)
}

// document is the field of what is wrong nobody knows where.
const document = "(the document)"

// unread is what the decoder would pass over, or refuse without saying where it stands: a plan that is missing, and intervals that
// are no time.
func unread(raw []byte, planned bool) []Finding {
	var found []Finding
	var written struct {
		Spec *struct {
			RolloutPlan *struct {
				CanaryMetric   []struct{ Interval any }
				RolloutBatches []struct{ CanaryMetric []struct{ Interval any } }
			}
		}
	}
	if json.Unmarshal(raw, &written) != nil || written.Spec == nil {
		return nil // the decoder says what it is, or what is missing in a spec
	}
	plan := place{"spec.rolloutPlan", &found}
	if written.Spec.RolloutPlan == nil {
		if planned {
			plan.report(nil, "is missing")
		}
		return found
	}
	interval := func(p place, i int, value any) {
		if text, isText := value.(string); isText && !intervals.MatchString(text) {
			p.at("canaryMetric").item(i).at("interval").report(text, "use a duration of at least 1s, such as 30s or 1m30s")
		}
	}
	for i, m := range written.Spec.RolloutPlan.CanaryMetric {
		interval(plan, i, m.Interval)
	}
	for b, batch := range written.Spec.RolloutPlan.RolloutBatches {
		for i, m := range batch.CanaryMetric {
			interval(plan.at("rolloutBatches").item(b), i, m.Interval)
		}
	}
	return found
}

var (
	intervals    = regexp.MustCompile(`^([0-9]{1,6}([.][0-9]{1,9})?(h|m|s|ms))+$`)
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
	return Finding{Field: document, Allowed: text}
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
