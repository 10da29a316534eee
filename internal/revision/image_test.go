// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestPullPolicy(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a", 64)
	tests := map[string][]string{
		"latest, said or left out": {
			"nginx", "nginx:latest", "library/nginx", "docker.io/library/nginx", "registry:5000/nginx", "registry:5000/nginx:latest",
			"nginx:latest@" + digest, "localhost/nginx", "LOCAL/nginx", "[::1]:5000/nginx", "a__b/c--d", "a_b.c/nginx", strings.Repeat("a", 247), "my_registry.io/x",
			"registry.test/" + strings.Repeat("a", 255), "nginx:latest@sha512:" + strings.Repeat("0", 128),
		},
		"another tag or a digest": {
			"nginx:1.29", "registry:5000/nginx:1", "localhost:5000", "nginx@" + digest, "nginx:1@" + digest, "nginx:Latest", "nginx:latest-1",
		},
		"no valid reference": {
			"", " ", "Nginx", "nginx:", "nginx@", "nginx:la test", "nginx:latest@sha256:abc", "nginx:latest@md5:" + strings.Repeat("a", 32),
			"nginx:latest@sha256:" + strings.Repeat("A", 64), strings.Repeat("a", 64), "a//b", "/nginx", "nginx/", "a___b", "-nginx", "a.b:c/nginx",
			strings.Repeat("a", 248), "registry.test/" + strings.Repeat("a", 256), "nginx:" + strings.Repeat("a", 129), "nginx:latest@" + digest + "@" + digest, "$(IMAGE)",
		},
	}
	for sentence, images := range tests {
		want := corev1.PullIfNotPresent
		if strings.HasPrefix(sentence, "latest") {
			want = corev1.PullAlways
		}
		for _, image := range images {
			t.Run(sentence+": "+image, func(t *testing.T) {
				if got := pullPolicy(image); got != want {
					t.Errorf("%q is pulled %s, want %s", image, got, want)
				}
			})
		}
	}
}
