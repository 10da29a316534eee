// SPDX-License-Identifier: Apache-2.0

package inplace

import "testing"

func TestNamesOfTheSameImageCompareEqual(t *testing.T) {
	const digest = "@sha256:aaaa"
	for sentence, c := range map[string]struct {
		a, b string
		same bool
	}{
		"a short name is the one of the default registry":      {"nginx", "docker.io/library/nginx:latest", true},
		"the default registry has an older name":               {"index.docker.io/nginx", "nginx", true},
		"a port is not a tag":                                  {"registry:5000/app", "registry:5000/app:latest", true},
		"another tag is another image":                         {"app:v1", "app:v2", false},
		"a team's image gets no namespace":                     {"team/app:v1", "docker.io/team/app:v1", true},
		"localhost is a registry":                              {"localhost/app:v1", "docker.io/localhost/app:v1", false},
		"the digest decides, whatever the tag":                 {"app:v1" + digest, "app" + digest, true},
		"another digest under the same tag is another image":   {"app:v1" + digest, "app:v1@sha256:bbbb", false},
		"a digest on one side only proves nothing":             {"app:v1" + digest, "app:v1", false},
		"the same digest in another repository is another one": {"app" + digest, "other" + digest, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := sameImage(c.a, c.b); got != c.same {
				t.Errorf("sameImage(%q, %q) = %v, want %v", c.a, c.b, got, c.same)
			}
		})
	}
}
