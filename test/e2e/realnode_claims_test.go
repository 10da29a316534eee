// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
)

var _ = describeReal("what a pod keeps in a claim", func() {
	It("survives a release in place, and of a StatefulSet a recreation too", func() {
		for range 3 { // one for the pod of the CloneSet, and two for the StatefulSet
			makeVolume()
		}
		together(
			func() { releaseWithClaim(realCloneSet, 1) },
			func() {
				set := releaseWithClaim(realStatefulSet, 2)
				before := podsOf(set)
				change(set, func(now client.Object) {
					template := viewOf(now).template
					env := &template.Spec.Containers[0].Env
					*env = append(*env, corev1.EnvVar{Name: "MODE", Value: "new"})
				})
				settleReal(set)
				after := podsOf(set)
				Expect(namesOf(after)).To(Equal(namesOf(before)), "the pods' names")
				for i, pod := range after {
					Expect(pod.UID).NotTo(Equal(before[i].UID), "the UID of pod %s", pod.Name)
					Expect(whoIs(pod, appContainer).Environment).To(HaveKeyWithValue("MODE", "new"))
					Expect(readFile(pod, appContainer, dataPath+"/note")).To(Equal("kept for " + pod.Name))
				}
			},
		)
	})
})

// releaseWithClaim makes a set whose pods keep a note in their claims, and releases another version in place.
func releaseWithClaim(kind realKind, replicas int32) client.Object {
	GinkgoHelper()
	called := kind.called("claims")
	template := realTemplate(called)
	template.Spec.Volumes = nil
	set := kind.build(called, replicas, template)
	claim := corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: dataPath[1:]},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: ptr.To(namespace), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: oneGi},
		},
	}
	switch set := set.(type) {
	case *kruisev1alpha1.CloneSet:
		set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim}
	case *kruisev1beta1.StatefulSet:
		set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim}
	}
	createReal(set)
	settleReal(set)
	before := podsOf(set)
	for _, pod := range before {
		writeFile(pod, appContainer, dataPath+"/note", "kept for "+pod.Name)
	}

	release(set, "v2")
	settleReal(set)
	after := podsOf(set)
	Expect(uids(after)).To(Equal(uids(before)), "the pods' UIDs")
	for _, pod := range after {
		Expect(whoIs(pod, appContainer).Version).To(Equal("v2"))
		for _, container := range []string{appContainer, sidecarContainer} {
			Expect(readFile(pod, container, dataPath+"/note")).To(Equal("kept for " + pod.Name))
		}
	}
	return set
}

var oneGi = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}

// makeVolume makes a volume of a folder of this machine, for claims of the spec's own class.
func makeVolume() {
	GinkgoHelper()
	folder, err := os.MkdirTemp(cluster.root, "volume-")
	Expect(err).NotTo(HaveOccurred())
	Expect(os.Chmod(folder, 0o777)).To(Succeed(), "servers do not run as root")
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: namespace + "-" + filepath.Base(folder)},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName: namespace, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Capacity: oneGi,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: folder}},
		},
	}
	Expect(cluster.Create(testCtx, volume)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(cluster.Delete(ctx, volume)).To(Succeed()) })
}
