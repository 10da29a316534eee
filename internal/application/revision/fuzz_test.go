// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"
)

// FuzzNumberOf: a name has a number exactly when the number gives the name again.
func FuzzNumberOf(f *testing.F) {
	f.Fuzz(func(t *testing.T, owner, name string) {
		number := NumberOf(owner, name)
		if number != 0 && (Name(owner, number) != name || number < 0 || number > maxNumber) {
			t.Errorf("the number of %q under %q is %d", name, owner, number)
		}
		var read int64
		if n, err := fmt.Sscanf(strings.TrimPrefix(name, owner), "-v%d", &read); n == 1 && err == nil && strings.HasPrefix(name, owner) &&
			Name(owner, read) == name && read > 0 && read <= maxNumber && number != read {
			t.Errorf("the number of %q under %q is %d, want %d", name, owner, number, read)
		}
	})
}

// FuzzTemplateHash: any workload that can be read has a hash, which blanks and the number of replicas do not change, and which
// does not depend on what was done to the workload before.
func FuzzTemplateHash(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		workload := map[string]any{}
		if json.Unmarshal(data, &workload) != nil || len(workload) == 0 {
			return
		}
		before, err := stdjson.Marshal(workload)
		if err != nil {
			return // it holds a number that JSON cannot
		}
		hash, err := TemplateHash(workload)
		if err != nil {
			t.Fatalf("hashing %s: %v", before, err)
		}
		if after, err := stdjson.Marshal(workload); err != nil || !bytes.Equal(before, after) {
			t.Fatalf("the workload was changed:\n%s\n%s", before, after)
		}
		var blank bytes.Buffer
		if err := stdjson.Indent(&blank, before, " ", "\t"); err != nil {
			t.Fatal(err)
		}
		again := map[string]any{}
		if err := json.Unmarshal(blank.Bytes(), &again); err != nil {
			t.Fatalf("reading %s: %v", &blank, err)
		}
		if spec, ok := again["spec"].(map[string]any); ok {
			spec["replicas"] = int64(4711)
		}
		again["metadata"] = map[string]any{"name": "other"}
		if got, err := TemplateHash(again); err != nil || got != hash {
			t.Errorf("the hash of\n%s\nis %s, and with another name and number of replicas it is %s, %v", before, hash, got, err)
		}
	})
}

// FuzzProperties: properties that can be read have a hash, and it is the same for them as they are written again.
func FuzzProperties(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		read, err := treeOfProperties(raw(string(data)))
		if err != nil {
			tooLarge := &stdjson.UnmarshalTypeError{} // such as 1e1000, which is JSON and fits no number of ours
			if stdjson.Valid(data) && !strings.Contains(err.Error(), "exceeded max depth") && !errors.As(err, &tooLarge) {
				t.Fatalf("%q is JSON: %v", data, err)
			}
			return
		}
		written, err := json.Marshal(read)
		if err != nil {
			t.Fatalf("writing %v: %v", read, err)
		}
		hash := func(properties string) string {
			hash, err := with(func(c *Content) { web(c).Properties = raw(properties) }).Hash()
			if err != nil {
				t.Fatalf("%q: %v", properties, err)
			}
			return hash
		}
		if one, two := hash(string(data)), hash(string(written)); one != two {
			t.Errorf("%q has the hash %s, and written as %s it has %s", data, one, written, two)
		}
	})
}
