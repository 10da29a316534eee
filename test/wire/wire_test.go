// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/test/wire"
)

type leaf struct{ A, B string }

type part struct {
	Name  string
	Count *int
	Off   *bool
}

type object struct {
	Text  string
	Parts []part
	One   *part
	Empty []string
	Leaf  leaf
}

func TestAMissingFieldIsSeen(t *testing.T) {
	for sentence, c := range map[string]struct {
		object object
		want   []string
	}{
		"nothing is there": {object{}, []string{".Text", ".Parts", ".One", ".Empty", ".Leaf"}},
		"in lists and pointers": {
			object{Text: "a", Parts: []part{{Name: "b"}}, One: &part{Count: new(int), Off: new(bool)}, Empty: []string{}, Leaf: leaf{A: "c"}},
			[]string{".Parts[].Count", ".Parts[].Off", ".One.Name", ".Empty"},
		},
		"in what is there and has none": {
			object{Text: "a", Parts: []part{{}}, One: &part{}, Empty: []string{""}, Leaf: leaf{B: "c"}},
			[]string{".Parts[]", ".One", ".Empty[]"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, wire.Unset(&c.object, reflect.TypeFor[leaf]())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
