// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// contents are shops of a few components, images, sizes and definitions, so that the same one comes again often.
func contents() *rapid.Generator[Content] {
	return rapid.Custom(func(t *rapid.T) Content {
		content := shop()
		var components []oamv1beta1.ApplicationComponent
		for _, name := range []string{"web", "jobs", "mail"}[:rapid.IntRange(1, 3).Draw(t, "components")] {
			component := oamv1beta1.ApplicationComponent{
				Name: name, Type: rapid.SampledFrom([]string{"webservice", "worker"}).Draw(t, "type"),
				Properties: raw(fmt.Sprintf(`{"image":"%s:%d"}`, name, rapid.IntRange(1, 3).Draw(t, "image"))),
			}
			if rapid.Bool().Draw(t, "scaled") {
				component.Traits = []oamv1beta1.ApplicationTrait{{Type: "scaler", Properties: raw(fmt.Sprintf(`{"replicas":%d}`, rapid.IntRange(1, 2).Draw(t, "replicas")))}}
			}
			components = append(components, component)
		}
		content.Application.Spec.Components = components
		if rapid.Bool().Draw(t, "newer definition") {
			definition(&content, "worker", func(d *oamv1beta1.ComponentDefinition) { d.Spec.Schematic.CUE.Template = "output: newer" })
		}
		return content
	})
}

// trees are values of JSON.
func trees(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kind := rapid.IntRange(0, 6).Draw(t, "kind")
		if depth == 0 {
			kind %= 5
		}
		switch kind {
		case 0:
			return nil
		case 1:
			return rapid.Bool().Draw(t, "bool")
		case 2:
			return rapid.Int64().Draw(t, "int")
		case 3:
			return rapid.String().Draw(t, "text")
		case 4:
			return rapid.Float64Range(-1e6, 1e6).Draw(t, "float")
		case 5:
			return anys(rapid.SliceOfN(trees(depth-1), 0, 3).Draw(t, "list"))
		default:
			return rapid.MapOfN(rapid.String(), trees(depth-1), 0, 4).Draw(t, "object")
		}
	})
}

func anys(items []any) any { return append([]any{}, items...) }

// shuffled writes a tree with the members of each object in a random order, and with blanks between.
func shuffled(t *rapid.T, node any) []byte {
	var out bytes.Buffer
	switch node := node.(type) {
	case map[string]any:
		keys := rapid.Permutation(slices.Sorted(maps.Keys(node))).Draw(t, "order")
		out.WriteString("{ ")
		for i, key := range keys {
			if i > 0 {
				out.WriteString("\n,")
			}
			out.Write(plain(t, key))
			out.WriteString(" :")
			out.Write(shuffled(t, node[key]))
		}
		out.WriteString("}")
	case []any:
		out.WriteString("[")
		for i, item := range node {
			if i > 0 {
				out.WriteString(", ")
			}
			out.Write(shuffled(t, item))
		}
		out.WriteString(" ]")
	default:
		return plain(t, node)
	}
	return out.Bytes()
}

func plain(t *rapid.T, value any) []byte {
	written, err := json.Marshal(value)
	if err != nil {
		t.Fatalf("writing %v: %v", value, err)
	}
	return written
}

func TestTheOrderOfMembersDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := map[string]any{"a": trees(3).Draw(t, "a"), "b": trees(3).Draw(t, "b")}
		hash := func(properties []byte) string {
			hash, err := with(func(c *Content) { web(c).Properties = raw(string(properties)) }).Hash()
			if err != nil {
				t.Fatalf("%s: %v", properties, err)
			}
			return hash
		}
		written, other := plain(t, tree), shuffled(t, tree)
		if hash(written) != hash(other) {
			t.Fatalf("two hashes for\n%s\n%s", written, other)
		}
		if more := plain(t, map[string]any{"a": tree["a"], "b": tree["b"], "c": nil}); hash(more) == hash(written) {
			t.Fatalf("one hash for\n%s\n%s", written, more)
		}
	})
}

func TestTheHashTellsContentsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one, two := contents().Draw(t, "one"), contents().Draw(t, "two")
		hash := func(c Content) string {
			hash, err := c.Hash()
			if err != nil {
				t.Fatal(err)
			}
			return hash
		}
		if hash(one) != hash(Content{Application: one.Application.DeepCopy(), Components: maps.Clone(one.Components), Traits: maps.Clone(one.Traits)}) {
			t.Fatal("two hashes for one content")
		}
		// What counts is written down by the generator: the spec, and the template of a worker where there is one.
		say := func(c Content) string {
			said := text(t, c.Application.Spec)
			if names, _ := Uses(c.Application); slices.Contains(names, "worker") {
				said += c.Components["worker"].Spec.Schematic.CUE.Template
			}
			return said
		}
		if same := say(one) == say(two); same != (hash(one) == hash(two)) {
			t.Fatalf("the same: %v, and hashes %s and %s for\n%s\n%s", same, hash(one), hash(two), say(one), say(two))
		}
	})
}

// book is a cluster's memory of one application, as a controller keeps it.
type book struct {
	history History
	known   Known
	content Content
	// deployed is the number of the revision that runs.
	deployed *oamv1beta1.ApplicationRevision
	// first is the component revision that each template of a component was given first, by name and template.
	first map[string]string
}

func (b *book) edit(t *rapid.T) {
	b.content = contents().Draw(t, "content")
	decided, err := b.history.Decide(b.content)
	if err != nil {
		t.Fatal(err)
	}
	var made *oamv1beta1.ApplicationRevision
	switch decided := decided.(type) {
	case Unchanged:
		if decided.Revision != newestOf(b.history.Own) {
			t.Fatalf("unchanged is %s, and the newest is %s", decided.Revision.Name, newestOf(b.history.Own).Name)
		}
		b.deployed = decided.Revision
		return
	case Again:
		if made, err = Repeat(decided, b.content.Application); err != nil {
			t.Fatal(err)
		}
	case New:
		made = b.write(t, decided)
	}
	if b.history.Taken[made.Name] || made.Spec.Revision <= b.history.Highest || made.Name != Name("shop", made.Spec.Revision) {
		t.Fatalf("revision %s has the number %d after %d, and %v are taken", made.Name, made.Spec.Revision, b.history.Highest, b.history.Taken)
	}
	b.history.Highest = made.Spec.Revision
	b.history.Own = append(b.history.Own, stored(t, made))
	b.known.Snapshots = b.history.Own
	b.deployed = newestOf(b.history.Own)
	if again, err := b.history.Decide(b.content); err != nil || outcome(again) != "is "+made.Name {
		t.Fatalf("after %s was made: %s, %v", made.Name, outcome(again), err)
	}
	b.checkComponents(t, made)
}

