// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/dump"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
)

// agentReport is the pod annotation apps.kruise.io/runtime-containers-meta, by which a node agent tells what
// the running containers were made from. Such an agent also restarts containers whose environment is old.
type agentReport struct {
	Containers []struct {
		Name        string `json:"name"`
		ContainerID string `json:"containerID"`
		Hashes      struct {
			PlainHash                    uint64 `json:"plainHash"`
			ExtractedEnvFromMetadataHash uint64 `json:"extractedEnvFromMetadataHash"`
		} `json:"hashes"`
	} `json:"containers"`
}

// agentOf reads what a node agent says of the pod; nil when there is no agent, or one that cannot be understood.
func agentOf(p *corev1.Pod) *agentReport {
	raw, ok := p.Annotations[kruisev1alpha1.AnnotationRuntimeContainersMeta]
	if !ok {
		return nil
	}
	report := &agentReport{}
	if err := json.Unmarshal([]byte(raw), report); err != nil {
		return nil
	}
	return report
}

// differing names the first container of which the agent does not say that it is what the spec asks for:
// it is another one than the node reports, or its hash is not the expected one. Empty when all agree.
func (a *agentReport) differing(p *corev1.Pod, hash func(plain, environment uint64) uint64, expected func(*corev1.Container) uint64) string {
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		status := statusOf(p, c.Name)
		agrees := false
		for _, said := range a.Containers {
			agrees = agrees || said.Name == c.Name && status != nil && status.ContainerID == said.ContainerID &&
				hash(said.Hashes.PlainHash, said.Hashes.ExtractedEnvFromMetadataHash) == expected(c)
		}
		if !agrees {
			return c.Name
		}
	}
	return ""
}

// runsImages tells whether the agent vouches for the image of every container.
func (a *agentReport) runsImages(p *corev1.Pod) bool {
	return a.differing(p, func(plain, _ uint64) uint64 { return plain }, plainHash) == ""
}

// environmentWaits says which container does not have its new environment yet, where an agent can tell.
func (r *Record) environmentWaits(p *corev1.Pod) string {
	agent := agentOf(p)
	if agent == nil || !r.UpdateEnvFromMetadata {
		return ""
	}
	name := agent.differing(p, func(_, environment uint64) uint64 { return environment },
		func(c *corev1.Container) uint64 { return environmentHash(p, c) })
	if name == "" {
		return ""
	}
	return fmt.Sprintf("container %s: it was not restarted with its new environment", name)
}

// plainHash is what a kubelet notes on a container that it starts.
func plainHash(c *corev1.Container) uint64 {
	return hashOf(map[string]string{"name": c.Name, "image": c.Image})
}

// environmentHash is the hash of the environment that a container gets from labels and annotations.
func environmentHash(p *corev1.Pod, c *corev1.Container) uint64 {
	var values []corev1.EnvVar
	for _, r := range referencesOf(c) {
		from := p.Annotations
		if r.label {
			from = p.Labels
		}
		values = append(values, corev1.EnvVar{Name: r.env, Value: from[r.key]})
	}
	slices.SortStableFunc(values, func(a, b corev1.EnvVar) int { return cmp.Compare(a.Name, b.Name) })
	return hashOf(values)
}

// hashOf hashes the JSON of a value as kubelets do, by the way in which Go prints the bytes.
func hashOf(value any) uint64 {
	raw, err := json.Marshal(value)
	if err != nil {
		return 0 // strings in lists and maps always have a JSON
	}
	sum := fnv.New32a()
	fmt.Fprintf(sum, "%v", dump.ForHash(raw))
	return uint64(sum.Sum32())
}
