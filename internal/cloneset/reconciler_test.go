// SPDX-License-Identifier: Apache-2.0

package cloneset_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/simulation/api"
)

const v1, v2 = builders.Image, "registry.test/app:v2"

type edit = func(*kruisev1alpha1.CloneSet)

func replicas(n int32) edit { return func(s *kruisev1alpha1.CloneSet) { s.Spec.Replicas = ptr.To(n) } }

func image(i string) edit {
	return func(s *kruisev1alpha1.CloneSet) { s.Spec.Template.Spec.Containers[0].Image = i }
}

func variable(value string) edit {
	return func(s *kruisev1alpha1.CloneSet) {
		s.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "MODE", Value: value}}
	}
}

func mounting(volume string) edit {
	return func(s *kruisev1alpha1.CloneSet) {
		s.Spec.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: volume, MountPath: "/data"}}
	}
}

func inPlace(n int32) *builders.CloneSetBuilder {
	return builders.CloneSet("web").Replicas(n).InPlace().MaxUnavailable("1")
}

func recreating(n int32) *builders.CloneSetBuilder {
	return builders.CloneSet("web").Replicas(n).MaxUnavailable("1")
}

// TestOnePass tells passes of the reconciler from the outside: a set that has come to rest, an edit, and what the next
// look that acts on it writes and tells.
func TestOnePass(t *testing.T) {
	for sentence, c := range map[string]struct {
		set    *builders.CloneSetBuilder
		edits  []edit
		pod    func(*corev1.Pod) // is what happens to the status of the first pod
		refuse string
		writes []string
		events []string
	}{
		"a set at rest": {set: inPlace(2)},
		"a default that is spelled out changes nothing": {
			set: inPlace(2), edits: []edit{func(s *kruisev1alpha1.CloneSet) {
				s.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyAlways
				s.Spec.Template.Spec.Containers[0].TerminationMessagePath = corev1.TerminationMessagePathDefault
			}},
		},
		"pods are created": {
			set: inPlace(0), edits: []edit{replicas(2)},
			writes: []string{"create pods web-1", "update status of pods web-1", "create pods web-2", "update status of pods web-2"},
			events: []string{"Normal SuccessfulCreate on web, Pod web-1: pod web-1, web-2: 2 of 2 pods are missing"},
		},
		"a creation is refused, and no other is tried": {
			set: inPlace(0), edits: []edit{replicas(2)}, refuse: "create pods",
			events: []string{`Warning FailedCreate on web, Pod web-new: creating pod web-new: forbidden: a rule says no`},
		},
		"pods are scaled in": {
			set: inPlace(2), edits: []edit{replicas(0)},
			writes: []string{"mark pods web-2", "mark pods web-1"},
			events: []string{"Normal SuccessfulDelete on web, Pod web-2: pod web-2, web-1: there are 2 pods more than wanted"},
		},
		"a deletion is refused": {
			set: inPlace(1), edits: []edit{replicas(0)}, refuse: "delete pods",
			events: []string{"Warning FailedDelete on web, Pod web-1: deleting pod web-1: forbidden: a rule says no"},
		},
		"a release in place": {
			set: inPlace(2), edits: []edit{image(v2)},
			writes: []string{"create controllerrevisions web-r2", "update status of pods web-2", "update pods web-2"},
			events: []string{"Normal SuccessfulUpdatePodInPlace on web, Pod web-2: pod web-2: revision r2 replaces r1: image of app to registry.test/app:v2"},
		},
		"a change in place is refused": {
			set: inPlace(2), edits: []edit{image(v2)}, refuse: "patch pods",
			writes: []string{"create controllerrevisions web-r2", "update status of pods web-2"},
			events: []string{"Warning FailedUpdatePodInPlace on web, Pod web-2: patching pod web-2: forbidden: a rule says no"},
		},
		"a release by new pods": {
			set: recreating(2), edits: []edit{image(v2)},
			writes: []string{"create controllerrevisions web-r2", "mark pods web-2"},
			events: []string{"Normal SuccessfulUpdatePodReCreate on web, Pod web-2: pod web-2: revision r2 replaces r1"},
		},
		"a deletion for a release is refused": {
			set: recreating(2), edits: []edit{image(v2)}, refuse: "delete pods",
			writes: []string{"create controllerrevisions web-r2"},
			events: []string{"Warning FailedUpdatePodReCreate on web, Pod web-2: deleting pod web-2: forbidden: a rule says no"},
		},
		"creations are held back": {
			set: inPlace(1).ScaleMaxUnavailable("1"), edits: []edit{replicas(4)},
			writes: []string{"create pods web-2", "update status of pods web-2"},
			events: []string{
				"Warning ScaleUpLimited on web: 3 pods are missing, and scaleStrategy.maxUnavailable lets 1 be created now",
				"Normal SuccessfulCreate on web, Pod web-2: pod web-2: 3 of 4 pods are missing",
			},
		},
		"nothing is done for a spec that nobody can act on": {
			set: inPlace(1), edits: []edit{replicas(3), func(s *kruisev1alpha1.CloneSet) { s.Spec.UpdateStrategy.MaxSurge = ptr.To(intstr.FromString("many")) }},
			events: []string{`Warning InvalidSpec on web: spec.updateStrategy.maxSurge: "many" is not allowed: use an integer of 0 or more, or a percentage such as "20%" or "12.5%"`},
		},
		"a change that no pod may take over does not keep others from being created": {
			set: inPlace(1).Type(kruisev1alpha1.InPlaceOnlyCloneSetUpdateStrategyType), edits: []edit{variable("fast"), replicas(2)},
			writes: []string{"create controllerrevisions web-r2", "create pods web-2", "update status of pods web-2"},
			events: []string{"Normal SuccessfulCreate on web, Pod web-2: pod web-2: 1 of 2 pods is missing"},
		},
		"a change that no pod may take over": {
			set: inPlace(1).Type(kruisev1alpha1.InPlaceOnlyCloneSetUpdateStrategyType), edits: []edit{variable("fast")},
			writes: []string{"create controllerrevisions web-r2"},
			events: []string{"Warning UpdateRefused on web: pod web-1: spec.containers[app].env cannot change in place, and updateStrategy.type is InPlaceOnly"},
		},
		"a template whose pods cannot be made": {
			set: inPlace(0), edits: []edit{replicas(1), mounting("data")},
			writes: []string{"create controllerrevisions web-r2"},
			events: []string{`Warning FailedCreate on web: pods of revision web-r2 cannot be created: container app mounts volume "data", for which there is neither a volume nor a claim template`},
		},
		"a claim is refused": {
			set: inPlace(0).Claim("data"), edits: []edit{replicas(1)}, refuse: "create persistentvolumeclaims",
			events: []string{"Warning FailedCreate on web, PersistentVolumeClaim data-web-new: creating claim data-web-new: forbidden: a rule says no"},
		},
		"the deletion of a claim is refused": {
			set: inPlace(1).Claim("data"), edits: []edit{replicas(0)}, refuse: "delete persistentvolumeclaims",
			writes: []string{"mark pods web-1"},
			events: []string{
				"Normal SuccessfulDelete on web, Pod web-1: pod web-1: there is 1 pod more than wanted",
				"Warning FailedDelete on web, PersistentVolumeClaim data-web-1: deleting claim data-web-1: forbidden: a rule says no",
			},
		},
		"a claim cannot be given to its pod": {
			set: inPlace(1).Claim("data").With(func(s *kruisev1alpha1.CloneSet) { s.Spec.ScaleStrategy.DisablePVCReuse = true }), refuse: "patch persistentvolumeclaims",
			pod:    func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed },
			writes: []string{"create persistentvolumeclaims data-web-2", "create pods web-2", "update status of pods web-2"},
			events: []string{
				"Warning FailedUpdate on web, PersistentVolumeClaim data-web-1: patching claim data-web-1: forbidden: a rule says no",
				"Normal SuccessfulCreate on web, Pod web-2: pod web-2: 1 of 1 pod is missing",
			},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := enter(t, c.set)
			r.Settle()
			for _, change := range c.edits {
				r.Edit(change)
			}
			if c.pod != nil {
				r.editPod(0, api.Status, c.pod)
			}
			from, recorded := len(r.Server.Log()), len(r.Revisions())
			r.Told, r.Door.Refuse = nil, c.refuse
			err := r.Pass()
			if err == nil && len(r.Revisions()) > recorded {
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
