// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/story"
)

// Kind is how objects of one kind are foretold.
type Kind struct {
	GVK schema.GroupVersionKind
	// Title is how people call it.
	Title string
	// Selector finds pods and revisions, and Template is that of the pods; both are part of the object.
	Selector func(client.Object) *metav1.LabelSelector
	Template func(client.Object) *corev1.PodTemplateSpec
	// Default fills in the defaults of the schema in place.
	Default func(client.Object)
	// UsesClaims and UsesNodes tell whether claims, and labels of nodes, matter for an object. UsesResize: so does whether
	// the server can resize living pods. Nil is no.
	UsesClaims, UsesNodes func(client.Object) bool
	UsesResize            bool
	// NodesOfNew: nodes also matter for an object that does not exist yet.
	NodesOfNew bool
	// Beside are empty lists of the other kinds of objects that belong to an object. Nil is none.
	Beside func(client.Object) []client.ObjectList
	// Tell tells what becomes of an object with its defaults.
	Tell func(wanted client.Object, live Live, now time.Time) (story.Story, error)
}

// Live is what there is before the manifest is applied. The zero value is nothing.
type Live struct {
	// Object is nil when there is none yet.
	Object client.Object
	story.Objects
	// Beside are those that the kind has asked for.
	Beside []client.Object
}

// Kinds are all that can be foretold.
func Kinds() []Kind {
	return []Kind{cloneSets(), statefulSets(), inPlaceSets(), cafeDeployments(), deployments(), builtInStatefulSets(), daemonSets()}
}

// on takes a function of objects of one type for one of all objects.
func on[T client.Object, R any](f func(T) R) func(client.Object) R {
	return func(o client.Object) R { return f(o.(T)) }
}

// inPlace does the same for a function that changes its object.
func inPlace[T client.Object](f func(T)) func(client.Object) {
	return func(o client.Object) { f(o.(T)) }
}
