// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"strings"
	"testing"
)

func TestAFileOfKinds(t *testing.T) {
	for sentence, c := range map[string]struct{ file, want string }{
		"an empty one":             {"", ""},
		"one that can be scaled":   {"kinds: [{apiVersion: a.dev/v1, kind: Flock, paths: {replicas-path: .spec.birds}}]", ""},
		"one of the core group":    {"kinds: [{apiVersion: v1, kind: ReplicationController, paths: {replicas-path: .spec.replicas}}]", ""},
		"a member that is unknown": {"kinds: [{apiVersion: a.dev/v1, kind: Flock, path: {replicas-path: .spec.birds}}]", `unknown field "path"`},
		"a member twice":           {"kinds: []\nkinds: []", "already set"},
		"no number":                {"kinds: [{apiVersion: a.dev/v1, kind: Flock}]", "kinds[0]: replicas-path is missing"},
		"a partition without counts": {"kinds: [{apiVersion: a.dev/v1, kind: Flock, paths: {replicas-path: .spec.birds, partition-path: .spec.keep, updated-path: .status.fresh}}]",
			"kinds[0]: updated-available-path is missing"},
		"a path that is unknown": {"kinds: [{apiVersion: a.dev/v1, kind: Flock, paths: {replicas-path: .spec.birds, size: .a}}]", "size is not known: use one of available-path, current-revision-path,"},
		"a path through a list":  {"kinds: [{apiVersion: a.dev/v1, kind: Flock, paths: {replicas-path: '.spec.flocks[0].birds'}}]", `replicas-path: ".spec.flocks[0].birds" is not a path: use a dot and a field name`},
		"no kind":                {"kinds: [{apiVersion: a.dev/v1, paths: {replicas-path: .spec.birds}}]", `apiVersion "a.dev/v1" and kind "" are not those of a kind`},
		"a version with slashes": {"kinds: [{apiVersion: a/b/c, kind: Flock, paths: {replicas-path: .spec.birds}}]", `apiVersion "a/b/c" and kind "Flock" are not`},
		"a kind twice": {"kinds: [{apiVersion: a.dev/v1, kind: Flock, paths: {replicas-path: .a}}, {apiVersion: a.dev/v1, kind: Flock, paths: {replicas-path: .b}}]",
			"kinds[1]: Flock of a.dev/v1 is there twice"},
		"two mistakes": {"kinds: [{apiVersion: a.dev/v1, kind: Flock}, {apiVersion: a.dev/v1, kind: Herd}]", "kinds[1]: replicas-path is missing"},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := Parse([]byte(c.file))
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
