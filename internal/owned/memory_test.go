// SPDX-License-Identifier: Apache-2.0

package owned

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"slipway.dev/slipway/test/builders"
)

// A revision that nobody has written to says what it said before, so its data need not be looked at: here they
// could not even be read.
func TestARevisionIsDecodedOnceForEachVersion(t *testing.T) {
	m := &Memory{}
	errorOf := func(version, data string) error {
		stored := appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "web-a", UID: "a", ResourceVersion: version}}
		stored.Data.Raw = []byte(data)
		return m.Decode([]appsv1.ControllerRevision{stored})[0][0].Err
	}
	if err := errorOf("1", `{"spec":{"template":{"spec":{"containers":[{"name":"app"}]}}}}`); err != nil {
		t.Fatal(err)
	}
	if err := errorOf("1", "{"); err != nil {
		t.Errorf("decoded again: %v", err)
	}
	if err := errorOf("2", "{"); err == nil {
		t.Error("a new version was not decoded")
	}
}

func TestTheTemplateOfTheSpecIsReadOnceForEachGeneration(t *testing.T) {
	m, set := &Memory{}, builders.CloneSet("web").Build()
	first := m.Template(set, &set.Spec.Template).Template.Spec.Containers[0].Image
	set.Spec.Template.Spec.Containers[0].Image = "registry.test/app:v2"
	if again := m.Template(set, &set.Spec.Template).Template.Spec.Containers[0].Image; again != first {
		t.Errorf("read again: %s", again)
	}
	set.Generation++
	if newer := m.Template(set, &set.Spec.Template).Template.Spec.Containers[0].Image; newer == first {
		t.Error("a new generation was not read")
	}
}
