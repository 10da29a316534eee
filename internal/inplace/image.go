// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// image is a container image's name with every default spelled out, so that two spellings of the same
// image compare equal.
type image struct{ repository, tag, digest string }

// parseImage reads a name such as "app", "registry:5000/team/app:v1" or "app@sha256:…". A colon before
// the last slash belongs to a port, not to a tag.
func parseImage(name string) image {
	var parsed image
	rest, digest, _ := strings.Cut(name, "@")
	parsed.digest = digest
	slash := strings.LastIndex(rest, "/")
	if colon := strings.LastIndex(rest, ":"); colon > slash {
		rest, parsed.tag = rest[:colon], rest[colon+1:]
	}
	if parsed.tag == "" && parsed.digest == "" {
		parsed.tag = "latest"
	}
	host, path, hasHost := strings.Cut(rest, "/")
	if !hasHost || !strings.ContainsAny(host, ".:") && host != "localhost" {
		host, path = "docker.io", rest
	}
	if host == "index.docker.io" { // its older name
		host = "docker.io"
	}
	if host == "docker.io" && !strings.Contains(path, "/") {
		path = "library/" + path
	}
	parsed.repository = host + "/" + path
	return parsed
}

// sameImage tells whether two names mean the same image. A tag beside a digest says nothing more.
func sameImage(a, b string) bool {
	left, right := parseImage(a), parseImage(b)
	if left.digest != "" && right.digest != "" {
		return left.repository == right.repository && left.digest == right.digest
	}
	return left == right
}

func pullPolicyFollowsTag(c corev1.Container) bool {
	if parsed := parseImage(c.Image); parsed.tag == "latest" && parsed.digest == "" {
		return c.ImagePullPolicy == corev1.PullAlways
	}
	return c.ImagePullPolicy == corev1.PullIfNotPresent
}
