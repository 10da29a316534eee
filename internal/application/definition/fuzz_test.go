// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"slices"
	"strings"
	"testing"
)

// FuzzFromCUE: a file is refused with a reason that names it, or gives a template that is read again as the same one.
func FuzzFromCUE(f *testing.F) {
	f.Add("a: {type: \"trait\", description: \"b\"}\ntemplate: {\n\t// doc\n\tpatch: c: 1\n}")
	f.Add("a: {type: \"trait\", include: [\"b\"]}\ntemplate: {}")
	f.Add("a: {type: [for x in [1] {x}]}")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := FromCUE("file.cue", []byte(text), nil)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "file.cue") {
				t.Errorf("the reason does not name the file: %v", err)
			}
			return
		}
		if d.Component == nil == (d.Trait == nil) {
			t.Fatalf("it has to be a component or a trait: %v", d)
		}
		imports, body := "", d.Template()
		if strings.HasPrefix(body, "import") {
			return // where they end is what a parser would have to say
		}
		again, err := FromCUE("again.cue", []byte(imports+"a: {type: \"trait\"}\ntemplate: {\n"+body+"\n}"), nil)
		if err != nil {
			t.Fatalf("the template that it gives is not read: %v\n%s", err, body)
		}
		// CUE's formatter does not always put comments where it put them before.
		if !slices.Equal(strings.Fields(again.Template()), strings.Fields(body)) {
			t.Errorf("read again it is another one:\n%s\nfirst it was:\n%s", again.Template(), body)
		}
	})
}
