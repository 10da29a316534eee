// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// LabelHash is the label of a revision object that repeats the hash part of its name.
const LabelHash = "controller.kubernetes.io/hash"

const (
	patchMember = "$patch"

	// longestOwner is how many bytes of the owner's name go into a revision's name.
	longestOwner = 223
	// longestLabel is the API's limit for a label value.
	longestLabel = 63
	// alphabet has no vowels and no characters that look alike, so no hash reads as a word.
	alphabet = "bcdfghjklmnpqrstvwxz2456789"
)

// Data returns the bytes that a revision of the template stores: {"spec":{"template":{...,"$patch":"replace"}}}.
// Members are sorted and nulls left out, so the same template gives the same bytes with any library version that knows the same
// fields. Fields of the template that our pod types do not know were lost when the owner was decoded and cannot
// be in the data. It fails only for a template that cannot be encoded at all.
func Data(template *corev1.PodTemplateSpec) ([]byte, error) {
	if template == nil {
		template = &corev1.PodTemplateSpec{}
	}
	tree, err := treeOf(template)
	if err != nil {
		return nil, fmt.Errorf("encoding the pod template: %w", err)
	}
	dropNulls(tree)
	// Others apply the data as a strategic merge patch; the directive makes that a replacement.
	tree[patchMember] = "replace"
	data, err := json.Marshal(map[string]any{"spec": map[string]any{"template": tree}})
	if err != nil {
		return nil, fmt.Errorf("encoding the revision data: %w", err)
	}
	return data, nil
}

// treeOf encodes a value and reads it back as a tree of maps, whose encoding has sorted members.
func treeOf(value any) (map[string]any, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	tree := map[string]any{}
	if err := json.Unmarshal(raw, &tree); err != nil {
		return nil, err
	}
	return tree, nil
}

// Name returns the name of a new revision and its hash part. The collision count is part of the hash, so
// raising it gives another name for the same data.
func Name(owner string, data []byte, collisionCount int32) (name, hash string) {
	sum := fnv.New32()
	_, _ = sum.Write(data) // hash writers never fail
	_, _ = sum.Write(strconv.AppendInt(nil, int64(collisionCount), 10))
	digits := strconv.FormatUint(uint64(sum.Sum32()), 10)
	letters := make([]byte, len(digits))
	for i := range len(digits) {
		// The index is the character's code, as every other writer of such names does it: the same data
		// then gets the same name, and a second copy of it is noticed.
		letters[i] = alphabet[int(digits[i])%len(alphabet)]
	}
	if len(owner) > longestOwner {
		// A cut right after a dot would give ".-", which no object name may contain.
		owner = strings.TrimRight(owner[:longestOwner], ".")
	}
	return owner + "-" + string(letters), string(letters)
}

// HashOf returns the hash part of a revision name or of a pod's revision label, long or short.
func HashOf(name string) string {
	return name[strings.LastIndexByte(name, '-')+1:]
}

// LabelValue returns what a pod carries to name its revision: the full name, or only the hash part where the
// full name is longer than a label value may be.
func LabelValue(name string) string {
	if len(name) > longestLabel {
		return HashOf(name)
	}
	return name
}

// Draft is a revision object that does not exist yet.
type Draft struct {
	// Owner gives namespace, name prefix and annotations, but for the record of a rollout that holds it.
	Owner metav1.Object
	// Reference is the controller reference to the owner.
	Reference metav1.OwnerReference
	Template  *corev1.PodTemplateSpec
	// Number is the revision number, see NextNumber.
	Number int64
	// CollisionCount is the owner's count of names that were already taken by something else.
	CollisionCount int32
	// Annotations are added to the owner's and win over them.
	Annotations map[string]string
}

// Object returns the revision object to create. It fails only when Data does.
func (d Draft) Object() (*appsv1.ControllerRevision, error) {
	data, err := Data(d.Template)
	if err != nil {
		return nil, err
	}
	name, hash := Name(d.Owner.GetName(), data, d.CollisionCount)
	labels := map[string]string{}
	if d.Template != nil {
		merge(labels, d.Template.Labels)
	}
	labels[LabelHash] = hash
	annotations := map[string]string{}
	merge(annotations, d.Owner.GetAnnotations())
	delete(annotations, rolloutv1alpha1.AnnotationHeld) // the owner is let go one day, and nobody would take it off here
	merge(annotations, d.Annotations)
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       d.Owner.GetNamespace(),
			Name:            name,
			Labels:          labels,
			Annotations:     annotations,
			OwnerReferences: []metav1.OwnerReference{d.Reference},
		},
		Data:     runtime.RawExtension{Raw: data},
		Revision: d.Number,
	}, nil
}

func merge(into, from map[string]string) {
	for key, value := range from {
		into[key] = value
	}
}
