// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"encoding/json"
	"fmt"
	"io"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/cli/manifest"
)

// Manifest is a CloneSet as somebody wrote it.
type Manifest struct {
	// File is where it was read, for messages.
	File string
	// Set is what was written; JSON the same with nothing added.
	Set  *kruisev1alpha1.CloneSet
	JSON []byte
}

// Key names the set.
func (m Manifest) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: m.Set.Namespace, Name: m.Set.Name}
}

// ReadManifests reads all CloneSets of a file of YAML documents or JSON, and passes over objects of other kinds. Sets
// without a namespace get the given one. Errors name the file, the document and the field.
func ReadManifests(file string, r io.Reader, namespace string) ([]Manifest, error) {
	var found []Manifest
	err := manifest.Each(file, r, func(kind metav1.TypeMeta, where string, raw []byte) error {
		if kind.Kind != kruisev1alpha1.CloneSetKind {
			return nil
		}
		if kind.APIVersion != kruisev1alpha1.GroupVersion.String() {
			return fmt.Errorf("%s: apiVersion: CloneSet of %q is not known, only %s", where, kind.APIVersion, kruisev1alpha1.GroupVersion)
		}
		m := Manifest{File: file, Set: &kruisev1alpha1.CloneSet{}}
		if err := manifest.Decode(raw, m.Set, kruisev1alpha1.AddToScheme); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		if m.Set.Name == "" {
			return fmt.Errorf("%s: metadata.name: is missing", where)
		}
		if m.Set.Namespace == "" {
			m.Set.Namespace = namespace
		}
		var err error
		if m.JSON, err = withNamespace(raw, m.Set.Namespace); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		found = append(found, m)
		return nil
	})
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%s: holds no CloneSet", file)
	}
	return found, err
}

// Dump is what `kubectl get clonesets,pods,controllerrevisions,persistentvolumeclaims,nodes -o yaml` prints.
type Dump struct {
	Sets      []*kruisev1alpha1.CloneSet
	Pods      []*corev1.Pod
	Revisions []*appsv1.ControllerRevision
	Claims    []*corev1.PersistentVolumeClaim
	// NodeLabels are the labels of nodes by node name; nil without any node.
	NodeLabels map[string]map[string]string
}

// ReadDump reads live objects from a file.
func ReadDump(file string, r io.Reader) (Dump, error) {
	var d Dump
	err := manifest.Each(file, r, func(kind metav1.TypeMeta, where string, raw []byte) error {
		var err error
		switch kind.Kind {
		case kruisev1alpha1.CloneSetKind:
			d.Sets, err = appended(d.Sets, raw)
		case "Pod":
			d.Pods, err = appended(d.Pods, raw)
		case "ControllerRevision":
			d.Revisions, err = appended(d.Revisions, raw)
		case "PersistentVolumeClaim":
			d.Claims, err = appended(d.Claims, raw)
		case "Node":
			err = d.addNode(raw)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		return nil
	})
	return d, err
}

func (d *Dump) addNode(raw []byte) error {
	var node metav1.PartialObjectMetadata
	if err := json.Unmarshal(raw, &node); err != nil {
		return err
	}
	if d.NodeLabels == nil {
		d.NodeLabels = map[string]map[string]string{}
	}
	d.NodeLabels[node.Name] = node.Labels
	return nil
}

func appended[T any](list []*T, raw []byte) ([]*T, error) {
	item := new(T)
	if err := json.Unmarshal(raw, item); err != nil {
		return list, err
	}
	return append(list, item), nil
}

func withNamespace(raw []byte, namespace string) ([]byte, error) {
	var tree map[string]any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return nil, err
	}
	if metadata, ok := tree["metadata"].(map[string]any); ok {
		metadata["namespace"] = namespace
	}
	delete(tree, "status")
	return json.Marshal(tree)
}
