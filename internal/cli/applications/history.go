// SPDX-License-Identifier: Apache-2.0

package applications

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/yaml"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/cli/tree"
)

// Sort puts revisions in order, the newest first.
func Sort(revisions []*oamv1beta1.ApplicationRevision) {
	slices.SortFunc(revisions, func(a, b *oamv1beta1.ApplicationRevision) int {
		return cmp.Or(cmp.Compare(b.Spec.Revision, a.Spec.Revision), cmp.Compare(b.Name, a.Name))
	})
}

// History lays the revisions of an application out, the newest first.
func History(app *oamv1beta1.Application, revisions []*oamv1beta1.ApplicationRevision, now time.Time) tree.Document {
	doc := tree.Document{
		Head:    []tree.Span{{Text: fmt.Sprintf("Application %s/%s", app.Namespace, app.Name), Tone: tree.Strong}, {Text: fmt.Sprintf("  %d revisions", len(revisions))}},
		Columns: []tree.Column{{Title: "REVISION"}, {Title: "AGE", Drop: 2}, {Title: "COMPONENTS"}, {Title: "IMAGES", Drop: 1}, {Title: "WHAT"}},
	}
	byHash := map[string]string{}
	for _, r := range slices.Backward(revisions) {
		hash := r.Labels[oamv1beta1.LabelAppRevisionHash]
		if byHash[hash] == "" {
			byHash[hash] = r.Name
		}
	}
	for _, r := range revisions {
		var components, images []string
		for i := range r.Spec.ComponentRevisions {
			components = append(components, r.Spec.ComponentRevisions[i].Revision)
			images = append(images, imagesOf(&r.Spec.ComponentRevisions[i])...)
		}
		what := tree.Span{}
		switch first := byHash[r.Labels[oamv1beta1.LabelAppRevisionHash]]; {
		case app.Status.LatestRevision != nil && app.Status.LatestRevision.Name == r.Name:
			what = tree.Span{Text: "latest", Tone: tree.Strong}
			if first != r.Name {
				what.Text += ", the same as " + first
			}
		case first != r.Name:
			what.Text = "the same as " + first
		}
		doc.Nodes = append(doc.Nodes, tree.Node{Cells: []tree.Span{
			{Text: r.Name}, {Text: duration.HumanDuration(max(now.Sub(r.CreationTimestamp.Time), 0))}, {Text: strings.Join(components, ", ")}, {Text: strings.Join(images, ", ")}, what,
		}})
	}
	return doc
}

func imagesOf(c *oamv1beta1.ComponentRevision) []string {
	o, err := Object(c.Workload.Raw)
	if err != nil {
		return nil
	}
	var images []string
	containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
	for _, c := range containers {
		if container, is := c.(map[string]any); is {
			if image, is := container["image"].(string); is {
				images = append(images, image)
			}
		}
	}
	return images
}

// Object reads an object of a revision.
func Object(raw []byte) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(raw); err != nil {
		return nil, fmt.Errorf("reading an object of a revision: %w", err)
	}
	return o, nil
}

// Text is what a revision deploys, as manifests in their order. Labels that name the revision itself are left out: they differ
// always.
func Text(r *oamv1beta1.ApplicationRevision) (string, error) {
	var b strings.Builder
	for i := range r.Spec.ComponentRevisions {
		c := &r.Spec.ComponentRevisions[i]
		raws := [][]byte{}
		if c.Workload != nil {
			raws = append(raws, c.Workload.Raw)
		}
		for j := range c.Resources {
			raws = append(raws, c.Resources[j].Object.Raw)
		}
		for _, raw := range raws {
			o, err := Object(raw)
			if err != nil {
				return "", fmt.Errorf("ApplicationRevision %s, component %s: %w", r.Name, c.Name, err)
			}
			labels := o.GetLabels()
			delete(labels, oamv1beta1.LabelAppRevision)
			delete(labels, oamv1beta1.LabelComponentRevision)
			o.SetLabels(labels)
			text, err := yaml.Marshal(o.Object)
			if err != nil {
				return "", fmt.Errorf("printing component %s: %w", c.Name, err)
			}
			b.WriteString("---\n")
			b.Write(text)
		}
	}
	return b.String(), nil
}
