// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
)

// mergeKeys are the lists whose entries are told apart by a field, unless a comment `// +patchKey=` says otherwise.
var mergeKeys = map[string]string{
	"containers": "name", "initContainers": "name", "ephemeralContainers": "name",
	"env": "name", "volumes": "name", "imagePullSecrets": "name",
	"volumeMounts": "mountPath", "volumeDevices": "devicePath",
	"hostAliases": "ip", "topologySpreadConstraints": "topologyKey",
	"volumeClaimTemplates": "metadata.name",
}

// Strategies of `// +patchStrategy=`.
const (
	// strategyUnify is the default: what both say has to be the same.
	strategyUnify = ""
	// strategyRetainKeys has the patch win where both say something; what only the workload says stays.
	strategyRetainKeys = "retainKeys"
	// strategyReplace has the patch take the place of the whole field.
	strategyReplace = "replace"
)

// tags are what the comments above the fields of a patch ask for. A comment counts for the last field of its line. Tags hold for what
// is inside, a key for the next list.
type tags struct{ key, strategy string }

var tagForm = regexp.MustCompile(`^\s*//\s*\+(patchKey|patchStrategy)=(\S+)\s*$`)

// under reads the comments of a field.
func (g tags) under(v cue.Value) tags {
	for _, group := range v.Doc() {
		for _, comment := range group.List {
			m := tagForm.FindStringSubmatch(comment.Text)
			switch {
			case m == nil:
			case m[1] == "patchKey":
				g.key = m[2]
			default:
				g.strategy = m[2]
			}
		}
	}
	return g
}

// overlay lays one patch over an object.
type overlay struct {
	evaluated
	left *allowance
}

// lay gives the workload with the patch laid over it; the workload itself stays as it is.
func (t evaluated) lay(workload map[string]any, patch cue.Value, left *allowance) (map[string]any, Problems) {
	o := overlay{t, left}
	if patch.IncompleteKind() != cue.StructKind {
		return nil, t.problems("patch", "has to be an object, as in patch: spec: replicas: 3")
	}
	merged, problem := o.value([]string{"patch"}, workload, patch, tags{}.under(patch))
	if problem != nil {
		return nil, Problems{*problem}
	}
	object := merged.(map[string]any) // a map laid over a map is a map
	for _, field := range []string{"apiVersion", "kind"} {
		if object[field] != workload[field] {
			return nil, t.problems("patch."+field, "cannot change: the workload is a %v of %v", workload["kind"], workload["apiVersion"])
		}
	}
	return object, nil
}

func (o overlay) fail(path []string, format string, values ...any) (any, *Problem) {
	p := o.problem(fieldPath(path), format, values...)
	return nil, &p
}

// value lays a patch over what stands at one place.
func (o overlay) value(path []string, base any, patch cue.Value, g tags) (any, *Problem) {
	if len(path) > maxDepth {
		return o.fail(path, "goes deeper than %d levels", maxDepth)
	}
	switch g.strategy {
	case strategyUnify, strategyRetainKeys:
	case strategyReplace:
		return o.data(path, patch, o.left)
	default:
		return o.fail(path, "patchStrategy %q is not known: use one of %s, %s", shorten(g.strategy), strategyReplace, strategyRetainKeys)
	}
	switch at := base.(type) {
	case map[string]any:
		if patch.IncompleteKind() == cue.StructKind {
			return o.fields(path, at, patch, g)
		}
	case []any:
		if patch.IncompleteKind() == cue.ListKind {
			return o.items(path, at, patch, g)
		}
	}
	if g.strategy == strategyRetainKeys {
		return o.data(path, patch, o.left)
	}
	// A constraint, such as >=2 or a pattern, is kept by the value that it allows.
	both := patch.Unify(o.context.Encode(base))
	if both.Err() != nil {
		return o.fail(path, "contradicts the workload: the trait wants %s, and the workload has %s; only // +patchStrategy=%s lets the trait win",
			describe(patch, 0), written(base), strategyRetainKeys)
	}
	return o.data(path, both, o.left)
}

func (o overlay) fields(path []string, base map[string]any, patch cue.Value, g tags) (any, *Problem) {
	fields, err := patch.Fields()
	if err != nil {
		return nil, o.broken(path, patch, err)
	}
	merged := maps.Clone(base)
	for fields.Next() {
		name, value := fields.Selector().Unquoted(), fields.Value()
		at, below := step(path, name), g.under(fields.Value())
		var problem *Problem
		if existing, has := base[name]; has && existing != nil {
			merged[name], problem = o.value(at, existing, value, below)
		} else if merged[name], problem = o.data(at, value, o.left); problem == nil && !o.known(below.strategy) {
			merged[name], problem = o.value(at, nil, value, below)
		}
		if problem != nil {
			return nil, problem
		}
	}
	every := patch.LookupPath(cue.MakePath(cue.AnyString))
	if !every.Exists() || every.IncompleteKind() == cue.TopKind {
		return merged, o.broken(path, patch, patch.Err())
	}
	for _, name := range slices.Sorted(maps.Keys(base)) { // [string]: … asks something of every field
		value, problem := o.value(step(path, name), merged[name], every, g)
		if problem != nil {
			return nil, problem
		}
		merged[name] = value
	}
	return merged, nil
}

