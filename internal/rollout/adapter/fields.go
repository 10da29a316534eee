// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	stdjson "encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/json"
)

// path is where a field is in an object. The empty path is no field: it reads as absent.
type path []string

var pathFormat = regexp.MustCompile(`^(\.[A-Za-z_][A-Za-z0-9_-]*)+$`)

// parsePath reads a path such as ".spec.replicas".
func parsePath(text string) (path, error) {
	if !pathFormat.MatchString(text) {
		return nil, fmt.Errorf("%q is not a path: use a dot and a field name, once or more, such as .spec.replicas", text)
	}
	return strings.Split(text[1:], "."), nil
}

// in is the path of fields of an object that is known to have them.
func in(fields ...string) path { return fields }

// String is the path as people write it.
func (p path) String() string {
	if len(p) == 0 {
		return ""
	}
	return "." + strings.Join(p, ".")
}

// get returns what stands there; nil for nothing.
func (p path) get(o *unstructured.Unstructured) any {
	if len(p) == 0 {
		return nil
	}
	var value any = o.Object
	for _, field := range p {
		members, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = members[field]
	}
	return value
}

// tree returns the object that stands there; nil for anything else.
func (p path) tree(o *unstructured.Unstructured) map[string]any {
	tree, _ := p.get(o).(map[string]any)
	return tree
}

// text returns the string that stands there.
func (p path) text(o *unstructured.Unstructured) string {
	text, _ := p.get(o).(string)
	return text
}

// truth returns the boolean that stands there.
func (p path) truth(o *unstructured.Unstructured) bool {
	truth, _ := p.get(o).(bool)
	return truth
}

// number returns the whole number that stands there, and whether one does.
func (p path) number(o *unstructured.Unstructured) (int, bool) {
	switch n := p.get(o).(type) {
	case int64:
		return int(n), true
	case float64:
		return int(n), float64(int(n)) == n
	}
	return 0, false
}

// count is the number that stands there, or 0.
func (p path) count(o *unstructured.Unstructured) int {
	n, _ := p.number(o)
	return n
}

// share returns the number that stands there, or the percentage of total, rounded up; 0 for nothing.
func (p path) share(o *unstructured.Unstructured, total int) int {
	text, isText := p.get(o).(string)
	if !isText {
		return p.count(o)
	}
	percentage := intstr.FromString(text)
	n, err := intstr.GetScaledValueFromIntOrPercent(&percentage, total, true)
	if err != nil {
		return 0
	}
	return n
}

// set puts a value there, and makes the objects on the way.
func (p path) set(o *unstructured.Unstructured, value any) {
	members := o.Object
	for _, field := range p[:len(p)-1] {
		next, ok := members[field].(map[string]any)
		if !ok {
			next = map[string]any{}
			members[field] = next
		}
		members = next
	}
	members[p[len(p)-1]] = value
}

// remove has nothing stand there.
func (p path) remove(o *unstructured.Unstructured) {
	parent := o.Object
	if len(p) > 1 {
		parent = p[:len(p)-1].tree(o)
	}
	delete(parent, p[len(p)-1])
}

// raw is what stands there as JSON; nil for nothing.
func (p path) raw(o *unstructured.Unstructured) stdjson.RawMessage { return rawOf(p.get(o)) }

func rawOf(value any) stdjson.RawMessage {
	if value == nil {
		return nil
	}
	raw, err := json.Marshal(value)
	if err != nil { // it was JSON before
		return nil
	}
	return raw
}

// restore puts back what raw has kept; nothing when it has kept nothing.
func (p path) restore(o *unstructured.Unstructured, raw stdjson.RawMessage) {
	var value any
	if len(raw) == 0 || json.Unmarshal(raw, &value) != nil || value == nil {
		p.remove(o)
		return
	}
	p.set(o, value)
}

// same tells whether two states of an object are alike.
func same(a, b *unstructured.Unstructured) bool { return reflect.DeepEqual(a.Object, b.Object) }
