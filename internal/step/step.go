// SPDX-License-Identifier: Apache-2.0

package step

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Step is one change of the cluster. The set is closed: a new kind of step is a new type here, and
// the linter then names every switch that does not know it yet.
//
//sumtype:decl
type Step interface {
	// Why says in one sentence why the step is taken. It is the same for the same world.
	Why() string
	// Subject names the object that the step changes, for logs and transcripts.
	Subject() string

	sealed()
}

// Because is the reason of a step: one sentence without a full stop.
type Because string

// Why returns the reason.
func (b Because) Why() string { return string(b) }

func (Because) sealed() {}

// Target is the exact version of an object that a step was decided on. A write to it fails with a
// conflict when the object is no longer that version, so a stale view never changes anything.
type Target struct {
	Namespace, Name string
	UID             types.UID
	ResourceVersion string
	// Containers are the names of a pod's containers in the pod's own order, which no patch may change.
	Containers []string
	// Applied tells that somebody applies the pod on the server's side, so that it has to keep who set which field.
	Applied bool
}

// On is the version of o that is being looked at.
func On(o metav1.Object) Target {
	t := Target{Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion()}
	if p, isPod := o.(*corev1.Pod); isPod {
		for i := range p.Spec.Containers {
			t.Containers = append(t.Containers, p.Spec.Containers[i].Name)
		}
		t.Applied = slices.ContainsFunc(p.ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
			return e.Operation == metav1.ManagedFieldsOperationApply
		})
	}
	return t
}

// Subject returns the name of the target.
func (t Target) Subject() string { return t.Name }

// CreateRevision records a template that no revision holds yet.
type CreateRevision struct {
	Because
	Revision *appsv1.ControllerRevision
}

// Subject returns the name of the revision.
func (s CreateRevision) Subject() string { return s.Revision.Name }

// AdoptRevision makes a revision that nobody controls the set's own.
type AdoptRevision struct {
	Because
	Target
	// Owners are all owner references that the revision has afterwards.
	Owners []metav1.OwnerReference
}

// RenumberRevision makes an earlier revision the newest one: this is how a rollback is recorded. The
// annotations given are set with it.
type RenumberRevision struct {
	Because
	Target
	Number      int64
	Annotations map[string]string
}

// ForgetRevision deletes a revision that history no longer needs.
type ForgetRevision struct {
	Because
	Target
}

// CreatePod creates a pod. The conditions in its status, which a creation cannot bring along, are written right behind.
type CreatePod struct {
	Because
	Pod *corev1.Pod
}

// Subject returns the name of the pod.
func (s CreatePod) Subject() string { return s.Pod.Name }

// DeleteCause is what a pod is deleted for. It chooses the event that people see.
type DeleteCause int

const (
	// ScaleIn: there are more pods than wanted.
	ScaleIn DeleteCause = iota
	// Recreate: the pod makes room for one of another revision.
	Recreate
	// Chosen: a person or another controller asked for this very pod.
	Chosen
	// CleanUp: the pod has finished. It was replaced already, or it makes room for its successor.
	CleanUp
)

// DeletePod deletes a pod, with the grace period that the pod itself asks for.
type DeletePod struct {
	Because
	Target
	Cause DeleteCause
}

// AdoptPod makes a pod that nobody controls the set's own.
type AdoptPod struct {
	Because
	Target
	Owner metav1.OwnerReference
}

// ReleasePod gives a pod up that is no pod of the set any more: the owner reference goes, the pod stays.
type ReleasePod struct {
	Because
	Target
	Owner types.UID
}

// PatchPod changes labels, annotations and finalizers of a pod. Conditions, when there are any, are
// written first, and the patch is made to the very version that they led to.
type PatchPod struct {
	Because
	Target
	Conditions []corev1.PodCondition
	Patch      Patch
}

// SetConditions writes conditions into the status of a pod.
type SetConditions struct {
	Because
	Target
	Conditions []corev1.PodCondition
}

