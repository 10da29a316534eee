// SPDX-License-Identifier: Apache-2.0

package claim_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"slipway.dev/slipway/internal/claim"
)

func claimOf(changes ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}}
	c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	asks("1Gi")(c)
	for _, change := range changes {
		change(c)
	}
	return c
}

func storage(size string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
}

func asks(size string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) { c.Spec.Resources.Requests = storage(size) }
}

func has(size string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) {
		c.Status.Phase, c.Status.Capacity = corev1.ClaimBound, storage(size)
	}
}

func class(name string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = ptr.To(name) }
}

func modes(m ...corev1.PersistentVolumeAccessMode) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) { c.Spec.AccessModes = m }
}

func condition(t corev1.PersistentVolumeClaimConditionType, status corev1.ConditionStatus) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) {
		c.Status.Conditions = append(c.Status.Conditions, corev1.PersistentVolumeClaimCondition{Type: t, Status: status})
	}
}

func TestHowFarAClaimAgreesWithItsTemplate(t *testing.T) {
	const rwo, rwx = corev1.ReadWriteOnce, corev1.ReadWriteMany
	for sentence, c := range map[string]struct {
		claim, template *corev1.PersistentVolumeClaim
		differs         string
		tooSmall        bool
	}{
		"the same":                             {claimOf(), claimOf(), "", false},
		"smaller":                              {claimOf(), claimOf(asks("2Gi")), "", true},
		"larger is enough":                     {claimOf(asks("2Gi")), claimOf(), "", false},
		"the same size in another spelling":    {claimOf(asks("1024Mi")), claimOf(), "", false},
		"another class":                        {claimOf(class("a")), claimOf(class("b")), "spec.storageClassName", false},
		"the server has chosen the class":      {claimOf(class("a")), claimOf(), "", false},
		"no class yet":                         {claimOf(), claimOf(class("a")), "", false},
		"a class where none at all is wanted":  {claimOf(class("a")), claimOf(class("")), "spec.storageClassName", false},
		"other access modes":                   {claimOf(modes(rwx)), claimOf(), "spec.accessModes", false},
		"more access modes":                    {claimOf(modes(rwo, rwx)), claimOf(), "spec.accessModes", false},
		"the same access modes, another order": {claimOf(modes(rwo, rwx)), claimOf(modes(rwx, rwo)), "", false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := claim.Differs(c.claim, c.template); got != c.differs {
				t.Errorf("Differs = %q, want %q", got, c.differs)
			}
			if got := claim.TooSmall(c.claim, c.template); got != c.tooSmall {
				t.Errorf("TooSmall = %v, want %v", got, c.tooSmall)
			}
			if got := claim.Compatible(c.claim, c.template); got != (c.differs == "" && !c.tooSmall) {
				t.Errorf("Compatible = %v", got)
			}
		})
	}
}

func TestHowFarAVolumeHasGrown(t *testing.T) {
	const pending = corev1.PersistentVolumeClaimFileSystemResizePending
	for sentence, c := range map[string]struct {
		claim                    *corev1.PersistentVolumeClaim
		ready, growing, finished bool
	}{
		"it has its size":                        {claimOf(has("1Gi")), true, false, true},
		"it has more than that":                  {claimOf(has("5Gi")), true, false, true},
		"it has less":                            {claimOf(has("1Mi")), false, true, false},
		"only the node is left to act":           {claimOf(has("1Mi"), condition(pending, corev1.ConditionTrue)), false, true, true},
		"the node has acted before":              {claimOf(has("1Mi"), condition(pending, corev1.ConditionFalse)), false, true, false},
		"another condition says nothing":         {claimOf(has("1Mi"), condition(corev1.PersistentVolumeClaimResizing, corev1.ConditionTrue)), false, true, false},
		"a claim without a volume does not grow": {claimOf(), false, false, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if ready, growing, finished := claim.Ready(c.claim), claim.Growing(c.claim), claim.Finished(c.claim); ready != c.ready || growing != c.growing || finished != c.finished {
				t.Errorf("ready %v, growing %v, finished %v", ready, growing, finished)
			}
		})
	}
}

func TestVolumes(t *testing.T) {
	templates := claim.Templates([]corev1.PersistentVolumeClaim{*claimOf(), {ObjectMeta: metav1.ObjectMeta{Name: "log"}}, *claimOf(asks("9Gi"))})
	if len(templates) != 2 || claim.TooSmall(templates[0], claimOf()) || !claim.TooSmall(templates[0], claimOf(asks("9Gi"))) {
		t.Fatalf("of two templates with one name the first counts: %v", templates)
	}
	volumes := claim.Volumes(templates, func(t string) string { return t + "-web-3" }, []corev1.Volume{{Name: "log"}, {Name: "tmp"}})
	p := &corev1.Pod{Spec: corev1.PodSpec{Volumes: volumes, Containers: []corev1.Container{{
		Name: "app", VolumeMounts: []corev1.VolumeMount{{Name: "data"}, {Name: "tmp"}}, VolumeDevices: []corev1.VolumeDevice{{Name: "raw"}},
	}}}}
	if diff := cmp.Diff([]string{"data-web-3", "log-web-3"}, claim.Mounts(p)); diff != "" || len(volumes) != 3 || volumes[2].Name != "tmp" {
		t.Errorf("volumes %v, claims (-want +got):\n%s", volumes, diff)
	}
	if container, volume := claim.Lacking(&p.Spec, volumes); container != "app" || volume != "raw" {
		t.Errorf("container %q lacks %q", container, volume)
	}
	if container, volume := claim.Lacking(&p.Spec, append(volumes, corev1.Volume{Name: "raw"})); container+volume != "" {
		t.Errorf("container %q lacks %q", container, volume)
	}
}

func TestANewClaimIsItsTemplateWithTheLabelsOfItsPod(t *testing.T) {
	template := claimOf(func(c *corev1.PersistentVolumeClaim) {
		c.Labels, c.Annotations, c.Finalizers = map[string]string{"a": "template", "b": "template"}, map[string]string{"n": "v"}, []string{"f"}
	})
	made := claim.New(template, metav1.ObjectMeta{Namespace: "ns", Name: "data-web-3", Labels: map[string]string{"a": "pod"}})
	want := template.DeepCopy()
	want.Namespace, want.Name, want.Labels["a"] = "ns", "data-web-3", "pod"
	if diff := cmp.Diff(want, made); diff != "" {
		t.Errorf("claim (-want +got):\n%s", diff)
	}
	made.Labels["b"], made.Annotations["n"] = "changed", "changed"
	if template.Labels["b"] != "template" || template.Annotations["n"] != "v" {
		t.Error("the claim shares maps with its template")
	}
}