func (b *book) write(t *rapid.T, decided New) *oamv1beta1.ApplicationRevision {
	rendered := render(t, b.content)
	components, err := b.known.Components(rendered)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range components {
		if c.Stored == nil {
			object, err := c.Object(b.content.Application)
			if err != nil {
				t.Fatal(err)
			}
			if b.known.Taken[object.Name] {
				t.Fatalf("%s is taken", object.Name)
			}
			b.known.Stored = append(b.known.Stored, stored(t, object))
		}
	}
	made, err := Draft{Content: b.content, Next: decided.Next, Components: components, Rendered: rendered}.Object()
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// checkComponents wants each component to have the revision of its image: the same name for the same, as long as it is known,
// and never one name for two.
func (b *book) checkComponents(t *rapid.T, made *oamv1beta1.ApplicationRevision) {
	for i, component := range b.content.Application.Spec.Components {
		revision := made.Spec.ComponentRevisions[i]
		workload := map[string]any{}
		decode(t, revision.Workload, &workload)
		pods, err := podsOf(workload)
		if err != nil {
			t.Fatal(err)
		}
		key := component.Name + "\n" + pods
		if was, ok := b.first[key]; ok && was != revision.Revision {
			t.Fatalf("component %s had the revision %s for this template, and now has %s", component.Name, was, revision.Revision)
		}
		b.first[key] = revision.Revision
		for other, name := range b.first {
			if name == revision.Revision && other != key {
				t.Fatalf("%s is the name of two templates", name)
			}
		}
	}
}

// forget removes what is expired, and checks that nothing is that is needed.
func (b *book) forget(t *rapid.T) {
	if b.deployed == nil {
		return
	}
	users := Users{Application: b.content.Application.DeepCopy(), Deployed: []map[string]string{{oamv1beta1.LabelAppRevision: b.deployed.Name}}}
	for _, r := range b.deployed.Spec.ComponentRevisions {
		users.Deployed = append(users.Deployed, map[string]string{oamv1beta1.LabelComponentRevision: r.Revision})
	}
	rollout := &oamv1beta1.AppRollout{}
	rollout.Spec.TargetAppRevisionName = b.history.Own[rapid.IntRange(0, len(b.history.Own)-1).Draw(t, "target")].Name
	users.Rollouts = []*oamv1beta1.AppRollout{rollout}
	limit := rapid.IntRange(0, 4).Draw(t, "limit")
	expired := Expired("shop", b.history.Own, users.Used(), limit)
	for _, r := range expired {
		if r.Name == b.deployed.Name || r.Name == rollout.Spec.TargetAppRevisionName || r.Name == newestOf(b.history.Own).Name {
			t.Fatalf("%s is forgotten, and needed", r.Name)
		}
	}
	if left := len(b.history.Own) - len(expired); left < min(limit+1, len(b.history.Own)) || left > limit+3 {
		t.Fatalf("%d are left of %d, with a limit of %d and at most three needed", left, len(b.history.Own), limit)
	}
	b.history.Own = slices.DeleteFunc(b.history.Own, func(r *oamv1beta1.ApplicationRevision) bool { return slices.Contains(expired, r) })
	b.known.Snapshots = b.history.Own

	needed := map[string]bool{}
	for _, r := range b.history.Own {
		for _, c := range r.Spec.ComponentRevisions {
			needed[c.Revision] = true
		}
	}
	for _, r := range ExpiredComponents(users.Application, b.known.Stored, b.history.Own, users.Used()) {
		if needed[r.Name] {
			t.Fatalf("%s is forgotten, and a revision has it", r.Name)
		}
		b.known.Stored = without(b.known.Stored, r.Name)
	}
	b.unlearn()
}

// lose has somebody delete a component revision.
func (b *book) lose(t *rapid.T) {
	if len(b.known.Stored) == 0 {
		return
	}
	names := []string{}
	for _, r := range b.known.Stored {
		names = append(names, r.Name)
	}
	b.known.Stored = without(b.known.Stored, rapid.SampledFrom(names).Draw(t, "lost"))
	b.unlearn()
}

// unlearn takes from what is expected the component revisions that neither a record nor a snapshot knows any more.
func (b *book) unlearn() {
	known := map[string]bool{}
	for _, r := range b.known.Stored {
		known[r.Name] = true
	}
	for _, r := range b.history.Own {
		for _, c := range r.Spec.ComponentRevisions {
			known[c.Revision] = true
		}
	}
	maps.DeleteFunc(b.first, func(_, name string) bool { return !known[name] })
}

func newestOf(own []*oamv1beta1.ApplicationRevision) *oamv1beta1.ApplicationRevision {
	return slices.MaxFunc(own, func(a, b *oamv1beta1.ApplicationRevision) int { return int(a.Spec.Revision - b.Spec.Revision) })
}

// TestAnyStoryOfEdits: numbers only grow, what is the same is found again, and what is needed is not forgotten.
func TestAnyStoryOfEdits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := &book{history: History{Application: "shop", Taken: map[string]bool{}}, known: Known{Taken: map[string]bool{}}, first: map[string]string{}}
		t.Repeat(map[string]func(*rapid.T){
			"edit":   b.edit,
			"forget": b.forget,
			"take": func(t *rapid.T) {
				b.history.Taken[Name("shop", b.history.Highest+rapid.Int64Range(1, 3).Draw(t, "ahead"))] = true
				b.known.Taken[Name("web", rapid.Int64Range(20, 30).Draw(t, "number"))] = true
			},
			"lose a component revision": b.lose,
		})
	})
}
