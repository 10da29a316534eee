// SPDX-License-Identifier: Apache-2.0

package statefulset_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/simulation/api"
)

const v1, v2, broken = builders.Image, "registry.test/app:v2", "registry.test/app:broken"

type edit = func(*kruisev1beta1.StatefulSet)

func replicas(n int32) edit {
	return func(s *kruisev1beta1.StatefulSet) { s.Spec.Replicas = ptr.To(n) }
}

func image(i string) edit {
	return func(s *kruisev1beta1.StatefulSet) { s.Spec.Template.Spec.Containers[0].Image = i }
}

func size(of string) edit {
	return func(s *kruisev1beta1.StatefulSet) {
		s.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(of)}
	}
}

func retention(deleted, scaled kruisev1beta1.PersistentVolumeClaimRetentionPolicyType) edit {
	return func(s *kruisev1beta1.StatefulSet) {
		s.Spec.PersistentVolumeClaimRetentionPolicy = &kruisev1beta1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: deleted, WhenScaled: scaled}
	}
}

func growing(s *kruisev1beta1.StatefulSet) {
	s.Spec.VolumeClaimUpdateStrategy.Type = kruisev1beta1.OnPodRollingUpdateVolumeClaimUpdateStrategyType
}

func policy(p kruisev1beta1.PodUpdateStrategyType) edit {
	return func(s *kruisev1beta1.StatefulSet) {
		s.Spec.UpdateStrategy.RollingUpdate = &kruisev1beta1.RollingUpdateStatefulSetStrategy{PodUpdatePolicy: p}
	}
}

func ordered(n int32) *builders.StatefulSetBuilder { return builders.StatefulSet("web").Replicas(n) }

func parallel(n int32) *builders.StatefulSetBuilder { return ordered(n).Parallel() }

