// SPDX-License-Identifier: Apache-2.0

package node

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// behaviour is what an image's tag asks of its container.
type behaviour struct {
	broken, crash, missing bool
	slow                   time.Duration
}

func behaviourOf(image string) behaviour {
	_, tag, _ := split(image)
	will := behaviour{broken: asks(tag, "broken"), crash: asks(tag, "crash"), missing: asks(tag, "missing")}
	if at := strings.LastIndex(tag, "slow-"); at == 0 || at > 0 && tag[at-1] == '-' {
		seconds, err := strconv.ParseUint(strings.TrimSuffix(tag[at+len("slow-"):], "s"), 10, 31)
		if err == nil && strings.HasSuffix(tag, "s") {
			will.slow = time.Duration(seconds) * time.Second
		}
	}
	return will
}

func asks(tag, word string) bool {
	return tag == word || strings.HasSuffix(tag, "-"+word)
}

// split takes an image name apart. A registry's port is no tag.
func split(image string) (name, tag, digest string) {
	name, digest, _ = strings.Cut(image, "@")
	if at := strings.LastIndex(name, ":"); at > strings.LastIndex(name, "/") {
		name, tag = name[:at], name[at+1:]
	}
	if tag == "" && digest == "" {
		tag = "latest"
	}
	return name, tag, digest
}

func imageID(image string) string {
	name, tag, digest := split(image)
	if digest == "" {
		digest = "sha256:" + hash(name, strings.TrimSuffix(tag, "-retag"))
	}
	return name + "@" + digest
}

func (s *pass) containerID(c *corev1.Container, restarts int32) string {
	return "containerd://" + hash(string(s.pod.UID), c.Name, strconv.Itoa(int(restarts)), c.Image)
}

// podIP is an address of 10.0.0.0/8 that derives from the UID. Two of some thousand pods can share one.
func (s *pass) podIP() string {
	if s.pod.Spec.HostNetwork {
		return s.model.hostIP()
	}
	sum := sha256.Sum256([]byte(s.pod.UID))
	return fmt.Sprintf("10.%d.%d.%d", sum[0], sum[1], 1+sum[2]%254)
}

func hash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "/")))
	return hex.EncodeToString(sum[:])
}
