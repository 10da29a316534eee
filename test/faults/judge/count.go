// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"slipway.dev/slipway/test/audit"
)

// Count is how often the controllers have written to one pod.
type Count struct {
	Pod string
	// Accepted are the writes that the API server took, All those that it refused as well.
	Accepted, All int
}

// CountWrites counts what a product has written to the pods of a namespace after a time, by name. A pod that comes again under
// its name is another one: a CloneSet uses names again.
func CountWrites(events []audit.Event, product, namespace string, since time.Time) []Count {
	type life struct {
		name string
		nth  int
	}
	counts, lives := map[life]*Count{}, map[string]int{}
	for _, e := range slices.SortedStableFunc(slices.Values(events), func(a, b audit.Event) int { return a.At.Compare(b.At) }) {
		if e.Group != "" || e.Resource != "pods" || e.Namespace != namespace || !e.At.After(since) || audit.Product(e.UserAgent) != product {
			continue
		}
		name := nameOf(&e)
		if name == "" {
			continue
		}
		if e.Verb == "create" && e.Subresource == "" && e.Accepted() {
			lives[name]++
		}
		of := life{name, lives[name]}
		if counts[of] == nil {
			counts[of] = &Count{Pod: name}
		}
		if counts[of].All++; e.Accepted() {
			counts[of].Accepted++
		}
	}
	var sorted []Count
	for _, of := range slices.SortedFunc(maps.Keys(counts), func(a, b life) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.nth, b.nth)) }) {
		sorted = append(sorted, *counts[of])
	}
	return sorted
}

// nameOf is the name of what was written, which for a creation stands in the answer alone.
func nameOf(e *audit.Event) string {
	if e.Name != "" {
		return e.Name
	}
	var made metav1.PartialObjectMetadata
	if json.Unmarshal(e.Answered, &made) != nil {
		return ""
	}
	return made.Name
}

// count bounds the writes to each pod.
func (c *court) count(events []audit.Event) {
	for _, n := range CountWrites(events, c.Product, c.Namespace, c.Since) {
		for _, bound := range []struct {
			n, most int
			what    string
		}{{n.Accepted, c.MostWrites, "changed"}, {n.All, c.MostTries, "written to"}} {
			if bound.most > 0 && bound.n > bound.most {
				c.findings = append(c.findings, Finding{Invariant: Writes, Object: n.Pod, Detail: fmt.Sprintf("it was %s %d times, %d are enough", bound.what, bound.n, bound.most)})
			}
		}
	}
}