// TestOnePass tells passes of the reconciler from the outside: a set that has come to rest, an edit, and what the next
// look that acts on it writes and tells.
func TestOnePass(t *testing.T) {
	for sentence, c := range map[string]struct {
		set    *builders.StatefulSetBuilder
		edits  []edit
		pod    func(*corev1.Pod) // is what happens to pod web-0, or to its status
		status bool
		refuse string
		writes []string
		events []string
	}{
		"a set at rest": {set: ordered(2).Claim("data", "1Gi")},
		"a default that is spelled out changes nothing": {
			set: ordered(2), edits: []edit{func(s *kruisev1beta1.StatefulSet) { s.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyAlways }},
		},
		"one pod is created at a time": {
			set: ordered(0), edits: []edit{replicas(2)},
			writes: []string{"create pods web-0"},
			events: []string{"Normal SuccessfulCreate on web, Pod web-0: pod web-0: there is no pod at position 0"},
		},
		"pods are created together": {
			set: parallel(0), edits: []edit{replicas(2)},
			writes: []string{"create pods web-0", "create pods web-1"},
			events: []string{"Normal SuccessfulCreate on web, Pod web-0: pod web-0, web-1: there is no pod at position 0"},
		},
		"claims come before their pod": {
			set: ordered(0).Claim("data", "1Gi"), edits: []edit{replicas(1)},
			writes: []string{"create persistentvolumeclaims data-web-0", "create pods web-0"},
			events: []string{"Normal SuccessfulCreate on web, Pod web-0: pod web-0: there is no pod at position 0"},
		},
		"a creation is refused": {
			set: ordered(0), edits: []edit{replicas(2)}, refuse: "create pods",
			events: []string{"Warning FailedCreate on web, Pod web-0: creating pod web-0: forbidden: a rule says no"},
		},
		"a claim is refused": {
			set: ordered(0).Claim("data", "1Gi"), edits: []edit{replicas(1)}, refuse: "create persistentvolumeclaims",
			events: []string{"Warning FailedCreate on web, PersistentVolumeClaim data-web-0: creating claim data-web-0: forbidden: a rule says no"},
		},
		"the highest pod is deleted first": {
			set: ordered(2), edits: []edit{replicas(0)},
			writes: []string{"mark pods web-1"},
			events: []string{"Normal SuccessfulDelete on web, Pod web-1: pod web-1: ordinal 1 is not wanted any more"},
		},
		"a deletion is refused": {
			set: ordered(1), edits: []edit{replicas(0)}, refuse: "delete pods",
			events: []string{"Warning FailedDelete on web, Pod web-0: deleting pod web-0: forbidden: a rule says no"},
		},
		"a release by new pods tells of deletions": {
			set: ordered(2), edits: []edit{image(v2)},
			writes: []string{"create controllerrevisions web-r2", "mark pods web-1"},
			events: []string{"Normal SuccessfulDelete on web, Pod web-1: pod web-1: revision r2 replaces r1"},
		},
		"a release in place": {
			set: ordered(2).InPlace(), edits: []edit{image(v2)},
			writes: []string{"create controllerrevisions web-r2", "update status of pods web-1", "update pods web-1"},
			events: []string{"Normal SuccessfulUpdatePodInPlace on web, Pod web-1: pod web-1: revision r2 replaces r1: image of app to registry.test/app:v2"},
		},
		"a change in place is refused": {
			set: ordered(2).InPlace(), edits: []edit{image(v2)}, refuse: "patch pods",
			writes: []string{"create controllerrevisions web-r2", "update status of pods web-1"},
			events: []string{"Warning FailedUpdatePodInPlace on web, Pod web-1: patching pod web-1: forbidden: a rule says no"},
		},
		"a broken release is replaced by its fix": {
			set: ordered(2).With(image(broken)), edits: []edit{image(v2)},
			writes: []string{"create controllerrevisions web-r2", "mark pods web-0"},
			events: []string{"Normal SuccessfulDelete on web, Pod web-0: pod web-0: revision r2 replaces r1"},
		},
		"a pod that has failed": {
			set: ordered(1), status: true, pod: func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed },
			writes: []string{"remove pods web-0"},
			events: []string{"Normal SuccessfulDelete on web, Pod web-0: pod web-0: it has finished"},
		},
		"a pod that has lost its identity": {
			set: ordered(1), pod: func(p *corev1.Pod) { delete(p.Labels, kruisev1beta1.LabelPodName) },
			writes: []string{"update pods web-0"},
			events: []string{"Normal SuccessfulUpdate on web: pod web-0: its labels do not say which member it is"},
		},
		"a pod that has lost its ordinal only": {
			set: ordered(1), pod: func(p *corev1.Pod) { delete(p.Labels, kruisev1beta1.LabelPodIndex) },
			writes: []string{"update pods web-0"},
			events: []string{"Normal SuccessfulUpdate on web: pod web-0: its labels do not say which member it is"},
		},
		"the repair of an identity is refused": {
			set: ordered(1), pod: func(p *corev1.Pod) { delete(p.Labels, kruisev1beta1.LabelPodIndex) }, refuse: "patch pods",
			events: []string{"Warning FailedUpdate on web: patching pod web-0: forbidden: a rule says no"},
		},
		"a pod that matches no more is given up": {
			set: ordered(1), pod: func(p *corev1.Pod) { p.Labels["app"] = "mine" },
			writes: []string{"update pods web-0"},
		},
		"a pod that nobody controls is adopted": {
			set: ordered(1), pod: func(p *corev1.Pod) { p.OwnerReferences = nil },
			writes: []string{"update pods web-0"},
			events: []string{"Normal SuccessfulUpdate on web, Pod web-0: pod web-0: it matches the selector, has the name of a member, and nobody controls it"},
		},
		"claims that are to go with the set": {
			set: ordered(1).Claim("data", "1Gi"), edits: []edit{retention("Delete", "Retain")},
			writes: []string{"update persistentvolumeclaims data-web-0"},
			events: []string{"Normal SuccessfulUpdate on web, PersistentVolumeClaim data-web-0: claim data-web-0: it goes with the set (persistentVolumeClaimRetentionPolicy.whenDeleted)"},
		},
		"a claim cannot be given to whom it goes with": {
			set: ordered(1).Claim("data", "1Gi"), edits: []edit{retention("Delete", "Retain")}, refuse: "patch persistentvolumeclaims",
			events: []string{"Warning FailedUpdate on web, PersistentVolumeClaim data-web-0: patching claim data-web-0: forbidden: a rule says no"},
		},
		"a claim grows": {
			set: ordered(1).Claim("data", "1Gi").With(growing), edits: []edit{size("2Gi")},
			writes: []string{"update persistentvolumeclaims data-web-0"},
			events: []string{"Normal SuccessfulResize on web, PersistentVolumeClaim data-web-0: claim data-web-0: its template asks for 2Gi"},
		},
		"a claim is not let grow": {
			set: ordered(1).Claim("data", "1Gi").With(growing), edits: []edit{size("2Gi")}, refuse: "patch persistentvolumeclaims",
			events: []string{"Warning FailedResize on web, PersistentVolumeClaim data-web-0: patching claim data-web-0: forbidden: a rule says no"},
		},
		"a release by new pods is refused": {
			set: ordered(2), edits: []edit{image(v2)}, refuse: "delete pods",
			writes: []string{"create controllerrevisions web-r2"},
			events: []string{"Warning FailedDelete on web, Pod web-1: deleting pod web-1: forbidden: a rule says no"},
		},
		"a pod that cannot leave service is changed all the same where nothing else is allowed": {
			set: ordered(1), edits: []edit{policy(kruisev1beta1.InPlaceOnlyPodUpdateStrategyType), image(v2)},
			writes: []string{"create controllerrevisions web-r2", "update pods web-0"},
			events: []string{
				"Warning UpdateWithoutDrain on web: pod web-0: it has no readiness gate InPlaceUpdateReady, so it is updated without leaving service",
				"Normal SuccessfulUpdatePodInPlace on web, Pod web-0: pod web-0: revision r2 replaces r1: image of app to registry.test/app:v2",
			},
		},
		"and recreated where that is allowed": {
			set: ordered(1), edits: []edit{policy(kruisev1beta1.InPlaceIfPossiblePodUpdateStrategyType), image(v2)},
			writes: []string{"create controllerrevisions web-r2", "mark pods web-0"},
			events: []string{"Normal SuccessfulDelete on web, Pod web-0: pod web-0: it has no readiness gate InPlaceUpdateReady, so it cannot leave service for an update in place"},
		},
		"nothing is done for ordinals that nobody can read": {
			set: ordered(1), edits: []edit{replicas(3), func(s *kruisev1beta1.StatefulSet) {
				s.Spec.ReserveOrdinals = []intstr.IntOrString{intstr.FromString("few")}
			}},
			events: []string{`Warning InvalidSpec on web: spec.reserveOrdinals: "few": not an ordinal from 0 to 2147483647, nor a range of them such as "3-5"`},
		},
		"a change that no pod may take over": {
			set: ordered(1).InPlace().Rolling(func(r *kruisev1beta1.RollingUpdateStatefulSetStrategy) {
				r.PodUpdatePolicy = kruisev1beta1.InPlaceOnlyPodUpdateStrategyType
			}),
			edits: []edit{func(s *kruisev1beta1.StatefulSet) {
				s.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "MODE", Value: "fast"}}
			}},
			writes: []string{"create controllerrevisions web-r2"},
			events: []string{"Warning UpdateRefused on web: pod web-0: spec.containers[app].env cannot change in place, and updateStrategy.rollingUpdate.podUpdatePolicy is InPlaceOnly"},
		},
		"a chosen pod": {
			set: ordered(2), pod: func(p *corev1.Pod) { p.Labels[kruisev1alpha1.LabelSpecifiedDelete] = "true" },
			writes: []string{"mark pods web-0"},
			events: []string{"Normal SuccessfulDelete on web, Pod web-0: pod web-0: it was chosen for deletion"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := enter(t, c.set)
			r.Settle()
			for _, change := range c.edits {
				r.Edit(change)
			}
			if c.pod != nil {
				sub := api.Main
				if c.status {
					sub = api.Status
				}
				r.EditPod("web-0", sub, c.pod)
			}
			from, recorded := len(r.Server.Log()), len(r.Server.List(api.Revisions))
			r.Told, r.Door.Refuse = nil, c.refuse
			err := r.Pass()
			if err == nil && len(r.Server.List(api.Revisions)) > recorded {
				err = r.Pass() // before, only the template was recorded
			}
			if (err != nil) != (c.refuse != "") {
				t.Errorf("error %v, refused is %q", err, c.refuse)
			}
			if diff := cmp.Diff(c.writes, r.Writes(from), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.events, r.Events(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}