func (o overlay) known(strategy string) bool {
	return slices.Contains([]string{strategyUnify, strategyRetainKeys, strategyReplace}, strategy)
}

// items lays a list over a list: entry by entry of the same key, or of the same place where the list has no key.
func (o overlay) items(path []string, base []any, patch cue.Value, g tags) (any, *Problem) {
	key := g.key
	g.key = ""
	if key == "" {
		key = mergeKey(path)
	}
	wanted, err := patch.List()
	if err != nil {
		return nil, o.broken(path, patch, err)
	}
	var entries []cue.Value
	for wanted.Next() {
		entries = append(entries, wanted.Value())
	}
	every := patch.LookupPath(cue.MakePath(cue.AnyIndex))
	open := every.Exists() // [...] or [...{…}]: what the patch does not name may be there
	var merged []any
	var problem *Problem
	if key == "" {
		merged, problem = o.byPlace(path, base, entries, open, g)
	} else {
		merged, problem = o.byKey(path, base, entries, key, g)
	}
	if problem != nil || !open || every.IncompleteKind() == cue.TopKind || g.strategy == strategyRetainKeys && key == "" {
		return merged, problem
	}
	for i := range base { // [...{…}] asks something of every entry
		if merged[i], problem = o.value(step(path, strconv.Itoa(i)), merged[i], every, g); problem != nil {
			return nil, problem
		}
	}
	return merged, nil
}

func (o overlay) byKey(path []string, base []any, entries []cue.Value, key string, g tags) ([]any, *Problem) {
	merged := slices.Clone(base)
	for i, entry := range entries {
		at := step(path, strconv.Itoa(i))
		name, problem := o.key(at, entry, key)
		if problem != nil {
			return nil, problem
		}
		n := slices.IndexFunc(merged, func(e any) bool { have := keyOf(e, key); return have != nil && same(have, name) })
		if n < 0 {
			added, problem := o.data(at, entry, o.left)
			if problem != nil {
				return nil, problem
			}
			merged = append(merged, added)
			continue
		}
		named := step(path, fmt.Sprint(name))
		if merged[n], problem = o.value(named, merged[n], entry, g.under(entry)); problem != nil {
			return nil, problem
		}
	}
	return merged, nil
}

func (o overlay) byPlace(path []string, base []any, entries []cue.Value, open bool, g tags) ([]any, *Problem) {
	if g.strategy == strategyRetainKeys {
		list := []any{}
		for i, entry := range entries {
			value, problem := o.data(step(path, strconv.Itoa(i)), entry, o.left)
			if problem != nil {
				return nil, problem
			}
			list = append(list, value)
		}
		return list, nil
	}
	if len(entries) > len(base) || len(entries) < len(base) && !open {
		_, problem := o.fail(path, "contradicts the workload: the trait has %d entries and the workload %d, and nothing says how they belong together; name their key by // +patchKey=", len(entries), len(base))
		return nil, problem
	}
	merged := slices.Clone(base)
	for i, entry := range entries {
		value, problem := o.value(step(path, strconv.Itoa(i)), base[i], entry, g)
		if problem != nil {
			return nil, problem
		}
		merged[i] = value
	}
	return merged, nil
}

// mergeKey is the field by which the entries of a list are told apart, "" when it has none.
func mergeKey(path []string) string {
	last := path[len(path)-1]
	if last == "ports" {
		if slices.ContainsFunc(path, func(s string) bool { return strings.HasSuffix(s, "ontainers") }) {
			return "containerPort"
		}
		return "port"
	}
	return mergeKeys[last]
}

// key is the value of the key of an entry of a patch.
func (o overlay) key(path []string, entry cue.Value, key string) (any, *Problem) {
	v := entry
	for _, name := range strings.Split(key, ".") {
		v = v.LookupPath(cue.MakePath(cue.Str(name)))
	}
	if !v.Exists() {
		return o.fail(path, "has no %s, by which entries of this list are told apart", shorten(key))
	}
	return o.data(append(slices.Clone(path), strings.Split(key, ".")...), v, o.left)
}

func keyOf(entry any, key string) any {
	for _, name := range strings.Split(key, ".") {
		object, _ := entry.(map[string]any)
		entry = object[name]
	}
	return entry
}

func written(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return "something else"
	}
	return shorten(string(raw))
}
