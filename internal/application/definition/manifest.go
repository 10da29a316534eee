// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"bytes"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// Manifests are definitions as people apply them, in YAML: one document each, without the fields that are empty in every new object.
// They are put into the namespace; without one each stays where it says that it is.
func Manifests(all []Definition, namespace string) ([]byte, error) {
	var out bytes.Buffer
	for _, d := range all {
		text, err := d.manifest(namespace)
		if err != nil {
			return nil, fmt.Errorf("writing %s as a manifest: %w", d.Name(), err)
		}
		out.WriteString("---\n")
		out.Write(text)
	}
	return out.Bytes(), nil
}

func (d Definition) manifest(namespace string) ([]byte, error) {
	var object any = d.Trait
	if d.Component != nil {
		object = d.Component
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	if metadata, has := content["metadata"].(map[string]any); has {
		delete(metadata, "creationTimestamp")
		if namespace != "" {
			metadata["namespace"] = namespace
		}
	}
	return yaml.Marshal(content)
}
