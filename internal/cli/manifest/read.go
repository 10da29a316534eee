// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	yamldocuments "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Each goes through the documents of a file and the items of lists in them. A key that stands twice is an error.
func Each(file string, r io.Reader, do func(kind metav1.TypeMeta, where string, raw []byte) error) error {
	// A last line without its end is lost by the reader when it just fills the buffer.
	documents := yamldocuments.NewYAMLReader(bufio.NewReader(io.MultiReader(r, strings.NewReader("\n"))))
	for n := 1; ; n++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: reading document %d: %w", file, n, err)
		}
		where := fmt.Sprintf("%s: document %d", file, n)
		raw, err := yaml.YAMLToJSONStrict(document)
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		if string(raw) == "null" {
			continue
		}
		var head struct {
			metav1.TypeMeta `json:",inline"`
			Metadata        struct{ Name string } `json:"metadata"`
			Items           []json.RawMessage     `json:"items"`
		}
		if err := json.Unmarshal(raw, &head); err != nil {
			return fmt.Errorf("%s: is not an object of Kubernetes: %w", where, err)
		}
		if head.Items == nil {
			head.Items = []json.RawMessage{raw}
		}
		for _, item := range head.Items {
			var one metav1.PartialObjectMetadata
			if err := json.Unmarshal(item, &one); err != nil {
				return fmt.Errorf("%s: is not an object of Kubernetes: %w", where, err)
			}
			if err := do(one.TypeMeta, fmt.Sprintf("%s (%s %s)", where, one.Kind, one.Name), item); err != nil {
				return err
			}
		}
	}
}

// Decode reads an object, and refuses fields that do not exist, by their paths: a misspelt field would be lost silently. All of them
// are in runtime.AsStrictDecodingError of the error.
func Decode(raw []byte, into runtime.Object, addToScheme func(*runtime.Scheme) error) error {
	scheme := runtime.NewScheme()
	if err := addToScheme(scheme); err != nil {
		return err
	}
	return DecodeAs(raw, into, scheme)
}

// DecodeAs does the same with a scheme that exists.
func DecodeAs(raw []byte, into runtime.Object, scheme *runtime.Scheme) error {
	s := serializer.NewSerializerWithOptions(serializer.DefaultMetaFactory, scheme, scheme, serializer.SerializerOptions{Strict: true})
	_, _, err := s.Decode(raw, nil, into)
	return err
}
