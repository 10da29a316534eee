// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"errors"
	"strings"
	"testing"
)

func TestFilesThatAreWrongAreToldWhy(t *testing.T) {
	const workload = "attributes: workload: definition: {apiVersion: \"v1\", kind: \"X\"}"
	for sentence, test := range map[string]struct{ text, want string }{
		"no CUE":                       {"a: {", "file.cue:1: "},
		"nothing":                      {"", "file.cue: holds no definition"},
		"a template alone":             {"template: {}", "file.cue: holds no definition"},
		"two definitions":              {"a: {type: \"trait\"}\nb: {type: \"trait\"}", "file.cue:2: b is a second definition"},
		"a head without a type":        {"a: {}\ntemplate: {}", "file.cue: a: "},
		"another type":                 {"a: {type: \"policy\"}\ntemplate: {}", "a head has type (\"component\" or \"trait\")"},
		"a field that there is not":    {"a: {type: \"trait\", kind: \"x\"}\ntemplate: {}", "kind"},
		"a component without its kind": {"a: {type: \"component\"}\ntemplate: {}", "attributes.workload.definition is missing"},
		"a head that computes":         {"a: {type: \"trait\", description: \"a\" + \"b\"}\ntemplate: {}", "file.cue:1: a: a head has plain values only"},
		"a head that refers":           {"a: {type: \"trait\", description: template.x}\ntemplate: {}", "a head has plain values only"},
		"a head that loops":            {"a: {type: \"trait\", conflictsWith: [for x in [\"b\"] {x}]}\ntemplate: {}", "a head has plain values only"},
		"a value that is no struct":    {"a: 3", "file.cue:1: only a definition and its template stand here"},
		"an include that is not there": {"a: {type: \"component\", include: [\"lost\"], " + workload + "}\ntemplate: {}", "file.cue: including lost: no such file"},
		"a file that is very long":     {"//" + strings.Repeat("x", maxFile), "at most 262144 are allowed"},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := FromCUE("file.cue", []byte(test.text), func(string) ([]byte, error) { return nil, errors.New("no such file") })
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
		})
	}
}