// UpdateInPlace changes a living pod to another revision: first the conditions are written, which take
// the pod out of service, then the resize, then the patch. Each is written only when the server has
// accepted the one before, at the very version that this one made.
type UpdateInPlace struct {
	Because
	Target
	// Drain is written before the patch; empty when the pod is out of service already or need not be.
	Drain []corev1.PodCondition
	// Resize maps containers to the amounts that change; nothing else of their resources does.
	Resize map[string]corev1.ResourceRequirements
	Patch  Patch
	// Grace is how long the spec is held back after the drain; 0 for at once.
	Grace time.Duration
	// Resumes marks a later part of an update that was begun earlier: after its grace period, or the next
	// batch of containers.
	Resumes bool
	// CutsGrace marks what comes although the pod was not out of service for its grace period: somebody keeps reporting it
	// ready.
	CutsGrace bool
}

// CreateClaim creates a claim that a pod mounts. The pod is not created when one of its claims could not
// be.
type CreateClaim struct {
	Because
	Claim *corev1.PersistentVolumeClaim
	// Pod is the name of the pod that the claim is for.
	Pod string
}

// Subject returns the name of the claim.
func (s CreateClaim) Subject() string { return s.Claim.Name }

// DeleteClaim deletes a claim. When the same plan deletes its pod, the claim goes only after the pod.
type DeleteClaim struct {
	Because
	Target
	// Pod is the name of the pod that the claim was for.
	Pod string
}

// GiveClaim changes with whom a claim goes when that is deleted: with its pod, with the set, or with nobody.
type GiveClaim struct {
	Because
	Target
	// Pod is the name of the pod that the claim is for.
	Pod string
	// Owners are all owner references that the claim has afterwards.
	Owners []metav1.OwnerReference
}

// ResizeClaim enlarges a claim that exists. The annotations given are set with it.
type ResizeClaim struct {
	Because
	Target
	// Pod is the name of the pod that the claim is for.
	Pod string
	// Resources are what the claim asks for afterwards; what they do not name stays.
	Resources   corev1.VolumeResourceRequirements
	Annotations map[string]string
}

// TrimPodsToDelete removes names from the podsToDelete of a CloneSet, and touches nothing else of its spec.
type TrimPodsToDelete struct {
	Because
	Target
	// Keep are the names that stay, in their order.
	Keep []string
}

// Object is any object of the API, by a Go type of its own.
type Object interface {
	metav1.Object
	runtime.Object
}

// CreateSet creates a pod set: an object whose own controller keeps pods.
type CreateSet struct {
	Because
	Set Object
}

// Subject returns the name of the set.
func (s CreateSet) Subject() string { return s.Set.GetName() }

// ChangeSet changes a pod set, or another workload, from what was looked at to what it shall be, and names only what differs.
// It fails with a conflict when the object is no longer as it was.
type ChangeSet struct {
	Because
	Before, After Object
}

// Subject returns the name of the set.
func (s ChangeSet) Subject() string { return s.Before.GetName() }

// Apply applies an object on the server's side, so that fields that others own and that it does not name stay as they are. It
// becomes the owner of those that it names. With a UID and a resource version in it, it fails with a conflict when the object is
// no longer that version.
type Apply struct {
	Because
	// Object has the fields that are applied, and its kind.
	Object *unstructured.Unstructured
}

// Subject returns the kind and the name of the object: an application has many of one name.
func (s Apply) Subject() string { return s.Object.GetKind() + " " + s.Object.GetName() }

// DeleteSet deletes a pod set that has no pods, or another object that nothing needs any more.
type DeleteSet struct {
	Because
	Target
	// Set is any object of its kind.
	Set Object
}

// Delete is the step that deletes an object in the version that was seen.
func Delete(o Object, why Because) DeleteSet {
	return DeleteSet{Because: why, Target: On(o), Set: o}
}

// Annotate sets annotations of the object that is looked after, all in one patch; those with a nil value are removed.
type Annotate struct {
	Because
	Target
	// Object is any object of its kind.
	Object      Object
	Annotations map[string]*string
	// Event is the reason of the event that people see; none when empty.
	Event string
}

// SetFinalizers gives the object that is looked after these finalizers, and no others.
type SetFinalizers struct {
	Because
	Target
	// Object is any object of its kind.
	Object     Object
	Finalizers []string
}

// Patch is a change of one pod that names only what changes. Labels and annotations with a nil value
// are removed.
type Patch struct {
	Labels, Annotations             map[string]*string
	Images                          map[string]string
	AddFinalizers, RemoveFinalizers []string
}
