// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// partOf is the label by which our own CRDs are known.
	partOf = "app.kubernetes.io/part-of"
	// patience is how long a server may take until it serves a new kind.
	patience = 2 * time.Minute
	// lookEvery is the time between two looks at a CRD.
	lookEvery = 50 * time.Millisecond
)

// Read reads the objects of a file of YAML documents, in their order.
func Read(path string) ([]*unstructured.Unstructured, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading what is to be installed: %w", err)
	}
	var objects []*unstructured.Unstructured
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		if len(object.Object) > 0 { // a part may be a comment only
			objects = append(objects, object)
		}
	}
}

// Definitions are the CRDs among objects.
func Definitions(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	var found []*unstructured.Unstructured
	for _, object := range objects {
		if object.GetKind() == "CustomResourceDefinition" {
			found = append(found, object)
		}
	}
	return found
}

// Foreign is the name of the first CRD that is in the cluster already and not labelled as a part of the same program; empty when
// there is none. Two controllers of the same objects fight, so who finds one keeps away.
func Foreign(ctx context.Context, c client.Reader, definitions []*unstructured.Unstructured) (string, error) {
	for _, definition := range definitions {
		there := &apiextensionsv1.CustomResourceDefinition{}
		err := c.Get(ctx, types.NamespacedName{Name: definition.GetName()}, there)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return "", fmt.Errorf("looking for %s: %w", definition.GetName(), err)
		case there.Labels[partOf] != definition.GetLabels()[partOf]:
			return there.Name, nil
		}
	}
	return "", nil
}

// Apply applies objects on the server's side, in the name of a field manager that takes over what others have set.
func Apply(ctx context.Context, c client.Client, manager client.FieldOwner, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), manager, client.ForceOwnership); err != nil {
			return fmt.Errorf("applying %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// AwaitServed waits until the API server serves the kinds of these CRDs, two minutes for each at most.
func AwaitServed(ctx context.Context, c client.Reader, definitions []*unstructured.Unstructured) error {
	for _, definition := range definitions {
		name := definition.GetName()
		err := wait.PollUntilContextTimeout(ctx, lookEvery, patience, true, func(ctx context.Context) (bool, error) {
			there := &apiextensionsv1.CustomResourceDefinition{}
			if err := c.Get(ctx, types.NamespacedName{Name: name}, there); err != nil {
				return false, err
			}
			for _, condition := range there.Status.Conditions {
				if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
					return true, nil
				}
			}
			return false, nil
		})
		if err != nil {
			return fmt.Errorf("waiting until the API server serves %s: %w", name, err)
		}
	}
	return nil
}
