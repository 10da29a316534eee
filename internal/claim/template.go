// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Templates are the claim templates of a spec. Of two with the same name, the first counts.
func Templates(all []corev1.PersistentVolumeClaim) []*corev1.PersistentVolumeClaim {
	var templates []*corev1.PersistentVolumeClaim
	known := map[string]bool{}
	for i := range all {
		if t := &all[i]; !known[t.Name] {
			known[t.Name] = true
			templates = append(templates, t)
		}
	}
	return templates
}

// Name is the name of the claim that a template gives to a pod, in every kind: clients rely on it.
func Name(template, podName string) string { return template + "-" + podName }

// IsOwn tells whether a volume of a pod is the claim that a template of the same name has given to it.
func IsOwn(v *corev1.Volume, podName string) bool {
	return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == Name(v.Name, podName)
}

// Volumes are a volume for each claim template, in front of those volumes of the pod template that have other names.
// Named gives the name of the claim by the name of its template.
func Volumes(templates []*corev1.PersistentVolumeClaim, named func(template string) string, own []corev1.Volume) []corev1.Volume {
	var all []corev1.Volume
	taken := map[string]bool{}
	for _, t := range templates {
		taken[t.Name] = true
		all = append(all, corev1.Volume{Name: t.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: named(t.Name)},
		}})
	}
	for _, v := range own {
		if !taken[v.Name] {
			all = append(all, v)
		}
	}
	return all
}

// New is a claim made from a template. The object meta gives namespace, name, owners and labels, which win over those
// of the template.
func New(t *corev1.PersistentVolumeClaim, meta metav1.ObjectMeta) *corev1.PersistentVolumeClaim {
	labels := map[string]string{}
	maps.Copy(labels, t.Labels)
	maps.Copy(labels, meta.Labels)
	meta.Labels, meta.Annotations, meta.Finalizers = labels, maps.Clone(t.Annotations), slices.Clone(t.Finalizers)
	return &corev1.PersistentVolumeClaim{ObjectMeta: meta, Spec: *t.Spec.DeepCopy()}
}

// Mounts are the names of the claims that a pod names in its volumes.
func Mounts(p *corev1.Pod) []string {
	var names []string
	for i := range p.Spec.Volumes {
		if source := p.Spec.Volumes[i].PersistentVolumeClaim; source != nil {
			names = append(names, source.ClaimName)
		}
	}
	return names
}

// Lacking names a volume that a container mounts and that is not among the volumes; empty when all are. The API server
// refuses such a pod.
func Lacking(spec *corev1.PodSpec, volumes []corev1.Volume) (container, volume string) {
	has := map[string]bool{}
	for i := range volumes {
		has[volumes[i].Name] = true
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			for _, m := range containers[i].VolumeMounts {
				if !has[m.Name] {
					return containers[i].Name, m.Name
				}
			}
			for _, d := range containers[i].VolumeDevices {
				if !has[d.Name] {
					return containers[i].Name, d.Name
				}
			}
		}
	}
	return "", ""
}
