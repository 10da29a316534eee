// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"slipway.dev/slipway/internal/step"
)

// kept is a stored revision of the set "w" whose template has that image.
func kept(hash string, number int64, image string) Revision {
	r := numbered("w-"+hash, number, image)
	r.Object = &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: r.Name}}
	return r
}

func toldSteps(steps []step.Step) []string {
	told := []string{}
	for _, s := range steps {
		kind := strings.TrimPrefix(fmt.Sprintf("%T", s), "step.")
		switch s := s.(type) {
		case step.CreateRevision:
			told = append(told, fmt.Sprintf("%s number %d %v", kind, s.Revision.Revision, s.Revision.Annotations))
		case step.RenumberRevision:
			told = append(told, fmt.Sprintf("%s %s to %d %v", kind, s.Name, s.Number, s.Annotations))
		case step.AdoptRevision:
			var owners []string
			for _, o := range s.Owners {
				owners = append(owners, o.Name)
			}
			told = append(told, fmt.Sprintf("%s %s for %s", kind, s.Name, strings.Join(owners, " and ")))
		default:
			told = append(told, kind+" "+s.Subject())
		}
	}
	return told
}

func books(live string, own ...Revision) Books {
	return Books{
		Owner: &metav1.ObjectMeta{Name: "w", Namespace: "here"}, Reference: metav1.OwnerReference{Name: "w"},
		Live: FromTemplate(web(live)), Own: own, Annotations: func() map[string]string { return map[string]string{"claims": "1"} },
	}
}

func TestRecord(t *testing.T) {
	a, b, c := kept("a", 1, "a"), kept("b", 2, "b"), kept("c", 3, "c")
	orphaned := books("b", a)
	orphaned.Orphans = []Revision{b}
	shared := books("b", a)
	shared.Orphans = []Revision{kept("b", 2, "b")}
	shared.Reference.UID = "w"
	shared.Orphans[0].Object.OwnerReferences = []metav1.OwnerReference{{Name: "backup", UID: "b"}, {Name: "old-w", UID: "w"}}
	silent := books("a", a, b)
	silent.Annotations = nil
	underway := books("c", a, b, c)
	underway.Current = "w-b"
	forgotten := books("c", a, c)
	forgotten.Current = "w-b"
	for sentence, test := range map[string]struct {
		books           Books
		steps           []string
		update, current string
	}{
		"the newest revision is the template":       {books("b", a, b), []string{}, "w-b", "w-b"},
		"an earlier one becomes the newest":         {books("a", a, b), []string{"RenumberRevision w-a to 3 map[claims:1]"}, "w-a", "w-a"},
		"with no annotations where there are none":  {silent, []string{"RenumberRevision w-a to 3 map[]"}, "w-a", "w-a"},
		"an orphan is adopted and used":             {orphaned, []string{"AdoptRevision w-b for w"}, "w-b", "w-b"},
		"beside its other owners":                   {shared, []string{"AdoptRevision w-b for backup and w"}, "w-b", "w-b"},
		"the current revision is that of before":    {underway, []string{}, "w-c", "w-b"},
		"or the update revision where that is gone": {forgotten, []string{}, "w-c", "w-c"},
	} {
		t.Run(sentence, func(t *testing.T) {
			e := test.books.Record()
			if diff := cmp.Diff(test.steps, toldSteps(e.Steps)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if e.Update.Name != test.update || e.Current.Name != test.current || !e.Recorded || e.Err != nil {
				t.Errorf("update revision %s, current revision %s, recorded %t, error %v", e.Update.Name, e.Current.Name, e.Recorded, e.Err)
			}
		})
	}
}

func TestANewTemplateIsRecordedUnderAFreeName(t *testing.T) {
	b := books("c", kept("a", 1, "a"))
	b.Current = "w-a"
	first := b.Record()
	if diff := cmp.Diff([]string{"CreateRevision number 2 map[claims:1]"}, toldSteps(first.Steps)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	name := first.Steps[0].Subject()
	if first.Recorded || first.CollisionCount != 0 || first.Current.Name != "w-a" || first.Update.Name != name || first.Update.Hash != HashOf(name) || first.Update.Number != 2 {
		t.Errorf("the entry is %+v", first)
	}
	if !Equal(first.Update, b.Live) {
		t.Error("the update revision is another template")
	}

	b.Taken, b.CollisionCount = map[string]bool{name: true}, first.CollisionCount
	second := b.Record()
	if second.Update.Name == name || second.CollisionCount != 1 {
		t.Errorf("the revision is to be called %s, with collision count %d", second.Update.Name, second.CollisionCount)
	}
}

func TestForget(t *testing.T) {
	own := []Revision{kept("a", 1, "a"), kept("b", 2, "b"), kept("c", 3, "c"), kept("d", 4, "d")}
	if diff := cmp.Diff([]string{"ForgetRevision w-a"}, toldSteps(Forget(own, []string{"b", "d"}, 1))); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}
