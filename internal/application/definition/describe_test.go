// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"fmt"
	"testing"

	"slipway.dev/slipway/internal/application/render"
)

// TestShippedDefinitionsDescribeThemselves: they render with the least that has to be given, and every parameter of the first level
// says what it is for.
func TestShippedDefinitionsDescribeThemselves(t *testing.T) {
	all, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		t.Run(d.Name(), func(t *testing.T) {
			described, err := render.Describe(d.Rendered())
			if err != nil {
				t.Fatal(err)
			}
			if !described.Tried {
				t.Error("it does not render with properties that are made up")
			}
			text := ""
			for _, p := range described.Parameters {
				text += fmt.Sprintf("%s|%s|%s|%v|%s\n", p.Name, p.Type, p.Default, p.Required, p.Doc)
			}
			t.Log(text)
		})
	}
}
