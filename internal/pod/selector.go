// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Selector reads spec.selector of a set whose new pods have the labels of a template. The schema refuses what is an error here,
// but an object can be older than the schema. A selector that its own new pods do not match would have them given up at once,
// and made again without end.
func Selector(selector *metav1.LabelSelector, template map[string]string) (labels.Selector, error) {
	selects, err := metav1.LabelSelectorAsSelector(selector)
	switch {
	case err != nil:
		return nil, fmt.Errorf("spec.selector: %w", err)
	case selects.String() == "": // also that of none, which selects nothing
		return nil, errors.New("spec.selector: must not be empty")
	case !selects.Matches(labels.Set(template)):
		return nil, fmt.Errorf("spec.selector: %q does not match the labels of spec.template, which are %q", selects, labels.Set(template))
	}
	return selects, nil
}
