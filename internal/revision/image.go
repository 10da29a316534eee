// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

const longestRepository = 255

var (
	// imageID is a bare digest, which is not a name.
	imageID    = regexp.MustCompile(`^[a-f0-9]{64}$`)
	imageHost  = regexp.MustCompile(`^(?:` + hostLabel + `(?:\.` + hostLabel + `)*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?$`)
	imagePath  = regexp.MustCompile(`^` + pathPart + `(?:/` + pathPart + `)*$`)
	imageTag   = regexp.MustCompile(`^\w[\w.-]{0,127}$`)
	digestForm = regexp.MustCompile(`^(?:sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128})$`)
)

const (
	hostLabel = `(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])`
	pathPart  = `[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*`
)

// pullPolicy is the default for an image: Always if its tag is latest, said or left out, else IfNotPresent. A
// reference that is not valid has no tag.
func pullPolicy(image string) corev1.PullPolicy {
	if tag, ok := tagOf(image); ok && tag == "latest" {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

// tagOf returns the tag of an image reference: latest if it has neither tag nor digest, empty if it has only a
// digest. It returns false for a reference that is not valid.
func tagOf(image string) (string, bool) {
	if imageID.MatchString(image) {
		return "", false
	}
	rest, digest, hasDigest := strings.Cut(image, "@")
	if hasDigest && !digestForm.MatchString(digest) {
		return "", false
	}
	host, rest := splitHost(rest)
	path, tag, hasTag := strings.Cut(rest, ":")
	if host != "" && !imageHost.MatchString(host) {
		host, path = "", host+"/"+path // with an underscore, say, it can only be part of the path
	}
	if hasTag && !imageTag.MatchString(tag) {
		return "", false
	}
	if !imagePath.MatchString(path) || len(repository(host, path)) > longestRepository {
		return "", false
	}
	switch {
	case hasTag:
		return tag, true
	case hasDigest:
		return "", true
	}
	return "latest", true
}

// splitHost takes the registry off a reference. What stands before the first slash is one only if it looks like it.
func splitHost(reference string) (host, rest string) {
	first, rest, ok := strings.Cut(reference, "/")
	if ok && (first == "localhost" || strings.ContainsAny(first, ".:") || strings.ToLower(first) != first) {
		return first, rest
	}
	return "", reference
}

// repository is the path that the length limit counts: official images live under library/.
func repository(host, path string) string {
	if (host == "" || host == "docker.io" || host == "index.docker.io") && !strings.Contains(path, "/") {
		return "library/" + path
	}
	return path
}
