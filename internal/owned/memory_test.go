// SPDX-License-Identifier: Apache-2.0

package owned

import (
	"testing"
	"time"

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

func TestStatusesThatOnlyCountAreWrittenNowAndThen(t *testing.T) {
	began := builders.Epoch()
	for sentence, c := range map[string]struct{ took, after, want time.Duration }{
		"once a second":    {0, 0, time.Second},
		"the wait goes by": {0, 600 * time.Millisecond, 400 * time.Millisecond},
		"and ends":         {0, 2 * time.Second, 0},
		"a server that answers soon changes nothing": {40 * time.Millisecond, 0, time.Second},
		"a slow server has a rest":                   {300 * time.Millisecond, 0, 6 * time.Second},
		"but not for ever":                           {time.Minute, 0, 10 * time.Second},
	} {
		t.Run(sentence, func(t *testing.T) {
			m, ended := &Memory{}, began.Add(c.took)
			m.Reported(began, ended)
			if got := m.CountsIn(ended.Add(c.after)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	if got := (&Memory{}).CountsIn(began); got != 0 {
		t.Errorf("before the first one it waits for %s", got)
	}
}
